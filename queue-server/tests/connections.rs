//! Connections over a real socket: who says nothing is let go, who asked is answered.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use axum::{Router, routing::get};
use queue_server::listen::{self, ConnectionBounds};
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
    async fn start(bounds: ConnectionBounds) -> Self {
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
        let task = tokio::spawn(listen::serve(listener, router, bounds, stopped));
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
    let server =
        Server::start(ConnectionBounds { head_time_max: Duration::from_millis(50), ..PATIENT }).await;
    assert_eq!(server.exchange("").await, "");
    let half = server.exchange("GET / HTTP/1.1\r\nHost: x\r\nX-Slow: ").await;
    assert!(!half.contains("200 OK"), "{half}");
    let whole = server.exchange("GET / HTTP/1.1\r\nHost: x\r\n\r\n").await;
    assert!(whole.contains("200 OK") && whole.ends_with("here"), "idle behind its answer: {whole}");
}

#[tokio::test]
async fn who_asked_before_the_stop_is_answered() {
    let server = Server::start(PATIENT).await;
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

#[tokio::test]
async fn who_does_not_read_the_answer_does_not_hold_up_the_stop() {
    let bounds = ConnectionBounds { stop_time_max: Duration::from_millis(50), ..PATIENT };
    let server = Server::start(bounds).await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    timeout(PATIENCE, server.inside.notified()).await.unwrap();
    server.stop.send(()).unwrap();
    timeout(PATIENCE, server.task).await.unwrap().unwrap();
}

#[tokio::test]
async fn one_connection_too_many_waits_for_another_to_end() {
    let server = Server::start(ConnectionBounds { connections_max: 2, ..PATIENT }).await;
    let mut open = Vec::new();
    for _ in 0..3 {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
        open.push(stream);
    }
    let mut third = open.pop().unwrap();
    for stream in &mut open {
        assert!(timeout(PATIENCE, stream.read_u8()).await.unwrap().is_ok());
    }
    assert!(timeout(Duration::from_millis(200), third.read_u8()).await.is_err(), "two are open");
    drop(open);
    assert!(timeout(PATIENCE, third.read_u8()).await.unwrap().is_ok());
}

const PATIENCE: Duration = Duration::from_secs(10);
const PATIENT: ConnectionBounds =
    ConnectionBounds { head_time_max: PATIENCE, connections_max: 10, stop_time_max: PATIENCE };
