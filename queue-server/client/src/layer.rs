//! A `tower` layer that asks the limit service before the service behind it works.

use crate::client::{Client, ClientError};
use http::{HeaderName, HeaderValue, Request, Response, StatusCode, header::ACCEPT_LANGUAGE, request::Parts};
use shared::{
    http::{language::Language, problem::Problem, reason::Reason},
    wire::limits::{CheckResult, LimitCheck},
};
use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};
use tower_layer::Layer;
use tower_service::Service;
use tracing::error;

/// Applies policies to every request of a service. The closure says what to ask; `None`: the request is not limited.
pub struct LimitLayer<I> {
    client: Arc<Client>,
    identify: Arc<I>,
}

/// A service behind its limits.
pub struct Limited<S, I> {
    inner: S,
    client: Arc<Client>,
    identify: Arc<I>,
}

impl<I> LimitLayer<I>
where
    I: Fn(&Parts) -> Option<LimitCheck>,
{
    pub fn new(client: impl Into<Arc<Client>>, identify: I) -> Self {
        Self { client: client.into(), identify: Arc::new(identify) }
    }
}

impl<I> Clone for LimitLayer<I> {
    fn clone(&self) -> Self {
        Self { client: Arc::clone(&self.client), identify: Arc::clone(&self.identify) }
    }
}

impl<S: Clone, I> Clone for Limited<S, I> {
    fn clone(&self) -> Self {
        let (client, identify) = (Arc::clone(&self.client), Arc::clone(&self.identify));
        Self { inner: self.inner.clone(), client, identify }
    }
}

impl<S, I> Layer<S> for LimitLayer<I> {
    type Service = Limited<S, I>;

    fn layer(&self, inner: S) -> Self::Service {
        Limited { inner, client: Arc::clone(&self.client), identify: Arc::clone(&self.identify) }
    }
}

impl<S, I, Q, R> Service<Request<Q>> for Limited<S, I>
where
    S: Service<Request<Q>, Response = Response<R>> + Clone + Send + 'static,
    S::Future: Send,
    I: Fn(&Parts) -> Option<LimitCheck>,
    Q: Send + 'static,
    R: From<String>,
{
    type Response = Response<R>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Response<R>, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<Q>) -> Self::Future {
        let (parts, body) = request.into_parts();
        let check = (self.identify)(&parts);
        // The one that was polled ready answers; its copy takes the place.
        let copy = self.inner.clone();
        let mut inner = std::mem::replace(&mut self.inner, copy);
        let client = Arc::clone(&self.client);
        Box::pin(async move {
            let Some(check) = check else { return inner.call(Request::from_parts(parts, body)).await };
            let language = parts.headers.get(ACCEPT_LANGUAGE).and_then(|field| field.to_str().ok());
            let language = Language::from_accept_language(language);
            let result = match client.check(&check).await {
                Ok(result) if result.allowed => result,
                Ok(result) => return Ok(refused(&result, language)),
                Err(fault) => return Ok(misused(&fault, language)),
            };
            let held = Held::of(&client, &result);
            if result.delay_us > 0 {
                tokio::time::sleep(Duration::from_micros(result.delay_us)).await;
            }
            let mut response = inner.call(Request::from_parts(parts, body)).await?;
            drop(held);
            set_fields(&mut response, &result);
            Ok(response)
        })
    }
}

/// A permit that goes back when it is dropped, also when the caller goes away.
struct Held {
    client: Arc<Client>,
    receipt: String,
}

impl Held {
    fn of(client: &Arc<Client>, result: &CheckResult) -> Option<Self> {
        let receipt = result.receipt.clone().filter(|_| result.holds_permit)?;
        Some(Self { client: Arc::clone(client), receipt })
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let (client, receipts) = (Arc::clone(&self.client), vec![std::mem::take(&mut self.receipt)]);
        // Outside a runtime nobody can send it; the permit then ends by its life.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                if let Err(fault) = client.give(&receipts).await {
                    tracing::warn!(%fault, "a permit was not given back; it ends by its life");
                }
            });
        }
    }
}

fn refused<R: From<String>>(result: &CheckResult, language: Language) -> Response<R> {
    let mut problem = Problem::new(result.code.unwrap_or(Reason::RateLimited)).language(language);
    if let Some(wait_us) = result.retry_after_us {
        problem = problem.retry_after(Duration::from_micros(wait_us));
    }
    if let Some(policy) = &result.policy {
        problem = problem.policy(policy);
    }
    let mut response = response(&problem);
    set_fields(&mut response, result);
    response
}

/// A call that is wrong limits nobody, so nothing may pass by it.
fn misused<R: From<String>>(fault: &ClientError, language: Language) -> Response<R> {
    error!(%fault, "a request cannot be limited");
    response(&Problem::new(Reason::Misconfigured).language(language))
}

fn response<R: From<String>>(problem: &Problem) -> Response<R> {
    let mut response = Response::new(R::from(problem.body()));
    *response.status_mut() =
        StatusCode::from_u16(problem.status()).unwrap_or(StatusCode::SERVICE_UNAVAILABLE);
    for (name, value) in problem.headers() {
        if let Ok(value) = HeaderValue::from_str(&value) {
            response.headers_mut().insert(HeaderName::from_static(name), value);
        }
    }
    response
}

fn set_fields<R>(response: &mut Response<R>, result: &CheckResult) {
    let fields = [("ratelimit", &result.rate_limit), ("ratelimit-policy", &result.rate_limit_policy)];
    for (name, value) in fields {
        if let Some(value) = HeaderValue::from_str(value).ok().filter(|value| !value.is_empty()) {
            response.headers_mut().insert(HeaderName::from_static(name), value);
        }
    }
}
