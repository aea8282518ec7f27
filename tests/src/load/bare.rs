//! The cheapest server of the same kind: Axum with one handler, alone or with one script on Redis behind it.

use anyhow::Result;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Json, Router};
use redis::Script;
use redis::aio::MultiplexedConnection;
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::net::TcpListener;

/// Serve one handler, to be measured beside the queue server
#[derive(Clone, Debug, clap::Args)]
pub struct BareOptions {
    #[arg(long)]
    pub listen: SocketAddr,
    /// Runs one script here for each request
    #[arg(long)]
    pub redis: Option<String>,
}

#[derive(Clone)]
struct Bare {
    redis: Option<MultiplexedConnection>,
    script: Arc<Script>,
    count: Arc<AtomicU64>,
}

/// Answers until it is killed.
pub async fn serve(options: &BareOptions) -> Result<()> {
    let redis = match &options.redis {
        None => None,
        Some(url) => Some(redis::Client::open(url.as_str())?.get_multiplexed_async_connection().await?),
    };
    let script = Arc::new(Script::new("return redis.call('INCR', KEYS[1])"));
    let bare = Bare { redis, script, count: Arc::default() };
    let router =
        Router::new().route("/", post(join)).route("/readyz", get(|| async { "ready" })).with_state(bare);
    axum::serve(TcpListener::bind(options.listen).await?, router).await?;
    Ok(())
}

/// About as many bytes as a join is answered with.
async fn join(State(bare): State<Bare>) -> Result<(StatusCode, Json<Value>), StatusCode> {
    let number = match bare.redis {
        None => bare.count.fetch_add(1, Ordering::Relaxed),
        Some(mut redis) => {
            let ran = bare.script.key("bare").invoke_async(&mut redis).await;
            ran.map_err(|_| StatusCode::SERVICE_UNAVAILABLE)?
        }
    };
    Ok((StatusCode::CREATED, Json(json!({ "ticketNumber": number, "ticket": "x".repeat(TICKET_BYTES) }))))
}

const TICKET_BYTES: usize = 600;
