//! The waiting page in a real Chromium, driven by the files in `tests/browser`.

use std::process::Output;
use tests::stack::run_dir::workspace_root;
use tests::stack::{Setup, Stack};
use tokio::process::Command;

#[tokio::test]
async fn buyers_wait_in_a_real_browser() {
    let mut setup = Setup::demo("browser").unwrap();
    setup.config.event("drop", "capacity", 1).unwrap();
    let stack = Stack::start(setup).await.unwrap();
    let mut node = node(&["thread.test.mjs", "page.test.mjs", "access.test.mjs", "codes.test.mjs"]);
    node.env("FAIRGATE_EDGE", format!("http://localhost:{}", stack.edge.address.port()));
    node.env("FAIRGATE_SHOP_CONTROL", format!("http://{}", stack.shop.control_address));
    check(&node.output().await.unwrap());
}

#[tokio::test]
async fn the_script_decides_as_the_page_without_script_does() {
    check(&node(&["rules.test.mjs"]).output().await.unwrap());
}

/// Node's test runner on these files, one after the other, because they share the room.
fn node(files: &[&str]) -> Command {
    let mut node = Command::new("node");
    let directory = workspace_root().join("tests/browser");
    node.current_dir(directory).args(["--test", "--test-concurrency=1", "--test-reporter=spec"]).args(files);
    node.kill_on_drop(true);
    node
}

fn check(output: &Output) {
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{errors}");
}
