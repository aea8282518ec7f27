//! The way to the collector.

use async_trait::async_trait;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use std::{
    io,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};
use tokio::runtime::{Builder, Runtime};
use tracing::{info, warn};

/// Sends batches of spans. The library asks from a thread without a runtime, so there is one here: neither the requests of buyers nor
/// the batches wait for each other.
#[derive(Debug)]
pub(super) struct Sending {
    client: reqwest::Client,
    runtime: Runtime,
    /// Tries that failed since the last one that did not: the log tells the first, and the end of them.
    failed_tries: AtomicU64,
}

impl Sending {
    pub(super) fn new() -> anyhow::Result<Self> {
        let mut threads = Builder::new_multi_thread();
        let runtime = threads.worker_threads(1).thread_name("fairgate-traces").enable_all().build()?;
        // The environment's proxy is not for what goes to a neighbour.
        let client = reqwest::Client::builder().timeout(TIME_MAX).no_proxy().build()?;
        Ok(Self { client, runtime, failed_tries: AtomicU64::new(0) })
    }

    fn note_failure(&self, error: &HttpError) {
        if self.failed_tries.fetch_add(1, Ordering::Relaxed) == 0 {
            warn!(%error, "spans cannot be sent to the collector; they are dropped until it takes them");
        }
    }

    fn note_success(&self) {
        let failed_tries = self.failed_tries.swap(0, Ordering::Relaxed);
        if failed_tries > 0 {
            info!(failed_tries, "the collector takes spans again");
        }
    }
}

#[async_trait]
impl HttpClient for Sending {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let sent = self.runtime.spawn(send(self.client.clone(), request)).await;
        let sent = sent.map_err(HttpError::from).flatten();
        match &sent {
            // The library looks at the status, too, and tries again where that may help.
            Ok(response) if response.status().is_success() => self.note_success(),
            Ok(response) => self.note_failure(&format!("the answer is {}", response.status()).into()),
            Err(error) => self.note_failure(error),
        }
        sent
    }
}

async fn send(client: reqwest::Client, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
    let mut answer = client.execute(request.try_into()?).await.map_err(told)?;
    let mut body = Vec::new();
    while let Some(chunk) = answer.chunk().await.map_err(told)? {
        if body.len() + chunk.len() > ANSWER_BYTES_MAX {
            return Err(io::Error::other("the answer is too long").into());
        }
        body.extend_from_slice(&chunk);
    }
    let mut response = Response::new(body.into());
    *response.status_mut() = answer.status();
    *response.headers_mut() = answer.headers().clone();
    Ok(response)
}

/// With its causes, and without the URL, which may hold a login.
fn told(error: reqwest::Error) -> HttpError {
    format!("{:#}", anyhow::Error::new(error.without_url())).into()
}

const TIME_MAX: Duration = Duration::from_secs(5);
/// An answer is empty, or says in a few words which spans were refused.
const ANSWER_BYTES_MAX: usize = 64 * 1024;
