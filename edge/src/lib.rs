//! The Worker in front of the shop.

#[cfg(feature = "plant")]
mod plant;

use worker::{Context, DurableObject, Env, Request, Response, Result, State, durable_object, event};

/// Answers one request.
#[event(fetch)]
async fn fetch(request: Request, env: Env, _context: Context) -> Result<Response> {
    #[cfg(feature = "plant")]
    if let Some(response) = plant::answer(&request.path(), &env).await {
        return response;
    }
    match request.path().as_str() {
        "/limiter" => {
            let stub = env.durable_object("LIMITER")?.id_from_name("hello")?.get_stub()?;
            stub.fetch_with_str("http://limiter/").await
        }
        _ => Response::ok("hello"),
    }
}

/// Counts its calls.
#[durable_object]
pub struct LimiterObject {
    calls: std::cell::Cell<u32>,
}

impl DurableObject for LimiterObject {
    fn new(_state: State, _env: Env) -> Self {
        Self { calls: std::cell::Cell::new(0) }
    }

    async fn fetch(&self, request: Request) -> Result<Response> {
        #[cfg(feature = "plant")]
        plant::in_object(&request.path());
        let _ = request;
        self.calls.set(self.calls.get() + 1);
        Response::ok(self.calls.get().to_string())
    }
}
