//! An outside witness of runs: an HTTP server with its own clock that every run of a schedule calls.
//!
//! A run begins when its request has been read, and ends when the answer is about to be sent or its
//! connection has broken, whichever is first: the connections of a killed process end with it. The records of
//! the service are not consulted.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use parking_lot::{Mutex, MutexGuard};
use serde_json::Value;

use crate::upstream::read;

/// A run as the witness observed it. Times count from the start of the witness.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WitnessedRun {
    /// The occurrence id that the run reported.
    pub occurrence: String,
    /// The instant that the run reported.
    pub scheduled_for: String,
    /// The attempt number that the run reported.
    pub attempt: i64,
    /// The concurrency key that the run reported.
    pub key: Option<String>,
    /// Begin of the run.
    pub begin: Duration,
    /// End of the run, if it has ended.
    pub end: Option<Duration>,
    /// `true` if the run received its response.
    pub answered: bool,
}

/// Returns runs by the name that they reported, in the order of their beginnings.
pub fn runs_by_name(runs: &[WitnessedRun]) -> BTreeMap<&str, Vec<&WitnessedRun>> {
    let mut named = BTreeMap::<_, Vec<_>>::new();
    runs.iter().for_each(|run| named.entry(run.occurrence.as_str()).or_default().push(run));
    named.values_mut().for_each(|runs| runs.sort_by_key(|run| run.begin));
    named
}

/// A running witness. Its threads end with their connections.
pub struct RunWitness {
    address: SocketAddr,
    watch: Arc<Watch>,
}

struct Watch {
    began: Instant,
    began_unix: Duration,
    hold: Box<dyn Fn(&WitnessedRun) -> Duration + Send + Sync>,
    runs: Mutex<Vec<WitnessedRun>>,
}

impl RunWitness {
    /// Starts on a free loopback port; `hold` returns the time for which a run is held before its response.
    ///
    /// # Errors
    /// No port is free.
    #[expect(clippy::disallowed_methods, reason = "the witness has a clock of its own")]
    pub fn start(hold: impl Fn(&WitnessedRun) -> Duration + Send + Sync + 'static) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let watch = Arc::new(Watch {
            began: Instant::now(),
            began_unix: SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default(),
            hold: Box::new(hold),
            runs: Mutex::default(),
        });
        let accepting = Arc::clone(&watch);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let watch = Arc::clone(&accepting);
                // A broken connection is recorded as the end of its run.
                thread::spawn(move || watch.serve(stream));
            }
        });
        Ok(Self { address, watch })
    }

    /// `http://127.0.0.1:{port}`
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The time since the start of the witness.
    pub fn now(&self) -> Duration {
        self.watch.now()
    }

    /// The time since 1970, by the wall clock at the start of the witness.
    pub fn unix_now(&self) -> Duration {
        self.unix(self.now())
    }

    /// Converts a time of the witness to the time since 1970.
    pub fn unix(&self, at: Duration) -> Duration {
        self.watch.began_unix + at
    }

    /// Returns the number of observed runs.
    pub fn count_runs(&self) -> usize {
        self.watch.lock().len()
    }

    /// Returns the observed runs in the order of their beginnings.
    pub fn runs(&self) -> Vec<WitnessedRun> {
        self.watch.lock().clone()
    }
}

impl Watch {
    #[expect(clippy::disallowed_methods, reason = "the witness has a clock of its own")]
    fn now(&self) -> Duration {
        Instant::now().duration_since(self.began)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<WitnessedRun>> {
        self.runs.lock()
    }

    fn serve(&self, stream: TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        let mut stream = BufReader::new(stream);
        while let Some(asked) = read(&mut stream, 0)? {
            let run = parse_report(&asked.body);
            let hold = (self.hold)(&run);
            let at = self.begin(run);
            let held = stays(&mut stream, hold);
            self.end(at, held);
            if !held {
                return Ok(());
            }
            stream.get_mut().write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")?;
        }
        Ok(())
    }

    fn begin(&self, run: WitnessedRun) -> usize {
        let mut runs = self.lock();
        // Read under the lock, so that the order of the log is the order of time.
        runs.push(WitnessedRun { begin: self.now(), ..run });
        runs.len() - 1
    }

    fn end(&self, at: usize, answered: bool) {
        let mut runs = self.lock();
        runs[at].end = Some(self.now());
        runs[at].answered = answered;
    }
}

/// Parses the report of a run: its `metadata.trigger`.
fn parse_report(body: &[u8]) -> WitnessedRun {
    let trigger: Value = serde_json::from_slice(body).unwrap_or_default();
    let text = |name: &str| trigger[name].as_str().unwrap_or_default().to_owned();
    WitnessedRun {
        occurrence: text("occurrence_id"),
        scheduled_for: text("scheduled_for"),
        attempt: trigger["attempt"].as_i64().unwrap_or_default(),
        key: trigger["singleton_key"].as_str().map(str::to_owned),
        ..WitnessedRun::default()
    }
}

/// Returns `true` if the client is still connected after this time.
fn stays(stream: &mut BufReader<TcpStream>, hold: Duration) -> bool {
    if hold.is_zero() {
        return true;
    }
    let waits = stream.get_ref().set_read_timeout(Some(hold));
    let heard = waits.and_then(|()| stream.fill_buf().map(<[u8]>::len));
    let silent = match heard {
        Ok(bytes) => bytes > 0,
        Err(error) => matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut),
    };
    silent && stream.get_ref().set_read_timeout(None).is_ok()
}
