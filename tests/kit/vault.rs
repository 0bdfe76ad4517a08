//! A secret store that speaks the HTTP contract of the key-value engines of HashiCorp Vault and OpenBao,
//! versions 1 and 2.
//!
//! It answers `GET /v1/<path>` with the token in `X-Vault-Token`, using the envelopes and errors of the real
//! servers. It replaces them if no such server is available.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use parking_lot::{Condvar, Mutex, MutexGuard};
use serde_json::{Value, json};

/// Longest silence of a client before its connection is closed.
const SILENCE: Duration = Duration::from_secs(30);

/// The health of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    /// Answers.
    Unsealed,
    /// Answers 503 to everything.
    Sealed,
    /// Accepts requests and stays silent until its health changes.
    Hanging,
    /// Closes each connection at once.
    Down,
}

/// A running secret store; it ends when dropped.
pub struct FakeVault {
    address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    token: String,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    health: Health,
    /// The `data` of each answer, by path.
    documents: BTreeMap<String, Value>,
    /// The requested paths.
    asked: Vec<String>,
    ended: bool,
}

impl FakeVault {
    /// Starts on a free loopback port; `token` grants access.
    ///
    /// # Errors
    /// No port is free.
    pub fn start(token: &str) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let state =
            State { health: Health::Unsealed, documents: BTreeMap::new(), asked: Vec::new(), ended: false };
        let shared =
            Arc::new(Shared { token: token.to_owned(), state: Mutex::new(state), changed: Condvar::new() });
        let accepting = Arc::clone(&shared);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if accepting.lock().ended {
                    return;
                }
                let serving = Arc::clone(&accepting);
                // A client that disconnects is not an error.
                thread::spawn(move || serving.serve(stream));
            }
        });
        Ok(Self { address, shared })
    }

    /// The value for `VAULT_ADDR`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Stores the fields of a document in a version 1 engine.
    pub fn put_v1(&self, path: &str, fields: Value) {
        self.put(path.to_owned(), fields);
    }

    /// Stores the fields of a document in the version 2 engine mounted at `secret`; it is read at
    /// `secret/data/<path>`.
    pub fn put_v2(&self, path: &str, fields: Value) {
        let metadata = json!({"created_time": "2026-01-01T00:00:00.000000000Z", "custom_metadata": null,
            "deletion_time": "", "destroyed": false, "version": 1});
        self.put(format!("secret/data/{path}"), json!({"data": fields, "metadata": metadata}));
    }

    fn put(&self, path: String, data: Value) {
        self.shared.lock().documents.insert(path, data);
    }

    /// Removes a document by its read path.
    pub fn remove(&self, path: &str) {
        self.shared.lock().documents.remove(path);
    }

    /// Sets the health, also for requests that hang.
    pub fn set_health(&self, health: Health) {
        self.shared.lock().health = health;
        self.shared.changed.notify_all();
    }

    /// Returns the paths requested since the last call.
    pub fn take_requested_paths(&self) -> Vec<String> {
        std::mem::take(&mut self.shared.lock().asked)
    }
}

impl Drop for FakeVault {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.ended = true;
        state.health = Health::Down;
        drop(state);
        self.shared.changed.notify_all();
        // A connection wakes the accepting thread, which then sees the end.
        let _ = TcpStream::connect(self.address);
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    fn serve(&self, stream: TcpStream) -> io::Result<()> {
        if self.lock().health == Health::Down {
            return Ok(());
        }
        stream.set_read_timeout(Some(SILENCE))?;
        let mut stream = BufReader::new(stream);
        let mut request = String::new();
        stream.read_line(&mut request)?;
        let mut token = None;
        loop {
            let mut line = String::new();
            if stream.read_line(&mut line)? == 0 {
                return Ok(());
            }
            let line = line.trim_end();
            if line.is_empty() {
                break;
            }
            match line.split_once(": ") {
                Some((name, value)) if name.eq_ignore_ascii_case("x-vault-token") => {
                    token = Some(value.to_owned())
                }
                _ => {}
            }
        }
        let (status, body) = self.answer(&request, token.as_deref());
        let stream = stream.get_mut();
        write!(
            stream,
            "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        )?;
        stream.flush()
    }

    fn answer(&self, request: &str, token: Option<&str>) -> (&'static str, String) {
        let errors = |texts: &[&str]| json!({"errors": texts}).to_string();
        let mut state = self.lock();
        let path = request.strip_prefix("GET /v1/").and_then(|rest| rest.split(' ').next());
        state.asked.extend(path.map(str::to_owned));
        while state.health == Health::Hanging {
            self.changed.wait(&mut state);
        }
        let Some(path) = path else { return ("405 Method Not Allowed", errors(&["unsupported operation"])) };
        if state.health != Health::Unsealed {
            return ("503 Service Unavailable", errors(&["Vault is sealed"]));
        }
        if token != Some(self.token.as_str()) {
            return ("403 Forbidden", errors(&["permission denied"]));
        }
        match state.documents.get(path) {
            None => ("404 Not Found", errors(&[])),
            Some(data) => {
                let envelope = json!({"request_id": "5c1d2e3f-0000-4000-8000-000000000000", "lease_id": "",
                    "renewable": false, "lease_duration": 2_764_800, "data": data, "wrap_info": null,
                    "warnings": null, "auth": null, "mount_type": "kv"});
                ("200 OK", envelope.to_string())
            }
        }
    }
}
