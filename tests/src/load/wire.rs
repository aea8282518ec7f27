//! HTTP over one connection with as little work as possible, because the client shares the machine with what it measures.

use anyhow::{Context, Result, ensure};
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// One connection.
pub(super) struct Wire {
    stream: TcpStream,
    read: Vec<u8>,
}

/// A request, as bytes.
#[derive(Clone, Debug)]
pub(super) struct Request(Vec<u8>);

/// What came back.
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) body: Vec<u8>,
}

impl Request {
    pub(super) fn new(method: &str, path: &str, fields: &str, body: &str) -> Self {
        let length = body.len();
        Self(
            format!(
                "{method} {path} HTTP/1.1\r\nhost: localhost\r\n{fields}content-length: {length}\r\n\r\n{body}"
            )
            .into_bytes(),
        )
    }
}

impl Wire {
    pub(super) async fn connect(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, read: Vec::with_capacity(4_096) })
    }

    /// Sends a request and reads its answer.
    pub(super) async fn ask(&mut self, request: &Request) -> Result<Answer> {
        self.stream.write_all(&request.0).await?;
        loop {
            if let Some(answer) = self.take()? {
                return Ok(answer);
            }
            ensure!(self.stream.read_buf(&mut self.read).await? > 0, "the server closed the connection");
        }
    }

    /// The answer at the beginning of what was read, if it is whole.
    fn take(&mut self) -> Result<Option<Answer>> {
        let Some(head) = self.read.windows(4).position(|bytes| bytes == b"\r\n\r\n") else { return Ok(None) };
        let text = std::str::from_utf8(&self.read[..head])?;
        let status = text.get(9..12).context("no status")?.parse()?;
        let field = |line: &str| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
        };
        let end = head + 4 + text.lines().find_map(field).unwrap_or(0);
        if self.read.len() < end {
            return Ok(None);
        }
        let body = self.read[head + 4..end].to_vec();
        self.read.drain(..end);
        Ok(Some(Answer { status, body }))
    }
}
