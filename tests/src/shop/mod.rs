//! The demo shop: two small shops behind one listener, and the log that is the oracle of every test.
//!
//! It knows nothing of Fairgate but the `Fairgate-Pass` header, which it verifies with a JWT library through the published
//! keys, and the `Fairgate-Session` header with which it ends a session: any origin can do the same.

mod cart;
pub mod catalog;
mod control;
pub mod ledger;
mod pages;
pub mod pass;
mod refusal;

use anyhow::Context;
use axum::Router;
use control::Conduct;
use ledger::{Ledger, LogEntry};
use pass::PassVerifier;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// How one demo shop runs.
#[derive(Clone, Debug, clap::Args)]
pub struct Settings {
    /// Where the pages and the cart listen
    #[arg(long, default_value = "127.0.0.1:8702")]
    pub listen: SocketAddr,
    /// Where `/control` and `/log` listen
    #[arg(long, default_value = "127.0.0.1:8703")]
    pub control: SocketAddr,
    /// Where the keys of passes are published
    #[arg(long, default_value = "http://127.0.0.1:8701/.fairgate/jwks.json")]
    pub jwks_url: String,
    /// Units of each product at the start
    #[arg(long, default_value_t = 1_000)]
    pub stock: u64,
    /// File to which each log entry is appended as one line of JSON
    #[arg(long)]
    pub log_file: Option<PathBuf>,
}

/// A running shop; it stops when dropped.
#[derive(Debug)]
pub struct Shop {
    /// Address of pages and cart.
    pub address: SocketAddr,
    /// Address of `/control` and `/log`.
    pub control_address: SocketAddr,
    state: Arc<State>,
    tasks: Vec<JoinHandle<()>>,
}

/// What the handlers share.
#[derive(Debug)]
struct State {
    passes: PassVerifier,
    conduct: Mutex<Conduct>,
    ledger: Mutex<Ledger>,
}

impl Shop {
    /// Starts both listeners; port 0 takes a free port.
    pub async fn start(settings: Settings) -> anyhow::Result<Self> {
        let ledger = Ledger::new(settings.stock, settings.log_file.as_deref())?;
        let state = Arc::new(State {
            passes: PassVerifier::new(settings.jwks_url)?,
            conduct: Mutex::default(),
            ledger: Mutex::new(ledger),
        });
        let shop = Router::new().merge(pages::routes()).merge(cart::routes()).with_state(Arc::clone(&state));
        let control = control::routes().with_state(Arc::clone(&state));
        let (address, pages_task) = serve(settings.listen, shop).await?;
        let (control_address, control_task) = serve(settings.control, control).await?;
        Ok(Self { address, control_address, state, tasks: vec![pages_task, control_task] })
    }

    /// The log so far, in the order in which the shop accepted.
    pub fn log(&self) -> Vec<LogEntry> {
        self.state.ledger().log().to_vec()
    }

    /// Waits until a listener ends, which happens only on failure.
    pub async fn wait(mut self) {
        if let Some(task) = self.tasks.pop() {
            let _ = task.await;
        }
    }
}

impl Drop for Shop {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

impl State {
    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn conduct(&self) -> MutexGuard<'_, Conduct> {
        self.conduct.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn serve(listen: SocketAddr, router: Router) -> anyhow::Result<(SocketAddr, JoinHandle<()>)> {
    let listener = TcpListener::bind(listen)
        .await
        .with_context(|| format!("the demo shop cannot listen on {listen}"))?;
    let address = listener.local_addr()?;
    let task = tokio::spawn(async move {
        if let Err(error) = axum::serve(listener, router).await {
            eprintln!("the demo shop stopped: {error}");
        }
    });
    Ok((address, task))
}
