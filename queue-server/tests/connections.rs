//! Connections over a real socket: who says nothing is let go, who asked is answered.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use axum::{Router, routing::get};
use queue_server::listen;
use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::{Notify, oneshot},
    task::JoinHandle,
    time::timeout,
};

struct Server {
    address: SocketAddr,
    /// Tells that a request for `/slow` has arrived.
    inside: Arc<Notify>,
    /// Lets its answer leave.
    leave: Arc<Notify>,
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Server {
    async fn start(head_time_max: Duration) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (inside, leave) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let (arrived, held) = (Arc::clone(&inside), Arc::clone(&leave));
        let slow = move || async move {
            arrived.notify_one();
            held.notified().await;
            "answered"
        };
        let router = Router::new().route("/", get(|| async { "here" })).route("/slow", get(slow));
        let (stop, stopped) = oneshot::channel();
        let stopped = async { drop(stopped.await) };
        let task = tokio::spawn(listen::serve(listener, router, head_time_max, stopped));
        Self { address, inside, leave, stop, task }
    }

    /// Sends bytes and reads until the server closes.
    async fn exchange(&self, bytes: &str) -> String {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(bytes.as_bytes()).await.unwrap();
        let mut answer = String::new();
        timeout(PATIENCE, stream.read_to_string(&mut answer)).await.unwrap().unwrap();
        answer
    }
}

#[tokio::test]
async fn a_connection_that_does_not_say_what_it_wants_is_closed() {
    let server = Server::start(Duration::from_millis(50)).await;
    assert_eq!(server.exchange("").await, "");
    let half = server.exchange("GET / HTTP/1.1\r\nHost: x\r\nX-Slow: ").await;
    assert!(!half.contains("200 OK"), "{half}");
    let whole = server.exchange("GET / HTTP/1.1\r\nHost: x\r\n\r\n").await;
    assert!(whole.contains("200 OK") && whole.ends_with("here"), "idle behind its answer: {whole}");
}

#[tokio::test]
async fn who_asked_before_the_stop_is_answered() {
    let server = Server::start(PATIENCE).await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    timeout(PATIENCE, server.inside.notified()).await.unwrap();
    server.stop.send(()).unwrap();
    server.leave.notify_one();
    let mut answer = String::new();
    timeout(PATIENCE, stream.read_to_string(&mut answer)).await.unwrap().unwrap();
    assert!(answer.ends_with("answered"), "{answer}");
    timeout(PATIENCE, server.task).await.unwrap().unwrap();
    assert!(TcpStream::connect(server.address).await.is_err());
}

const PATIENCE: Duration = Duration::from_secs(10);
