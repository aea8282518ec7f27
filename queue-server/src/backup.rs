//! Copies of the rooms' file: of a running server, which freezes it for a moment and copies at leisure, or of one that is stopped.

use crate::{
    data_dir::{DataDir, DataDirError},
    store::{Freezer, copy_of_frozen, copy_of_stopped},
};
use anyhow::{Context, Result, bail};
use std::{
    fs,
    io::{self, BufRead, BufReader, Read, Write},
    net::Shutdown,
    os::unix::net::{UnixListener, UnixStream},
    path::{Path, PathBuf},
    time::Duration,
};
use tracing::{info, warn};

/// Listens in the data directory, which its owner alone enters, for the command that asks for a copy.
pub(crate) fn listen(data_dir: &Path, freezer: Freezer) {
    let socket = data_dir.join(SOCKET);
    // The directory is this server's alone, so a socket that lies there is a dead one's.
    let _ = fs::remove_file(&socket);
    let listening = UnixListener::bind(&socket).and_then(|listener| {
        std::thread::Builder::new().name("fairgate-backup".to_owned()).spawn(move || {
            for stream in listener.incoming().flatten() {
                if let Err(error) = answer(stream, &freezer) {
                    warn!(%error, "a backup was asked for and not heard to the end");
                }
            }
        })
    });
    if let Err(error) = listening {
        warn!(%error, socket = %socket.display(), "no backup can be made while this server runs");
    }
}

fn answer(mut stream: UnixStream, freezer: &Freezer) -> io::Result<()> {
    stream.set_read_timeout(Some(LINE_TIME_MAX))?;
    let mut line = String::new();
    BufReader::new(&stream).take(PATH_BYTES_MAX).read_line(&mut line)?;
    let to = PathBuf::from(line.trim_end_matches('\n'));
    let copied = freezer.freeze().map(|frozen| copy_of_frozen(&frozen, &to));
    let told = match copied {
        Some(Ok(records)) => {
            info!(records, to = %to.display(), "a backup was made");
            format!("{DONE}{records}")
        }
        Some(Err(error)) => error.to_string(),
        None => "the store does not answer".to_owned(),
    };
    stream.write_all(told.as_bytes())
}

/// Makes a copy of the rooms of a data directory, and says what it holds.
pub(crate) fn make(data_dir: &Path, to: &Path) -> Result<String> {
    if to.exists() {
        bail!("{} exists already: name a new file", to.display());
    }
    let to = std::path::absolute(to).context("cannot tell where that is")?;
    let records = match DataDir::take(data_dir) {
        Ok(_held) => copy_of_stopped(data_dir, &to)?.to_string(),
        Err(DataDirError::InUse { .. }) => ask(data_dir, &to)?,
        Err(error) => return Err(error.into()),
    };
    Ok(format!("{records} records are in {}. Keep keys.toml beside it.\n", to.display()))
}

fn ask(data_dir: &Path, to: &Path) -> Result<String> {
    let mut stream = UnixStream::connect(data_dir.join(SOCKET))
        .context("the server that runs does not take orders for backups: it keeps its rooms elsewhere")?;
    stream.write_all(format!("{}\n", to.display()).as_bytes())?;
    stream.shutdown(Shutdown::Write)?;
    let mut told = String::new();
    stream.read_to_string(&mut told)?;
    match told.strip_prefix(DONE) {
        Some(records) => Ok(records.to_owned()),
        None => bail!("{told}"),
    }
}

const SOCKET: &str = "backup.sock";
const DONE: &str = "done ";
const LINE_TIME_MAX: Duration = Duration::from_secs(5);
const PATH_BYTES_MAX: u64 = 4_096;
