use std::collections::VecDeque;
use std::net::TcpListener;
use std::time::Duration;

use parking_lot::Mutex;

use super::*;
use crate::{ClientOptions, FetchError, Outbound, OutboundClient, Trust, check_url};

/// Gives one answer after the other; the last one for ever.
struct Script(Mutex<VecDeque<Vec<IpAddr>>>);

impl Script {
    fn new(answers: &[&[&str]]) -> Arc<Self> {
        let parse = |answer: &&[&str]| answer.iter().map(|address| address.parse().unwrap()).collect();
        Arc::new(Self(Mutex::new(answers.iter().map(parse).collect())))
    }
}

impl AddressLookup for Script {
    fn lookup(&self, _: &str) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        let mut answers = self.0.lock();
        let answer = if answers.len() > 1 { answers.pop_front() } else { answers.front().cloned() };
        Box::pin(std::future::ready(Ok(answer.unwrap())))
    }
}

async fn resolve(answer: &[&str]) -> Result<Vec<SocketAddr>, AddressError> {
    let resolver = CheckedResolver { lookup: Script::new(&[answer]), allow_private: false };
    let resolution = resolver.resolve("name.example".parse().unwrap()).await;
    resolution.map(Iterator::collect).map_err(|error| *error.downcast().unwrap())
}

fn client(lookup: Arc<Script>, allow_private: bool) -> OutboundClient {
    let outbound = Outbound::with_lookup(&Trust::Only(String::new()), lookup).unwrap();
    outbound.client(ClientOptions { allow_private, timeout: Duration::from_millis(200) }).unwrap()
}

#[tokio::test]
async fn public_addresses_are_handed_to_the_dial() {
    let resolution = resolve(&["1.1.1.1", "2606:4700::1111"]).await.unwrap();
    assert_eq!(resolution, ["1.1.1.1:0".parse().unwrap(), "[2606:4700::1111]:0".parse().unwrap()]);
}

#[tokio::test]
async fn one_forbidden_address_refuses_the_whole_answer() {
    for bad in ["127.0.0.1", "::1", "10.0.0.1", "169.254.169.254", "::ffff:10.0.0.1", "fd00:ec2::254"] {
        for answer in [[bad, "1.1.1.1", "8.8.8.8"], ["1.1.1.1", bad, "8.8.8.8"], ["1.1.1.1", "8.8.8.8", bad]]
        {
            let refused = resolve(&answer).await.unwrap_err();
            assert!(matches!(refused, AddressError::Forbidden { address, .. } if address.to_string() == bad));
        }
    }
}

#[tokio::test]
async fn a_name_without_addresses_is_unresolved() {
    assert!(matches!(resolve(&[]).await, Err(AddressError::Unresolved { .. })));
}

/// A name answers whoever checks it with a public address and the one who dials with another.
#[tokio::test]
async fn name_with_changed_answers_is_not_dialled() {
    let trap = TcpListener::bind("127.0.0.1:0").unwrap();
    trap.set_nonblocking(true).unwrap();
    let port = trap.local_addr().unwrap().port();
    let script = Script::new(&[&["1.1.1.1"], &["127.0.0.1"]]);
    let client = client(Arc::clone(&script), false);
    let first = CheckedResolver { lookup: script, allow_private: false };
    assert!(first.resolve("name.example".parse().unwrap()).await.is_ok());
    let url = check_url(&format!("http://name.example:{port}/"), false).unwrap();
    for _ in 0..1_000 {
        let refused = client.get(&url, 16).await.unwrap_err();
        assert!(matches!(refused, FetchError::Address(AddressError::Forbidden { .. })), "{refused:?}");
    }
    assert!(trap.accept().is_err());
}

/// Of a name that answers otherwise at every question, what was checked is dialled, and it is asked for once.
#[tokio::test]
async fn driver_gets_the_very_addresses_that_were_checked() {
    let public: &[&str] = &["1.1.1.1", "2606:4700::1111"];
    let script = Script::new(&[public, &["127.0.0.1"], &["8.8.8.8", "10.0.0.1"], public]);
    let outbound = Outbound::with_lookup(&Trust::Only(String::new()), script).unwrap();
    let mut answers = Vec::new();
    for _ in 0..4 {
        answers.push(outbound.addresses("name.example", 5432, false).await);
    }
    let expected = ["1.1.1.1:5432", "[2606:4700::1111]:5432"].map(|address| address.parse().unwrap());
    for answer in [&answers[0], &answers[3]] {
        assert_eq!(answer.as_ref().unwrap(), &expected);
    }
    for (answer, inner) in [(&answers[1], "127.0.0.1"), (&answers[2], "10.0.0.1")] {
        let refused = answer.as_ref().unwrap_err();
        assert!(
            matches!(refused, AddressError::Forbidden { address, .. } if address.to_string() == inner),
            "{refused:?}"
        );
    }
}

#[tokio::test]
async fn name_with_mixed_answers_is_refused_every_time() {
    let trap = TcpListener::bind("127.0.0.1:0").unwrap();
    trap.set_nonblocking(true).unwrap();
    let script =
        Script::new(&[&["1.1.1.1", "127.0.0.1"], &["127.0.0.1", "1.1.1.1"], &["2606:4700::1111", "::1"]]);
    let client = client(script, false);
    let url = format!("http://name.example:{}/", trap.local_addr().unwrap().port());
    let url = check_url(&url, false).unwrap();
    for _ in 0..100 {
        let refused = client.get(&url, 16).await.unwrap_err();
        assert!(matches!(refused, FetchError::Address(AddressError::Forbidden { .. })), "{refused:?}");
    }
    assert!(trap.accept().is_err());
}

#[tokio::test]
async fn allowed_private_address_is_dialled() {
    let trap = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = trap.local_addr().unwrap().port();
    let client = client(Script::new(&[&["127.0.0.1"]]), true);
    let url = check_url(&format!("http://name.example:{port}/"), true).unwrap();
    assert!(matches!(client.get(&url, 16).await, Err(FetchError::Timeout { .. })));
    trap.accept().unwrap();
}
