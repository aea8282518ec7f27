//! Cloudflare's own rate limit before the limits. `workerd` has none, so a module of the runtime stands in for it here.

use crate::fixtures::{assert_refused, buyer, press};
use std::fs;
use tests::stack::programs::Programs;
use tests::stack::run_dir::RunDir;
use tests::stack::{Setup, Stack};

/// Lets the first two of each key pass, and fails at the fourth.
const SIEVE: &str = "
class Ratelimit {
  counts = new Map();
  async limit({ key }) {
    const count = (this.counts.get(key) ?? 0) + 1;
    this.counts.set(key, count);
    if (count === 4) throw new Error('out of order');
    return { success: count <= 2 };
  }
}
export default () => new Ratelimit();
";

/// The Worker as it was built, in a runtime that has a rate limit.
fn with_sieve(dir: &RunDir) -> Programs {
    let programs = Programs::built().unwrap();
    let bundle = dir.path().join("edge");
    fs::create_dir_all(&bundle).unwrap();
    for file in ["worker.js", "worker.wasm"] {
        fs::copy(programs.bundle.join(file), bundle.join(file)).unwrap();
    }
    fs::write(bundle.join("sieve.js"), SIEVE).unwrap();
    let plain = fs::read_to_string(programs.bundle.join("workerd.capnp")).unwrap();
    let mut text = plain;
    for (before, inserted) in [
        ("bindings = [", r#"(name = "SIEVE", wrapped = (moduleName = "test:sieve")),"#),
        (
            "const config :Workerd.Config = (",
            r#"extensions = [(modules = [(name = "test:sieve", internal = true, esModule = embed "sieve.js")])],"#,
        ),
    ] {
        assert_eq!(text.matches(before).count(), 1, "{before}");
        text = text.replace(before, &format!("{before} {inserted}"));
    }
    fs::write(bundle.join("workerd.capnp"), text).unwrap();
    Programs { bundle, ..programs }
}

#[tokio::test]
async fn a_bound_sieve_refuses_the_address_that_it_stops_and_its_failure_refuses_nobody() {
    let dir = RunDir::create("sieve").unwrap();
    let mut setup = Setup::demo("sieve").unwrap();
    setup.programs = with_sieve(&dir);
    let stack = Stack::start(setup).await.unwrap();
    let mut replies = Vec::new();
    for _ in 0..4 {
        // A device of its own each time: what they share is the address.
        replies.push(press(&mut buyer(&stack, 1)).await);
    }
    let statuses: Vec<u16> = replies.iter().map(|reply| reply.status).collect();
    assert_eq!(statuses, [201, 201, 429, 201]);
    assert_refused(&replies[2], 429, "RATE_LIMITED");
    assert_eq!(press(&mut buyer(&stack, 2)).await.status, 201, "another address is another key");
    assert_eq!(stack.shop.log().len(), 4, "what the sieve stops does not reach the shop");
    assert!(stack.edge.log_tail().contains("the sieve did not answer"), "{}", stack.edge.log_tail());
}
