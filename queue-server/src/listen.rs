//! Connections: each must say in time what it wants, and the open ones end before the server does.

use axum::Router;
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto::Builder,
    service::TowerToHyperService,
};
use std::{pin::pin, time::Duration};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinSet,
    time::timeout,
};
use tracing::{debug, warn};

/// What connections may cost.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionBounds {
    /// Until the head of a request has arrived, from the opening of its connection or the end of the request before. It also
    /// ends connections that say nothing.
    pub head_time_max: Duration,
    /// Open at once. Further ones wait in the system's queue until one of these ends.
    pub connections_max: usize,
    /// From the stop until what is still open is broken off: a client that does not read its answer holds nobody up.
    pub stop_time_max: Duration,
}

impl Default for ConnectionBounds {
    fn default() -> Self {
        Self {
            head_time_max: Duration::from_secs(15),
            connections_max: 10_000,
            stop_time_max: Duration::from_secs(10),
        }
    }
}

/// Answers requests until `stop`; then the open ones are answered, and no new ones taken.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    bounds: ConnectionBounds,
    stop: impl Future<Output = ()>,
) {
    let (stopping, stopped) = watch::channel(());
    let mut connections = JoinSet::new();
    let mut stop = pin!(stop);
    loop {
        tokio::select! {
            () = &mut stop => break,
            accepted = listener.accept(), if connections.len() < bounds.connections_max => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(answer(stream, router.clone(), bounds.head_time_max, stopped.clone()));
                }
                // Most often there are no file descriptors left: some connection has to end first.
                Err(error) => {
                    warn!(%error, "a connection cannot be taken");
                    tokio::time::sleep(ACCEPT_AGAIN_AFTER).await;
                }
            },
            Some(_) = connections.join_next() => {}
        }
    }
    drop((listener, stopping));
    let answered = async { while connections.join_next().await.is_some() {} };
    if timeout(bounds.stop_time_max, answered).await.is_err() {
        warn!(open = connections.len(), "connections that did not end in time are broken off");
    }
}

async fn answer(
    stream: TcpStream,
    router: Router,
    head_time_max: Duration,
    mut stopped: watch::Receiver<()>,
) {
    // HTTP/1.1 is what edges and proxies speak to a plain port; telling versions apart would wait for bytes without a bound.
    let mut builder = Builder::new(TokioExecutor::new()).http1_only();
    builder.http1().timer(TokioTimer::new()).header_read_timeout(head_time_max);
    let connection = builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    let mut connection = pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        // The sender is dropped at the stop, which is all that is ever told.
        _ = stopped.changed() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        debug!(%error, "a connection broke off");
    }
}

const ACCEPT_AGAIN_AFTER: Duration = Duration::from_secs(1);
