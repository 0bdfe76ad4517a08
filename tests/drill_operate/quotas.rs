//! Quotas that clients of all nodes use up, one while the nodes are restarted in turn, one while they are killed: never
//! more than its limit runs, and no more is lost than a killed node had reserved.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::{Value, json};
use svc_testkit::findings::{DrillVerdict, Findings};
use svc_testkit::http::HttpClient;
use svc_testkit::nodes::{expect_soon, pause};
use svc_testkit::postgres::PostgresDatabase;
use svc_testkit::reporting::{self, name_run, serve_channel, serve_workflow};
use svc_testkit::witness::RunWitness;

use crate::cluster::{NODES, OperateCluster, wait_until_none};
use crate::note;

/// The channel, and the kind of the names by which its runs report.
const CHANNEL: &str = "quota";
/// The keys: of one the nodes are restarted, of the other they are killed.
const TENANTS: [&str; 2] = ["restarted", "killed"];
/// Clients that use a quota up, of each node as many as of the others.
const CLIENTS: usize = 24;
/// Time in which a quota is used up: long enough for a restart of every node.
const USED_UP_IN: Duration = Duration::from_secs(60);
/// Longest pause of a client.
const LONGEST_PAUSE: Duration = Duration::from_millis(500);
/// Time for which clients go on once a quota is used up, so that one that gives more is seen.
const AFTERWARDS: Duration = Duration::from_secs(5);

/// The answers to the clients of one quota.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct QuotaRecord {
    admitted: usize,
    refused: usize,
    /// Requests that may have been counted and did not run: the node was going, coming, or killed.
    lost: usize,
    /// Answers that must not be.
    problems: Vec<String>,
}

/// The observations of one quota.
#[derive(Clone, Debug)]
struct UsedQuota {
    tenant: &'static str,
    record: QuotaRecord,
    /// Runs that the witness saw.
    runs: usize,
    /// Requests that the service shows as used.
    shown: u64,
    kills: usize,
}

/// Carries out the drill with quotas of this limit.
pub(crate) fn drill(binary: &Path, database: &PostgresDatabase, limit: usize) -> io::Result<DrillVerdict> {
    let witness = Arc::new(RunWitness::start(|_| Duration::ZERO)?);
    let mut cluster = OperateCluster::start(binary, database, &witness, &[])?;
    let mut client = cluster.client(0);
    reporting::connect(&mut client, &witness)?;
    let body = name_run(CHANNEL, &json!({"var": "payload.tenant"}));
    serve_workflow(&mut client, CHANNEL, &reporting::report(&body))?;
    let quota = json!({"limit": limit, "per": "month", "key_logic": {"var": "headers.x-tenant-id"}});
    serve_channel(&mut client, CHANNEL, &json!({"quota": quota}))?;
    cluster.wait_until_served(database)?;
    let mut used = Vec::new();
    for tenant in TENANTS {
        let quota = use_up(&mut cluster, &witness, tenant, limit)?;
        note(&format!("the quota of {limit} admitted {} while nodes were {tenant}", quota.runs));
        used.push(quota);
    }
    Ok(judge(limit, &used))
}

/// Has clients use up the quota of a tenant, while each node is stopped once.
fn use_up(
    cluster: &mut OperateCluster,
    witness: &RunWitness,
    tenant: &'static str,
    limit: usize,
) -> io::Result<UsedQuota> {
    let name = format!("{CHANNEL}-{tenant}");
    let count = || witness.runs().iter().filter(|run| run.occurrence == name).count();
    let before = cluster.kills().len();
    let clients = QuotaClients::start(&cluster.addresses(), tenant, limit);
    for node in 0..NODES {
        let due = limit * (node + 1) / (NODES + 1);
        expect_soon("a part of the quota is used", || Ok(count() >= due))?;
        match tenant {
            "killed" => cluster.kill(node)?,
            _ => cluster.restart(node)?,
        }
    }
    let kills = cluster.kills().len() - before;
    let reserved = kills * most_reserved(limit);
    wait_until_none(|| Ok(limit.saturating_sub(reserved).saturating_sub(count())))?;
    pause(AFTERWARDS);
    let record = clients.stop()?;
    let shown = cluster.read(&format!("channels/{CHANNEL}/quotas"))?;
    Ok(UsedQuota { tenant, record, runs: count(), shown: read_used(&shown, tenant), kills })
}

/// Returns the requests that a node reserves at most.
fn most_reserved(limit: usize) -> usize {
    (limit / 100).clamp(1, 100)
}

/// Returns what the service shows as used by a key.
fn read_used(shown: &Value, tenant: &str) -> u64 {
    let keys = shown["data"]["keys"].as_array();
    let key = keys.and_then(|keys| keys.iter().find(|key| key["key"] == tenant));
    key.and_then(|key| key["used"].as_u64()).unwrap_or_default()
}

/// The running clients of one quota.
struct QuotaClients {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<QuotaRecord>>,
}

impl QuotaClients {
    fn start(addresses: &[SocketAddr], tenant: &'static str, limit: usize) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let spread = USED_UP_IN * u32::try_from(CLIENTS).unwrap_or(u32::MAX);
        let pace = (spread / u32::try_from(limit).unwrap_or(u32::MAX)).min(LONGEST_PAUSE);
        let send = |client: usize| {
            let (address, is_over) = (addresses[client % addresses.len()], Arc::clone(&stop));
            thread::spawn(move || {
                let mut record = QuotaRecord::default();
                while !is_over.load(Ordering::Relaxed) {
                    record.send(address, tenant);
                    pause(pace);
                }
                record
            })
        };
        let threads = (0..CLIENTS).map(send).collect();
        Self { stop, threads }
    }

    /// Ends the clients, and returns what all of them were answered.
    fn stop(self) -> io::Result<QuotaRecord> {
        self.stop.store(true, Ordering::Relaxed);
        let mut all = QuotaRecord::default();
        for thread in self.threads {
            let one = thread.join().map_err(|_| io::Error::other("a client panicked"))?;
            all.admitted += one.admitted;
            all.refused += one.refused;
            all.lost += one.lost;
            all.problems.extend(one.problems);
        }
        Ok(all)
    }
}

impl QuotaRecord {
    /// Sends one request, on a connection of its own.
    fn send(&mut self, address: SocketAddr, tenant: &str) {
        let headers = [("content-type", "application/json"), ("x-tenant-id", tenant)];
        let body = json!({"tenant": tenant}).to_string();
        let path = format!("/api/v1/data/{CHANNEL}");
        match HttpClient::new(address).send("POST", &path, &headers, body.as_bytes()) {
            Ok(answer) => match answer.status {
                200 => self.admitted += 1,
                429 if answer.json()["error"]["code"] == "QUOTA_EXCEEDED"
                    && answer.header("retry-after").is_some() =>
                {
                    self.refused += 1;
                }
                503 => self.lost += 1,
                status => self.problems.push(format!("{status}: {}", answer.text())),
            },
            // Nothing listens: the request was not read.
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {}
            Err(_) => self.lost += 1,
        }
    }
}

fn judge(limit: usize, used: &[UsedQuota]) -> DrillVerdict {
    let mut findings = Findings::default();
    for quota in used {
        let UsedQuota { tenant, record, runs, shown, kills } = quota;
        findings.at_most(&format!("runs of the key {tenant}"), *runs, limit);
        findings.at_most(&format!("admitted requests of the key {tenant}"), record.admitted, limit);
        let used = usize::try_from(*shown).unwrap_or(usize::MAX);
        findings.at_most(&format!("requests shown as used by the key {tenant}"), used, limit);
        let explained = kills * most_reserved(limit) + record.lost;
        findings.at_most(
            &format!("requests lost to the key {tenant}"),
            limit.saturating_sub(*runs),
            explained,
        );
        findings.expect_none(&format!("wrong answers to the key {tenant}"), &record.problems);
        findings.at_least(&format!("refusals of the key {tenant}"), record.refused, CLIENTS);
    }
    findings.at_least("quotas", used.len(), TENANTS.len());
    let figures = |quota: &UsedQuota| {
        let QuotaRecord { admitted, refused, lost, .. } = &quota.record;
        json!({"nodes": quota.tenant, "runs": quota.runs, "admitted": admitted, "refused": refused, "lost": lost,
            "shown_as_used": quota.shown, "kills": quota.kills})
    };
    findings.into_verdict(json!({"limit": limit, "quotas": used.iter().map(figures).collect::<Vec<_>>()}))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: usize = 1_000;

    /// Quotas of which each kill took some requests with it.
    fn clean() -> [UsedQuota; 2] {
        let record = QuotaRecord { admitted: LIMIT, refused: CLIENTS, ..QuotaRecord::default() };
        let restarted = UsedQuota { tenant: TENANTS[0], record, runs: LIMIT, shown: 1_000, kills: 0 };
        let killed = UsedQuota { tenant: TENANTS[1], runs: LIMIT - 30, kills: 3, ..restarted.clone() };
        [restarted, killed]
    }

    fn failures(change: impl FnOnce(&mut [UsedQuota; 2])) -> String {
        let mut used = clean();
        change(&mut used);
        judge(LIMIT, &used).failures.join("\n")
    }

    #[test]
    fn requests_beyond_limit_are_found() {
        assert_eq!(failures(|_| {}), "");
        assert!(failures(|used| used[1].runs = LIMIT + 1).contains("1001 runs of the key killed"));
        assert!(failures(|used| used[0].record.admitted += 1).contains("1001 admitted requests"));
        assert!(failures(|used| used[0].shown += 1).contains("shown as used"));
    }

    #[test]
    fn requests_lost_without_kill_are_found() {
        assert!(failures(|used| used[0].runs -= 1).contains("1 requests lost to the key restarted"));
        assert!(failures(|used| used[1].runs -= 1).contains("31 requests lost to the key killed"));
        let answered_late = |used: &mut [UsedQuota; 2]| {
            used[0].runs -= 1;
            used[0].record.lost = 1;
        };
        assert_eq!(failures(answered_late), "");
        assert!(failures(|used| used[0].record.refused = 0).contains("too little was shown"));
        let wrong = |used: &mut [UsedQuota; 2]| used[0].record.problems.push("500: {}".to_owned());
        assert!(failures(wrong).contains("wrong answers"));
    }

    #[test]
    fn used_requests_are_read_by_key() {
        let shown = json!({"data": {"keys": [{"key": "a", "used": 3}, {"key": "killed", "used": 7}]}});
        assert_eq!((read_used(&shown, "killed"), read_used(&shown, "c")), (7, 0));
    }
}
