//! A child process that writes lines and ends with its standard input, so that it cannot outlive the test.

use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use parking_lot::{Condvar, Mutex, MutexGuard};

/// Longest wait of a test for a line.
const PATIENCE: Duration = Duration::from_secs(60);
/// Time that the process gets to end by itself.
const GOODBYE: Duration = Duration::from_secs(5);

/// A running child process; it is ended when dropped.
#[derive(Debug)]
pub struct ChildProcess {
    child: Child,
    said: Arc<(Mutex<Said>, Condvar)>,
}

#[derive(Debug, Default)]
struct Said {
    lines: Vec<String>,
    ended: bool,
}

impl ChildProcess {
    /// Starts the process.
    ///
    /// # Errors
    /// The command cannot be run.
    pub fn start(command: &mut Command) -> Result<Self, String> {
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let mut child = child.map_err(|error| error.to_string())?;
        let said = Arc::<(Mutex<Said>, Condvar)>::default();
        let (heard, output) = (Arc::clone(&said), child.stdout.take());
        thread::spawn(move || {
            for line in BufReader::new(output?).lines().map_while(Result::ok) {
                lock(&heard).lines.push(line);
                heard.1.notify_all();
            }
            lock(&heard).ended = true;
            heard.1.notify_all();
            Some(())
        });
        Ok(Self { child, said })
    }

    /// Writes to the standard input.
    ///
    /// # Errors
    /// The process has closed its standard input.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let input = self.child.stdin.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        input.write_all(bytes)?;
        input.flush()
    }

    /// Returns the lines so far.
    pub fn lines(&self) -> Vec<String> {
        lock(&self.said).lines.clone()
    }

    /// Waits until `make` returns a value for the lines.
    ///
    /// # Errors
    /// The process ended first, or the wait took too long.
    pub fn wait_for<T>(&self, make: impl Fn(&[String]) -> Option<T>) -> Result<T, String> {
        let pending = |said: &mut Said| !said.ended && make(&said.lines).is_none();
        let mut said = lock(&self.said);
        self.said.1.wait_while_for(&mut said, pending, PATIENCE);
        make(&said.lines).ok_or_else(|| format!("it said {:?} and no more", said.lines))
    }

    /// Kills the process, like a crash.
    pub fn kill(&mut self) {
        // A process that has ended needs no kill.
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.ending();
    }

    /// Waits until all output is read.
    fn ending(&self) {
        self.said.1.wait_while_for(&mut lock(&self.said), |said| !said.ended, GOODBYE);
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        self.ending();
        self.kill();
    }
}

fn lock(said: &(Mutex<Said>, Condvar)) -> MutexGuard<'_, Said> {
    said.0.lock()
}
