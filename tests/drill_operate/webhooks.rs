//! Webhooks at full size: every event goes to a thousand customers. In the first round all of them are well, in the
//! second one a tenth is dead, slow or lying, and in the third one nodes are killed as well.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use svc_testkit::findings::DrillVerdict;
use svc_testkit::http::HttpClient;
use svc_testkit::nodes::pause;
use svc_testkit::postgres::PostgresDatabase;
use svc_testkit::reporting::{serve_channel, serve_workflow};
use svc_testkit::witness::RunWitness;

use crate::cluster::{NODES, OperateCluster, wait_until_none};
use crate::customers::{ATTEMPT_SECS, CustomerServer};
use crate::note;
use crate::webhook_verdict::{KILLS, SentWebhook, WebhookEvidence, WebhookRound, judge};

/// Endpoints, one of each customer.
const CUSTOMERS: usize = 1_000;
/// The topic of the events, and the channel that sends them.
const TOPIC: &str = "notify";
/// Time from one event to the next, in milliseconds.
const PACE: u64 = 2_000;
/// Number of times that an event is tried, and the time between.
const TRIES: usize = 100;
const ANOTHER_TRY: Duration = Duration::from_millis(200);

/// Carries out the drill with so many events a round.
pub(crate) fn drill(binary: &Path, database: &PostgresDatabase, events: usize) -> io::Result<DrillVerdict> {
    let witness = Arc::new(RunWitness::start(|_| Duration::ZERO)?);
    let customers = CustomerServer::start(&witness, CUSTOMERS)?;
    let directory = tempfile::tempdir()?;
    let authority = customers.write_authority(directory.path())?.display().to_string();
    let limit = ATTEMPT_SECS.to_string();
    let settings =
        [("SSL_CERT_FILE", authority.as_str()), ("SVC_WEBHOOKS__ATTEMPT_TIMEOUT_SECS", limit.as_str())];
    let mut cluster = OperateCluster::start(binary, database, &witness, &settings)?;
    store(&mut cluster.client(0), &customers)?;
    cluster.wait_until_served(database)?;
    register(&cluster, &customers)?;
    note(&format!("{CUSTOMERS} endpoints are registered"));

    let mut play = |round: usize, kills: usize| {
        let plan = RoundPlan { first: round * events, events, has_trouble: round > 0, kills };
        plan.carry_out(&mut cluster, &witness, &customers)
    };
    let calm = play(0, 0)?;
    customers.begin_trouble();
    let troubled = play(1, 0)?;
    let killed = play(2, KILLS)?;
    let (attempts, kills) = (customers.attempts(), cluster.kills().len());
    Ok(judge(&WebhookEvidence { customers: CUSTOMERS, calm, troubled, killed, attempts, kills }))
}

/// Stores the connector, and a channel that sends its payload as an event.
fn store(client: &mut HttpClient, customers: &CustomerServer) -> io::Result<()> {
    let port = customers.port();
    let connector = json!({"id": "customers", "name": "customers", "connector_type": "http", "config": {
        "url": format!("https://127.0.0.1:{port}"), "allow_private_urls": true,
        "allow_urls": [format!("https:{port}")]}});
    client.json("POST", "/api/v1/admin/connectors", &connector)?.expect_status(201)?;
    let send = json!([{"id": "send", "name": "Send", "function": {"name": "send_webhook", "input": {
        "topic": TOPIC, "data_logic": {"var": "payload"}, "output": "data.sent"}}}]);
    serve_workflow(client, TOPIC, &send)?;
    serve_channel(client, TOPIC, &json!({}))
}

/// Registers the endpoint of each customer, which echoes its challenge.
fn register(cluster: &OperateCluster, customers: &CustomerServer) -> io::Result<()> {
    for customer in 0..CUSTOMERS {
        let endpoint = json!({"url": customers.url(customer), "topics": [TOPIC], "connector": "customers"});
        let registered = cluster.order("webhooks", &endpoint)?;
        if registered["data"]["state"] != "enabled" {
            return Err(io::Error::other(format!("an endpoint is not enabled: {registered}")));
        }
    }
    Ok(())
}

/// The events of a round.
#[derive(Clone, Copy, Debug)]
struct RoundPlan {
    /// The number of the first event.
    first: usize,
    events: usize,
    has_trouble: bool,
    /// Nodes that are killed, one after the other.
    kills: usize,
}

impl RoundPlan {
    /// Sends the events, and waits until each has arrived at every customer that accepts it.
    fn carry_out(
        self,
        cluster: &mut OperateCluster,
        witness: &RunWitness,
        customers: &CustomerServer,
    ) -> io::Result<WebhookRound> {
        let (begin, mut killed) = (witness.now(), 0);
        let every = (self.events / (self.kills + 1)).max(1);
        let mut sent = Vec::with_capacity(self.events);
        for number in 0..self.events {
            let due = begin + Duration::from_millis(PACE * number as u64);
            pause(due.saturating_sub(witness.now()));
            sent.push(send(cluster, witness, self.first + number)?);
            if killed < self.kills && (number + 1) % every == 0 {
                cluster.kill(killed % NODES)?;
                killed += 1;
            }
        }
        // What does not arrive is for the judge to see.
        let missing = wait_until_none(|| Ok(customers.count_missing(CUSTOMERS, &sent)))?;
        let length = witness.now() - begin;
        note(&format!("{} events, {missing} missing deliveries after {length:?}", self.events));
        Ok(WebhookRound { sent, has_trouble: self.has_trouble, length })
    }
}

/// Sends an event until a node has accepted it for every customer.
fn send(cluster: &OperateCluster, witness: &RunWitness, number: usize) -> io::Result<SentWebhook> {
    let mut failure = io::Error::other("no node is there");
    for address in cluster.addresses().into_iter().cycle().skip(number % NODES).take(TRIES) {
        let at = witness.now();
        let path = format!("/api/v1/data/{TOPIC}");
        match HttpClient::new(address).json("POST", &path, &json!({"n": number})) {
            Ok(answer) if answer.json()["data"]["sent"]["endpoints"] == CUSTOMERS => {
                return Ok(SentWebhook { number, at });
            }
            Ok(answer) => {
                failure = io::Error::other(format!("{path} answered {}: {}", answer.status, answer.text()));
            }
            Err(error) => failure = error,
        }
        pause(ANOTHER_TRY);
    }
    Err(failure)
}
