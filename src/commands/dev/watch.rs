//! The watch of the project directory: a thread that looks at its files and deploys what was saved.
//!
//! It compares lengths and times of the files, some times a second. That sees every save on every file system, also on
//! those of containers and of the network, which notify no one; and a look at a thousand files takes a few
//! milliseconds.

use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use svc_project::{LinkPolicy, find_files, plugin_files};
use svc_toolkit::ProjectDeployment;
use tokio::time::Instant;

use super::status::DevStatus;
use super::terminal::DevTerminal;
use crate::service::Service;

/// Time between two looks at the directory.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// Time without a change after which a save counts as ended: editors and version control write several files.
const QUIET: Duration = Duration::from_millis(50);
/// Maximum number of looks for which a save is waited for.
const LOOKS: usize = 10;

/// The watch of a project; it ends when dropped.
pub(super) struct ProjectWatch {
    _stop: Sender<()>,
}

pub(super) struct WatchParts {
    pub(super) directory: PathBuf,
    pub(super) deployment: ProjectDeployment,
    pub(super) status: Arc<DevStatus>,
    pub(super) terminal: DevTerminal,
    /// The service, which is left alone once it drains.
    pub(super) service: Service,
}

impl ProjectWatch {
    /// Starts the thread.
    ///
    /// # Errors
    /// The system has no thread.
    pub(super) fn start(parts: WatchParts) -> io::Result<Self> {
        let (stop, stopped) = mpsc::channel();
        thread::Builder::new().name("svc-dev".to_owned()).spawn(move || watch(parts, &stopped))?;
        Ok(Self { _stop: stop })
    }
}

/// Deploys the project, and again after each change, until the other end of `stop` is dropped.
fn watch(mut parts: WatchParts, stop: &Receiver<()>) {
    let mut deployed = None;
    loop {
        let Some(files) = read_settled(&parts.directory, deployed.as_ref(), stop) else { return };
        if deployed.as_ref() != Some(&files) {
            deployed = Some(files);
            parts.update();
        }
        if is_stopped(stop, LOOK_EVERY) {
            return;
        }
    }
}

impl WatchParts {
    fn update(&mut self) {
        let began = Instant::now();
        let update = self.deployment.update();
        if self.service.state().process.lifecycle.is_draining() {
            return;
        }
        self.terminal.show_update(&update, began.elapsed());
        self.status.record(&update);
    }
}

/// The files of a project, as far as a save changes them.
type ProjectFingerprint = Vec<(String, Option<FileStamp>)>;

/// The traits of a file that a save changes. The time of the change of its entry and its number find saves within one
/// tick of the clock, and those that keep the time of the content.
#[derive(Clone, Debug, PartialEq, Eq)]
struct FileStamp {
    length: u64,
    number: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl FileStamp {
    fn new(metadata: &Metadata) -> Self {
        Self {
            length: metadata.len(),
            number: metadata.ino(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

/// Looks at the files until they do not change any more, if they differ from those that were deployed. Returns `None`
/// once the watch is stopped.
fn read_settled(
    directory: &Path,
    deployed: Option<&ProjectFingerprint>,
    stop: &Receiver<()>,
) -> Option<ProjectFingerprint> {
    let mut files = read_fingerprint(directory);
    for _ in 0..LOOKS {
        if deployed == Some(&files) {
            break;
        }
        if is_stopped(stop, QUIET) {
            return None;
        }
        let later = read_fingerprint(directory);
        if later == files {
            break;
        }
        files = later;
    }
    Some(files)
}

/// Returns the fingerprint of the authored files; an empty one for a directory that cannot be read.
fn read_fingerprint(directory: &Path) -> ProjectFingerprint {
    let Ok(found) = find_files(directory, LinkPolicy::Follow) else { return Vec::new() };
    let stamp = |path: &Path| path.metadata().ok().map(|metadata| FileStamp::new(&metadata));
    let named = found.files.into_iter().chain(found.statements);
    let mut files: Vec<_> = named.map(|file| (file.name, stamp(&file.path))).collect();
    files.extend(plugin_files(directory).iter().map(|path| (path.display().to_string(), stamp(path))));
    // An entry that cannot be read is a finding, and so is its repair.
    files.extend(found.unreadable.into_iter().map(|finding| (finding.entity, None)));
    files
}

/// Waits, and returns `true` if the watch is stopped meanwhile.
fn is_stopped(stop: &Receiver<()>, wait: Duration) -> bool {
    stop.recv_timeout(wait) != Err(RecvTimeoutError::Timeout)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn saves_change_the_fingerprint() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("a.json");
        let read = || read_fingerprint(directory.path());
        let mut seen = vec![read()];
        let mut expect_change = |what: &str| {
            let now = read();
            assert!(!seen.contains(&now), "{what}");
            assert_eq!(read(), now, "{what}");
            seen.push(now);
        };
        fs::write(&file, "{}").unwrap();
        expect_change("a new file");
        fs::write(&file, "{ }").unwrap();
        expect_change("a longer file");
        let other = directory.path().join("b.tmp");
        fs::write(&other, "[ ]").unwrap();
        fs::rename(&other, &file).unwrap();
        expect_change("another file of the same length");
        fs::write(directory.path().join("one.sql"), "SELECT 1").unwrap();
        expect_change("a statement");
        fs::write(directory.path().join("notes.txt"), "x").unwrap();
        fs::create_dir(directory.path().join(".svc")).unwrap();
        fs::write(directory.path().join(".svc/served.json"), "{}").unwrap();
        assert_eq!(read(), *seen.last().unwrap(), "files that hold no definition");
        fs::remove_file(directory.path().join("one.sql")).unwrap();
        fs::remove_file(&file).unwrap();
        assert_eq!(read(), seen[0], "a removed file");
    }

    #[test]
    fn dropped_watch_is_noticed_at_once() {
        let (stop, stopped) = mpsc::channel::<()>();
        assert!(!is_stopped(&stopped, Duration::ZERO));
        drop(stop);
        assert!(is_stopped(&stopped, Duration::from_secs(600)));
    }
}
