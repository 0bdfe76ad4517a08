//! A mail server whose every word a test decides.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use parking_lot::Mutex;

/// The server; ends with the process.
pub(crate) struct Scripted {
    pub(crate) port: u16,
    heard: Arc<Mutex<Vec<String>>>,
}

/// One conversation.
pub(crate) struct Talk {
    stream: BufReader<TcpStream>,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Scripted {
    /// Starts it on a free loopback port; `talk` is one conversation, each on a thread of its own.
    pub(crate) fn start(talk: impl Fn(&mut Talk) + Clone + Send + 'static) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let heard = Arc::<Mutex<Vec<String>>>::default();
        let hearing = Arc::clone(&heard);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (talk, heard) = (talk.clone(), Arc::clone(&hearing));
                thread::spawn(move || talk(&mut Talk { stream: BufReader::new(stream), heard }));
            }
        });
        Self { port, heard }
    }

    /// Returns every line of every conversation.
    pub(crate) fn received_commands(&self) -> Vec<String> {
        self.heard.lock().clone()
    }

    /// Counts the lines with this prefix.
    pub(crate) fn count(&self, start: &str) -> usize {
        self.received_commands().iter().filter(|line| line.starts_with(start)).count()
    }
}

impl Talk {
    /// Says lines. Who does not listen any more misses nothing.
    pub(crate) fn say(&mut self, lines: &str) {
        let _ = self.stream.get_mut().write_all(lines.as_bytes());
    }

    /// Hears one line; `None` at the end.
    pub(crate) fn hear(&mut self) -> Option<String> {
        let mut line = String::new();
        self.stream.read_line(&mut line).ok().filter(|read| *read > 0)?;
        let line = line.trim_end().to_owned();
        self.heard.lock().push(line.clone());
        Some(line)
    }

    /// Takes bytes in, whatever they are.
    pub(crate) fn swallow(&mut self, bytes: u64) {
        let _ = std::io::copy(&mut self.stream.by_ref().take(bytes), &mut std::io::sink());
    }

    /// Goes on as a server without extensions that takes everything, until `end` says what to answer to a
    /// line instead.
    pub(crate) fn go_on(&mut self, answer: impl Fn(&mut Self, &str) -> bool) {
        self.say("220 scripted\r\n");
        let mut data = false;
        while let Some(line) = self.hear() {
            match line.as_str() {
                "." => data = false,
                _ if data => continue,
                _ => {}
            }
            if answer(self, &line) {
                continue;
            }
            match line.as_str() {
                "DATA" => {
                    data = true;
                    self.say("354 go on\r\n");
                }
                "QUIT" => return self.say("221 bye\r\n"),
                _ => self.say("250 fine\r\n"),
            }
        }
    }
}
