//! `cargo xtask load`: builds the queue server as it is deployed and lets `tests::load` measure it.

use crate::progress::Progress;
use crate::{server, tools};
use anyhow::{Result, ensure};
use tests::load::{self, Options};

pub(crate) fn run(progress: &Progress, options: &Options) -> Result<()> {
    tools::redis(progress)?;
    let bare = server::build_optimised(progress)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let missed = runtime.block_on(load::run(options, &bare, |line| println!("{line}")))?;
    ensure!(missed == 0, "{missed} marks were missed");
    Ok(())
}
