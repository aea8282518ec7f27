//! The cheapest server of the same kind: Axum with one handler, alone or with one script on Redis behind it. `cargo xtask load` measures the
//! queue server beside it.

use anyhow::Result;
use axum::{
    Json, Router,
    extract::State,
    http::StatusCode,
    routing::{get, post},
};
use clap::Parser;
use redis::{Script, aio::MultiplexedConnection};
use serde_json::{Value, json};
use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};
use tokio::net::TcpListener;

#[derive(Parser)]
struct Arguments {
    #[arg(long)]
    listen: SocketAddr,
    /// Runs one script here for each request
    #[arg(long)]
    redis: Option<String>,
}

#[derive(Clone)]
struct Bare {
    redis: Option<MultiplexedConnection>,
    script: Arc<Script>,
    count: Arc<AtomicU64>,
}

/// Answers until it is killed.
#[tokio::main]
async fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let redis = match arguments.redis {
        None => None,
        Some(url) => Some(redis::Client::open(url)?.get_multiplexed_async_connection().await?),
    };
    let script = Arc::new(Script::new("return redis.call('INCR', KEYS[1])"));
    let bare = Bare { redis, script, count: Arc::default() };
    let router =
        Router::new().route("/", post(join)).route("/readyz", get(|| async { "ready" })).with_state(bare);
    axum::serve(TcpListener::bind(arguments.listen).await?, router).await?;
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
