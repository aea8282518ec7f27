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
        "panic-in-object" => Some(call_object(env, "/plant/panic").await),
        "stack-overflow" => Some(Response::ok(overflow(1).to_string())),
        "slow" => {
            Delay::from(Duration::from_secs(20)).await;
            Some(Response::ok("slow"))
        }
        "sound" => Some(Response::ok("sound")),
        "sound-object" => Some(call_object(env, "/plant/sound").await),
        _ => None,
    }
}

/// Answers inside a Durable Object, or breaks the instance from there; `None` for every other path.
pub(crate) async fn in_object(path: &str) -> Option<Result<Response>> {
    match path.strip_prefix("/plant/")? {
        "panic" => panic!("planted"),
        _ => Some(Response::ok("sound")),
    }
}

async fn call_object(env: &Env, path: &str) -> Result<Response> {
    let stub = env.durable_object("LIMITER")?.id_from_name("planted")?.get_stub()?;
    stub.fetch_with_str(&format!("http://limiter{path}")).await
}

fn overflow(depth: u64) -> u64 {
    let frame = std::hint::black_box([depth; 64]);
    if depth == u64::MAX { 0 } else { overflow(frame[3] + 1) + frame[5] }
}
