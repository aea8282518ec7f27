//! `cargo xtask load`: builds the queue server and lets `tests::load` measure it.

use crate::progress::Progress;
use crate::worker::Faults;
use crate::{server, tools};
use anyhow::Result;
use tests::load::{self, BareOptions, Options};

pub(crate) fn run(progress: &Progress, options: &Options) -> Result<()> {
    tools::redis(progress)?;
    server::build(progress, Faults::None)?;
    // This program serves the bare handler, too: it is compiled as the queue server is.
    let bare = std::env::current_exe()?;
    runtime()?.block_on(load::run(options, &bare, |line| println!("{line}")))
}

pub(crate) fn serve_bare(options: &BareOptions) -> Result<()> {
    runtime()?.block_on(load::serve_bare(options))
}

fn runtime() -> Result<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_multi_thread().enable_all().build()?)
}
