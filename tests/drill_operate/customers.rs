//! The receivers of customers, each at a host of its own, and the attempts that they got.

use std::collections::HashSet;
use std::io;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};
use svc_testkit::nodes::pause;
use svc_testkit::tls::issue_certificate_for;
use svc_testkit::upstream::{ReceivedRequest, Upstream, UpstreamReply};
use svc_testkit::witness::RunWitness;

use crate::webhook_verdict::{CustomerConduct, ReceivedAttempt, SentWebhook};

/// Time limit of an attempt, in seconds.
pub(crate) const ATTEMPT_SECS: u64 = 3;
/// Time for which a silent customer keeps a call: longer than an attempt, and shorter than the pause before the next one.
const SILENCE: Duration = Duration::from_millis(ATTEMPT_SECS * 1000 + 300);
/// Time after which a slow customer answers.
const SLOWNESS: Duration = Duration::from_millis(1500);
/// A success whose body is announced and never comes.
const LIE: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\nx";

/// The receivers of all customers: one listener, a host for each.
pub(crate) struct CustomerServer {
    upstream: Upstream,
    authority: String,
    log: Arc<CustomerLog>,
}

struct CustomerLog {
    witness: Arc<RunWitness>,
    /// Every customer behaves as its conduct says; until then all are sound.
    has_trouble: AtomicBool,
    received: Mutex<ReceivedWebhooks>,
}

#[derive(Default)]
struct ReceivedWebhooks {
    attempts: Vec<ReceivedAttempt>,
    /// Customers with the events that they have accepted.
    accepted: HashSet<(usize, usize)>,
}

impl CustomerServer {
    /// Starts the receivers of so many customers.
    pub(crate) fn start(witness: &Arc<RunWitness>, customers: usize) -> io::Result<Self> {
        let hosts: Vec<String> = (0..customers).map(|customer| host_of(customer).to_string()).collect();
        let names: Vec<&str> = hosts.iter().map(String::as_str).collect();
        let certificate = issue_certificate_for(&names).map_err(io::Error::other)?;
        let log = Arc::new(CustomerLog {
            witness: Arc::clone(witness),
            has_trouble: AtomicBool::new(false),
            received: Mutex::default(),
        });
        let receiving = Arc::clone(&log);
        // Of all addresses: each customer is at a loopback address of its own.
        let everywhere = Ipv4Addr::UNSPECIFIED;
        let upstream =
            Upstream::start_tls_at(everywhere, &certificate, move |request| receiving.receive(request))?;
        Ok(Self { upstream, authority: certificate.authority, log })
    }

    /// Writes the authority of the receivers into a directory, and returns the path.
    pub(crate) fn write_authority(&self, directory: &Path) -> io::Result<PathBuf> {
        let path = directory.join("authority.pem");
        std::fs::write(&path, &self.authority)?;
        Ok(path)
    }

    /// The port of every receiver.
    pub(crate) fn port(&self) -> u16 {
        self.upstream.address().port()
    }

    /// Returns the address of a customer.
    pub(crate) fn url(&self, customer: usize) -> String {
        format!("https://{}:{}/{customer}", host_of(customer), self.port())
    }

    /// Has a tenth of the customers behave badly from now on.
    pub(crate) fn begin_trouble(&self) {
        self.log.has_trouble.store(true, Ordering::Relaxed);
    }

    /// Returns the number of events that customers, each of which answers them, have not accepted yet.
    pub(crate) fn count_missing(&self, customers: usize, sent: &[SentWebhook]) -> usize {
        let has_trouble = self.log.has_trouble.load(Ordering::Relaxed);
        let received = self.log.received.lock();
        let due = (0..customers)
            .filter(|customer| !has_trouble || CustomerConduct::for_customer(*customer).is_live());
        due.map(|customer| {
            sent.iter().filter(|event| !received.accepted.contains(&(customer, event.number))).count()
        })
        .sum()
    }

    /// Returns every attempt so far.
    pub(crate) fn attempts(&self) -> Vec<ReceivedAttempt> {
        self.log.received.lock().attempts.clone()
    }
}

impl CustomerLog {
    /// Answers a request, once it is time.
    fn receive(&self, request: &ReceivedRequest) -> UpstreamReply {
        let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        if body["type"] == "webhook.challenge" {
            let echo = json!({"challenge": body["data"]["challenge"]});
            return UpstreamReply::new(200, echo.to_string());
        }
        let customer = request.target.trim_start_matches('/').parse::<usize>();
        let number = body["data"]["n"].as_u64().and_then(|number| usize::try_from(number).ok());
        let (Ok(customer), Some(number)) = (customer, number) else { return UpstreamReply::new(404, "") };
        let begin = self.witness.now();
        let conduct = match self.has_trouble.load(Ordering::Relaxed) {
            true => CustomerConduct::for_customer(customer),
            false => CustomerConduct::Sound,
        };
        let reply = match conduct {
            CustomerConduct::Sound => UpstreamReply::new(200, ""),
            CustomerConduct::Failing => UpstreamReply::new(500, ""),
            CustomerConduct::Lying => UpstreamReply::Raw(LIE.to_vec()),
            CustomerConduct::Slow => {
                pause(SLOWNESS);
                UpstreamReply::new(200, "")
            }
            CustomerConduct::Silent => {
                pause(SILENCE);
                UpstreamReply::Cut
            }
        };
        let mut received = self.received.lock();
        if conduct.is_live() {
            received.accepted.insert((customer, number));
        }
        received.attempts.push(ReceivedAttempt {
            customer,
            id: request.header("webhook-id").unwrap_or_default().to_owned(),
            number,
            begin,
            end: self.witness.now(),
            is_accepted: conduct.is_live(),
        });
        reply
    }
}

/// Returns the address of the host of a customer.
fn host_of(customer: usize) -> Ipv4Addr {
    let [high, low] = [customer / 250, customer % 250 + 1].map(|part| u8::try_from(part).unwrap_or(u8::MAX));
    Ipv4Addr::new(127, 1, high, low)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_customer_has_a_host_of_its_own() {
        let hosts: HashSet<_> = (0..1000).map(host_of).collect();
        assert_eq!(hosts.len(), 1000);
        assert!(hosts.iter().all(Ipv4Addr::is_loopback));
    }
}
