//! A case of the drill from its definitions to its end, with the evidence for the judge.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use svc_testkit::http::HttpClient;
use svc_testkit::nodes::{expect_soon, pause, read_number};
use svc_testkit::postgres::PostgresDatabase;
use svc_testkit::reporting::{self, name_run, serve_channel, serve_workflow};
use svc_testkit::witness::RunWitness;

use crate::answers::{CanaryAnswers, CanaryClients};
use crate::case::{ALARM, CanaryCase, NEWER, OLDER};
use crate::kills::{RolloutProgress, kill_at_decisions};
use crate::nodes::{CanaryNodes, NODES};

/// Time under load before the rollout begins.
const CALM: Duration = Duration::from_secs(2);
/// Time under load after its end: a version that still takes traffic is seen.
const AFTERWARDS: Duration = Duration::from_secs(5);

/// The nodes with the called system, and the rate of requests.
pub(crate) struct CanaryDrill<'d> {
    pub(crate) nodes: CanaryNodes<'d>,
    pub(crate) database: &'d PostgresDatabase,
    pub(crate) witness: Arc<RunWitness>,
    /// Requests in a second.
    pub(crate) rate: u64,
}

/// The evidence to judge. Times count from the start of the clients.
#[derive(Clone, Debug, Default)]
pub(crate) struct CanaryEvidence {
    pub(crate) answers: CanaryAnswers,
    /// The answer to the activation with the plan.
    pub(crate) begun_at: Duration,
    /// The first sight of the end.
    pub(crate) ended_at: Duration,
    pub(crate) stopped_at: Duration,
    /// Time from the begin of the rollout to its last decision, by the clock of the database.
    pub(crate) decided_after: Duration,
    pub(crate) state: String,
    pub(crate) reason: String,
    /// The shares that each node shows at the end.
    pub(crate) shares: Vec<Value>,
    /// The decisions in the audit log, the oldest first.
    pub(crate) audit: Vec<String>,
    /// Reports to the channel of `on_rollback`: rows of accepted work.
    pub(crate) reports: usize,
    /// Runs of such reports.
    pub(crate) report_runs: usize,
    pub(crate) kills: usize,
}

/// Serves the channel that gets the reports of rollbacks, and stores the connector of the called system.
pub(crate) fn define_alarm(client: &mut HttpClient, witness: &RunWitness) -> io::Result<()> {
    reporting::connect(client, witness)?;
    let body = name_run(ALARM, &json!({"var": "payload.channel"}));
    serve_workflow(client, ALARM, &reporting::report(&body))?;
    serve_channel(client, ALARM, &json!({}))
}

impl CanaryDrill<'_> {
    /// Runs a rollout under load until it has ended, and a little longer.
    pub(crate) fn carry_out(&mut self, case: &CanaryCase) -> io::Result<CanaryEvidence> {
        self.define(case)?;
        let clients = CanaryClients::start(self.nodes.addresses(), case.id, case.conduct, self.rate);
        pause(CALM);
        let path = format!("/api/v1/admin/workflows/{}/status", case.id);
        self.nodes.client(0).json("PATCH", &path, &case.activation())?.expect_status(200)?;
        let begun_at = clients.age();
        let kills = match case.kill {
            Some(point) => kill_at_decisions(&mut self.nodes, self.database, (case, point))?,
            None => 0,
        };
        expect_soon("the rollout ends", || Ok(!RolloutProgress::read(self.database, case.id)?.is_watched()))?;
        let ended_at = clients.age();
        pause(AFTERWARDS);
        let stopped_at = clients.age();
        let answers = clients.stop()?;
        let times =
            CanaryEvidence { begun_at, ended_at, stopped_at, answers, kills, ..CanaryEvidence::default() };
        self.collect(case, times)
    }

    /// Serves the older version, and prepares the newer one as a draft.
    fn define(&self, case: &CanaryCase) -> io::Result<()> {
        let mut client = self.nodes.client(0);
        serve_workflow(&mut client, case.id, &case.conduct.tasks(OLDER))?;
        serve_channel(&mut client, case.id, &json!({"tracing": {"mode": "off"}}))?;
        let path = format!("/api/v1/admin/workflows/{}", case.id);
        client.json("POST", &format!("{path}/versions"), &json!({}))?.expect_status(201)?;
        client.json("PUT", &path, &json!({"tasks": case.conduct.tasks(NEWER)}))?.expect_status(200)?;
        self.nodes.wait_until_served()
    }

    /// Adds what the service has recorded of the rollout.
    fn collect(&self, case: &CanaryCase, times: CanaryEvidence) -> io::Result<CanaryEvidence> {
        self.nodes.wait_until_served()?;
        let path = format!("/api/v1/admin/workflows/{}/rollout", case.id);
        let mut shown = Vec::new();
        for node in 0..NODES {
            shown.push(self.nodes.client(node).get(&path)?.json()["data"].take());
        }
        let canary = shown.first().map(|first| first["canary"].clone()).unwrap_or_default();
        let text = |key: &str| canary[key].as_str().unwrap_or_default().to_owned();
        let lasted =
            "SELECT round(extract(epoch FROM updated_at - created_at) * 1000)::bigint FROM canary_rollouts";
        let lasted = read_number(self.database, &format!("{lasted} WHERE workflow_id = '{}'", case.id))?;
        let row = format!(
            "SELECT count(*) FROM traces WHERE channel = '{ALARM}' AND attempt_of IS NULL \
             AND input_json LIKE '%\"{}\"%'",
            case.id
        );
        let reports = usize::try_from(read_number(self.database, &row)?).map_err(io::Error::other)?;
        let name = format!("{ALARM}-{}", case.id);
        let count_runs = || self.witness.runs().iter().filter(|run| run.occurrence == name).count();
        // A report of a node that was killed is taken over once the lease of that node has ended.
        expect_soon("the reports are run", || Ok(count_runs() >= reports))?;
        Ok(CanaryEvidence {
            decided_after: Duration::from_millis(u64::try_from(lasted).unwrap_or_default()),
            state: text("state"),
            reason: text("reason"),
            shares: shown.iter_mut().map(|shown| shown["versions"].take()).collect(),
            audit: self.read_audit(case.id)?,
            reports,
            report_runs: count_runs(),
            ..times
        })
    }

    /// Reads the decisions over a workflow from the audit log.
    fn read_audit(&self, id: &str) -> io::Result<Vec<String>> {
        let sql = format!(
            "SELECT details FROM audit_logs WHERE principal = 'gate' AND resource_id = '{id}' ORDER BY created_at"
        );
        let rows = self.database.rows(&sql).map_err(io::Error::other)?;
        let decision = |details: &String| {
            let details: Value = serde_json::from_str(details).unwrap_or_default();
            details["decision"].as_str().unwrap_or("unreadable").to_owned()
        };
        Ok(rows.iter().flatten().flatten().map(decision).collect())
    }
}
