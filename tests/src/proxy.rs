//! A TCP proxy whose wire can be cut or made slow.

use anyhow::Result;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// One listener in front of one or several servers. Dropped, it ends with its connections.
#[derive(Debug)]
pub struct Proxy {
    pub address: SocketAddr,
    weather: watch::Sender<Weather>,
    _tasks: JoinSet<()>,
}

/// What happens to bytes on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weather {
    Fair,
    /// Every piece takes this much longer, either way.
    Slow(Duration),
    /// Nothing arrives, and nothing says so: connections stay open, new ones are taken.
    Cut,
}

impl Proxy {
    /// Starts one on a free port. Each connection goes to the next of the `targets` that takes it.
    pub async fn start(targets: Vec<SocketAddr>) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let (weather, seen) = watch::channel(Weather::Fair);
        let mut tasks = JoinSet::new();
        tasks.spawn(take(listener, Targets { targets, next: AtomicUsize::new(0) }, seen));
        Ok(Self { address, weather, _tasks: tasks })
    }

    /// Changes the weather for open and new connections. What is under way when it clears arrives then.
    pub fn set(&self, weather: Weather) {
        self.weather.send_replace(weather);
    }
}

struct Targets {
    targets: Vec<SocketAddr>,
    next: AtomicUsize,
}

impl Targets {
    async fn connect(&self) -> Option<TcpStream> {
        for _ in &self.targets {
            let nth = self.next.fetch_add(1, Ordering::Relaxed) % self.targets.len();
            if let Ok(stream) = TcpStream::connect(self.targets[nth]).await {
                return Some(stream);
            }
        }
        None
    }
}

async fn take(listener: TcpListener, targets: Targets, weather: watch::Receiver<Weather>) {
    let targets = Arc::new(targets);
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let Ok((near, _)) = accepted else { continue };
                let (targets, mut weather) = (Arc::clone(&targets), weather.clone());
                connections.spawn(async move {
                    if pass(&mut weather).await && let Some(far) = targets.connect().await {
                        carry(near, far, weather).await;
                    }
                });
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn carry(near: TcpStream, far: TcpStream, weather: watch::Receiver<Weather>) {
    let ((near_in, near_out), (far_in, far_out)) = (near.into_split(), far.into_split());
    // Either end closes both ways.
    tokio::select! {
        () = copy(near_in, far_out, weather.clone()) => {}
        () = copy(far_in, near_out, weather) => {}
    }
}

async fn copy(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    mut weather: watch::Receiver<Weather>,
) {
    let mut piece = vec![0; PIECE_BYTES];
    while let Ok(length @ 1..) = from.read(&mut piece).await {
        if !pass(&mut weather).await || to.write_all(&piece[..length]).await.is_err() {
            return;
        }
    }
}

/// Waits as long as the weather asks for; false: the proxy has ended.
async fn pass(weather: &mut watch::Receiver<Weather>) -> bool {
    let Ok(now) = weather.wait_for(|weather| *weather != Weather::Cut).await.map(|now| *now) else {
        return false;
    };
    if let Weather::Slow(by) = now {
        tokio::time::sleep(by).await;
    }
    true
}

const PIECE_BYTES: usize = 64 * 1024;

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;
    use tokio::time::timeout;

    /// A server that says again what it is told.
    async fn echo() -> SocketAddr {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                tokio::spawn(async move {
                    let (mut from, mut to) = stream.split();
                    let _ = tokio::io::copy(&mut from, &mut to).await;
                });
            }
        });
        address
    }

    #[tokio::test]
    async fn bytes_wait_for_a_cut_wire_and_take_their_time_on_a_slow_one() {
        let dead = SocketAddr::from((Ipv4Addr::LOCALHOST, 9));
        let proxy = Proxy::start(vec![dead, echo().await]).await.unwrap();
        let mut stream = TcpStream::connect(proxy.address).await.unwrap();
        let mut told = [0; 1];
        stream.write_all(b"a").await.unwrap();
        stream.read_exact(&mut told).await.unwrap();
        proxy.set(Weather::Cut);
        stream.write_all(b"b").await.unwrap();
        assert!(timeout(Duration::from_millis(100), stream.read_exact(&mut told)).await.is_err());
        proxy.set(Weather::Slow(Duration::from_millis(20)));
        stream.read_exact(&mut told).await.unwrap();
        assert_eq!(&told, b"b");
        let asked = Instant::now();
        stream.write_all(b"c").await.unwrap();
        stream.read_exact(&mut told).await.unwrap();
        assert!(asked.elapsed() >= Duration::from_millis(40), "{:?}", asked.elapsed());
    }
}
