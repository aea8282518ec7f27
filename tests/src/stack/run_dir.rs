//! The directory of one run: configuration, data and logs.

use super::process::tail;
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// A fresh directory under `target/run`. It goes when dropped, unless a test failed: then the logs are shown and it stays.
#[derive(Debug)]
pub struct RunDir {
    path: PathBuf,
    kept: AtomicBool,
}

impl RunDir {
    /// Makes an empty directory for a run of this name.
    pub fn create(name: &str) -> Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        let nth = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = target_dir().join(format!("run/{name}-{}-{nth}", std::process::id()));
        std::fs::create_dir_all(&path).with_context(|| format!("cannot make {}", path.display()))?;
        Ok(Self { path, kept: AtomicBool::new(false) })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Leaves the directory where it is, for somebody to look into.
    pub fn keep(&self) -> &Path {
        self.kept.store(true, Ordering::Relaxed);
        &self.path
    }

    /// Prints the end of each log.
    pub fn show_logs(&self) {
        let files = std::fs::read_dir(&self.path).into_iter().flatten().flatten();
        for path in files.map(|file| file.path()).filter(|path| path.extension().is_some_and(|e| e == "log"))
        {
            eprintln!("--- {}\n{}", path.display(), tail(&path));
        }
    }
}

impl Drop for RunDir {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.show_logs();
        } else if !self.kept.load(Ordering::Relaxed) {
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}

/// The directory of the workspace's root manifest.
pub fn workspace_root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}

/// Where cargo puts what it builds.
pub fn target_dir() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| workspace_root().join("target"), PathBuf::from)
}
