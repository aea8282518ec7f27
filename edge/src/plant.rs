//! Planted faults: ways to break the WebAssembly instance, for the test of its recovery, and limiter objects that fail, hang
//! or count their calls.

use std::cell::Cell;
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
        "limiters-fail" => Some(set_limiters(Limiters::Fail)),
        "limiters-hang" => Some(set_limiters(Limiters::Hang)),
        "limiters-work" => Some(set_limiters(Limiters::Work)),
        "limiter-calls" => Some(Response::ok(CALLS.get().to_string())),
        "limiter-loads" => Some(Response::ok(LOADS.get().to_string())),
        _ => None,
    }
}

/// How limiter objects behave; `workerd` runs them in the isolate that answers requests.
#[derive(Clone, Copy)]
enum Limiters {
    Work,
    Fail,
    Hang,
}

thread_local! {
    static LIMITERS: Cell<Limiters> = const { Cell::new(Limiters::Work) };
    static CALLS: Cell<u64> = const { Cell::new(0) };
    static LOADS: Cell<u64> = const { Cell::new(0) };
}

fn set_limiters(limiters: Limiters) -> Result<Response> {
    LIMITERS.set(limiters);
    Response::ok("")
}

/// Answers inside a Durable Object, or breaks the instance from there; `None` where the object shall answer by itself.
pub(crate) async fn in_object(path: &str) -> Option<Result<Response>> {
    match path.strip_prefix("/plant/") {
        Some("panic") => panic!("planted"),
        Some(_) => return Some(Response::ok("sound")),
        None => CALLS.set(CALLS.get() + 1),
    }
    match LIMITERS.get() {
        Limiters::Work => return None,
        Limiters::Fail => {}
        Limiters::Hang => Delay::from(Duration::from_secs(20)).await,
    }
    Some(Response::error("planted", 500))
}

/// An object begins with what an earlier life has kept.
pub(crate) fn note_load() {
    LOADS.set(LOADS.get() + 1);
}

async fn call_object(env: &Env, path: &str) -> Result<Response> {
    let stub = env.durable_object("LIMITER")?.id_from_name("planted")?.get_stub()?;
    stub.fetch_with_str(&format!("http://limiter{path}")).await
}

fn overflow(depth: u64) -> u64 {
    let frame = std::hint::black_box([depth; 64]);
    if depth == u64::MAX { 0 } else { overflow(frame[3] + 1) + frame[5] }
}
