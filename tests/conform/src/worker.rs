//! What the suite's Worker calls: `shared` in WebAssembly.

use crate::native;
use crate::reply::Reply;
use wasm_bindgen::prelude::wasm_bindgen;

/// Cases as JSON lines in, replies as JSON lines out.
#[wasm_bindgen]
pub fn answer_lines(cases: &str) -> String {
    let reply = |line: &str| match serde_json::from_str(line) {
        Ok(case) => native::answer(&case),
        Err(error) => Reply::Broken(error.to_string()),
    };
    let lines = cases.lines().map(|line| serde_json::to_string(&reply(line)).unwrap_or_default());
    lines.collect::<Vec<_>>().join("\n")
}
