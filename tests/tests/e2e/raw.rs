//! HTTP as bytes, for what a client library would tidy up.

use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Sends bytes and reads until the other side closes; the status, 0 where it closed without one, and everything it said.
pub(crate) async fn exchange(edge: SocketAddr, request: &[u8]) -> (u16, String) {
    let mut stream = TcpStream::connect(edge).await.unwrap();
    let mut answer = Vec::new();
    // A peer that refuses may close while we are still writing.
    let talk = async {
        let _ = stream.write_all(request).await;
        let _ = stream.read_to_end(&mut answer).await;
    };
    let _ = tokio::time::timeout(PATIENCE, talk).await;
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    (status, answer)
}

/// Sends half of what it promises and reads until the other side says `wanted`; everything it said by then.
pub(crate) async fn answer_to_half(edge: SocketAddr, half: &[u8], wanted: &str) -> String {
    let mut stream = TcpStream::connect(edge).await.unwrap();
    stream.write_all(half).await.unwrap();
    let mut answer = Vec::new();
    let listen = async {
        while !String::from_utf8_lossy(&answer).contains(wanted) && stream.read_buf(&mut answer).await? > 0 {}
        std::io::Result::Ok(())
    };
    let _ = tokio::time::timeout(PATIENCE, listen).await;
    String::from_utf8_lossy(&answer).into_owned()
}

/// A whole POST of a JSON body to a path that is sent as it is.
pub(crate) fn post(host: &str, path: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!(
        "POST {path} HTTP/1.1\r\nHost: {host}\r\nX-Forwarded-For: 10.8.0.1\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
    .into_bytes()
}

const PATIENCE: Duration = Duration::from_secs(20);
