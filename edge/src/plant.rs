//! Planted faults of the Worker itself: ways to break the WebAssembly instance, for the test of its recovery.

use std::time::Duration;

use worker::{Delay, Env, Response, Result, Url, web_sys};

/// Answers `/.fairgate/plant/…`; `None` for every other path.
pub(crate) async fn answer(request: &web_sys::Request, env: &Env) -> Option<Result<web_sys::Response>> {
    let url = Url::parse(&request.url()).ok()?;
    let answer = at(url.path(), env).await?;
    Some(answer.map(Into::into))
}

async fn at(path: &str, env: &Env) -> Option<Result<Response>> {
    match path.strip_prefix("/.fairgate/plant/")? {
        "panic" => panic!("planted"),
        "panic-after-io" => {
            Delay::from(Duration::from_millis(10)).await;
            panic!("planted")
        }
        "panic-in-object" => Some(call_object(env).await),
        "stack-overflow" => Some(Response::ok(overflow(1).to_string())),
        "slow" => {
            Delay::from(Duration::from_secs(20)).await;
            Some(Response::ok("slow"))
        }
        _ => None,
    }
}

/// Breaks the instance from inside a Durable Object.
pub(crate) fn in_object(path: &str) {
    assert!(path != "/plant/panic", "planted");
}

async fn call_object(env: &Env) -> Result<Response> {
    let stub = env.durable_object("LIMITER")?.id_from_name("planted")?.get_stub()?;
    stub.fetch_with_str("http://limiter/plant/panic").await
}

fn overflow(depth: u64) -> u64 {
    let frame = std::hint::black_box([depth; 64]);
    if depth == u64::MAX { 0 } else { overflow(frame[3] + 1) + frame[5] }
}
