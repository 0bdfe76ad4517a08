//! Fan-outs: three calls that take 300 ms each at once, a list of a hundred thousand elements, and a job that asks a
//! slow system for each element of a list while its node is killed.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use svc_testkit::findings::{DrillVerdict, Findings};
use svc_testkit::http::HttpClient;
use svc_testkit::nodes::expect_soon;
use svc_testkit::postgres::PostgresDatabase;
use svc_testkit::reporting::{self, name_run, serve_channel, serve_workflow};
use svc_testkit::witness::{RunWitness, WitnessedRun, runs_by_name};

use crate::cluster::{OperateCluster, count_open, millis, wait_until_none};
use crate::note;

/// The channel with a job, and the kind of the names by which its elements report.
const JOB: &str = "element";
/// The channel of the three calls, and the kind of their names.
const SUPPLIERS: &str = "supplier";
/// The channel of the long list.
const LIST: &str = "list";

/// Time that the call of an element takes, and that of a supplier.
const CALL: Duration = Duration::from_millis(100);
const SUPPLY: Duration = Duration::from_millis(300);
/// Longest time of three suppliers at once, of the quickest of some requests: the machine has other work.
const TOGETHER: Duration = Duration::from_millis(320);
const REQUESTS: usize = 10;
/// Elements of the job that run at once.
const AT_ONCE: usize = 50;
/// Time after a kill in which requests of the killed attempt may still be read. The next attempt waits for the lease.
const LATE: Duration = Duration::from_secs(2);
/// Elements of the long list, and those that run at once: so many copies of it fit the bound of a message.
const LONG: usize = 100_000;
const COPIES: usize = 4;
/// Processor time that a run may take, in milliseconds: a list that long needs more than a request.
const CPU_BUDGET: &str = "60000";
/// Memory by which the process may grow over the long list.
const GROWTH_MIB: u64 = 512;

/// The evidence to judge.
struct ElementsEvidence {
    elements: usize,
    /// The calls of the elements of the job.
    runs: Vec<WitnessedRun>,
    killed: Duration,
    /// The stored result of the job.
    result: String,
    /// Times of the requests to three suppliers.
    together: Vec<Duration>,
    /// The answer to the long list, its time, and the growth of the process.
    last: Value,
    listed_in: Duration,
    growth_mib: u64,
}

/// Carries out the drill with so many elements of the job.
pub(crate) fn drill(binary: &Path, database: &PostgresDatabase, elements: usize) -> io::Result<DrillVerdict> {
    let hold = |run: &WitnessedRun| if run.occurrence.starts_with(SUPPLIERS) { SUPPLY } else { CALL };
    let witness = Arc::new(RunWitness::start(hold)?);
    let settings = [("SVC_ENGINE__CPU_BUDGET_MS", CPU_BUDGET)];
    let mut cluster = OperateCluster::start(binary, database, &witness, &settings)?;
    let mut client = cluster.client(0);
    reporting::connect(&mut client, &witness)?;
    for (channel, at_once) in [(JOB, AT_ONCE), (SUPPLIERS, 3)] {
        serve_workflow(&mut client, channel, &ask_each(channel, at_once))?;
        serve_channel(&mut client, channel, &json!({"timeout_ms": 300_000}))?;
    }
    serve_workflow(&mut client, LIST, &copy_each())?;
    serve_channel(&mut client, LIST, &json!({"timeout_ms": 300_000}))?;
    cluster.wait_until_served(database)?;

    let mut together = Vec::new();
    for _ in 0..REQUESTS {
        together.push(post(&mut client, &witness, SUPPLIERS, 3)?.1);
    }
    let before = read_peak_memory(cluster.pid(0)?)?;
    let (answer, listed_in) = post(&mut client, &witness, LIST, LONG)?;
    let growth_mib = read_peak_memory(cluster.pid(0)?)?.saturating_sub(before) / 1024;
    note(&format!("{LONG} elements took {listed_in:?}"));

    let trace = submit(&mut client, elements)?;
    expect_soon("half of the elements have begun", || Ok(list_calls(&witness).len() > elements / 2))?;
    let owner = read_text(database, &format!("SELECT owner FROM traces WHERE id = '{trace}'"))?;
    let node = cluster.find_node(&owner)?.ok_or_else(|| io::Error::other("no node runs the job"))?;
    cluster.kill(node)?;
    note(&format!("node {node} was killed while it ran the job"));
    wait_until_none(|| count_open(database))?;
    let result = read_text(database, &format!("SELECT result_json FROM traces WHERE id = '{trace}'"))?;
    let killed = cluster.kills().first().copied().unwrap_or_default();
    let runs = list_calls(&witness);
    let last = answer["data"]["last"].clone();
    Ok(judge(&ElementsEvidence { elements, runs, killed, result, together, last, listed_in, growth_mib }))
}

/// Returns the tasks of a workflow that asks the witness for each element, and keeps the elements in their order.
fn ask_each(kind: &str, at_once: usize) -> Value {
    let mut tasks = reporting::report(&name_run(kind, &json!({"var": "temp_data.item"})));
    let kept = json!({"mappings": [{"path": "temp_data.kept", "logic": {"var": "temp_data.item"}}]});
    let keep = json!({"id": "keep", "name": "Keep", "function": {"name": "map", "input": kept}});
    tasks.as_array_mut().into_iter().for_each(|tasks| tasks.push(keep.clone()));
    let each = json!({"over": {"var": "payload.list"}, "max_concurrency": at_once, "into": "data.kept",
        "collect": "temp_data.kept"});
    json!([{"id": "each", "for_each": each, "tasks": tasks}])
}

/// Returns the tasks of a workflow that copies each element, and answers the last copy.
fn copy_each() -> Value {
    let mapping = |path: &str, from: &str| json!({"path": path, "logic": {"var": from}});
    let map = |path: &str, from: &str| json!({"name": "map", "input": {"mappings": [mapping(path, from)]}});
    let each = json!({"over": {"var": "payload.list"}, "max_concurrency": COPIES, "into": "temp_data.copies",
        "collect": "temp_data.copy"});
    let last = format!("temp_data.copies.{}", LONG - 1);
    json!([
        {"id": "copy", "name": "Copy", "for_each": each, "function": map("temp_data.copy", "temp_data.item")},
        {"id": "last", "name": "Last", "function": map("data.last", &last)},
    ])
}

/// Returns a message with a list of so many numbers.
fn numbers(count: usize) -> Value {
    json!({"list": (0..count).collect::<Vec<_>>()})
}

/// Sends a list, and returns the answer with the time that it took.
fn post(
    client: &mut HttpClient,
    witness: &RunWitness,
    channel: &str,
    count: usize,
) -> io::Result<(Value, Duration)> {
    let began = witness.now();
    let answer = client.json("POST", &format!("/api/v1/data/{channel}"), &numbers(count))?;
    let took = witness.now() - began;
    answer.expect_status(200)?;
    Ok((answer.json(), took))
}

/// Submits the job, and returns the id of its trace.
fn submit(client: &mut HttpClient, elements: usize) -> io::Result<String> {
    let answer = client.json("POST", &format!("/api/v1/data/{JOB}/async"), &numbers(elements))?;
    answer.expect_status(202)?;
    Ok(answer.json()["trace_id"].as_str().unwrap_or_default().to_owned())
}

/// Returns the calls of the elements of the job.
fn list_calls(witness: &RunWitness) -> Vec<WitnessedRun> {
    let runs = witness.runs().into_iter();
    runs.filter(|run| run.occurrence.strip_prefix(JOB).is_some_and(|rest| rest.starts_with('-'))).collect()
}

/// Returns the text that a query answers.
fn read_text(database: &PostgresDatabase, sql: &str) -> io::Result<String> {
    let rows = database.rows(sql).map_err(io::Error::other)?;
    let text = rows.into_iter().next().and_then(|row| row.into_iter().next()?);
    text.ok_or_else(|| io::Error::other(format!("no text answers {sql}")))
}

/// Returns the most memory that a process has had, in KiB.
fn read_peak_memory(pid: u32) -> io::Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse().ok());
    number.ok_or_else(|| io::Error::other("the process shows no memory"))
}

/// Returns the most calls that were in progress at once.
fn find_most_at_once(runs: &[WitnessedRun]) -> usize {
    let begins = runs.iter().map(|run| (run.begin, 1));
    let ends = runs.iter().filter_map(|run| Some((run.end?, -1)));
    let mut changes: Vec<(Duration, isize)> = begins.chain(ends).collect();
    // An end comes before the begin that it makes room for.
    changes.sort_unstable();
    let (mut current, mut most) = (0_isize, 0_isize);
    for (_, change) in changes {
        current += change;
        most = most.max(current);
    }
    most.unsigned_abs()
}

fn judge(evidence: &ElementsEvidence) -> DrillVerdict {
    let mut findings = Findings::default();
    let runs: BTreeMap<&str, Vec<&WitnessedRun>> = runs_by_name(&evidence.runs);
    let next_attempt = evidence.killed + LATE;
    let (mut wrong, mut begun) = (Vec::new(), 0);
    for number in 0..evidence.elements {
        let name = format!("{JOB}-{number}");
        let runs = runs.get(name.as_str()).map(Vec::as_slice).unwrap_or_default();
        let (killed, again): (Vec<&WitnessedRun>, Vec<_>) =
            runs.iter().copied().partition(|run| run.begin < next_attempt);
        begun += killed.len();
        let is_right = killed.len() <= 1 && again.len() == 1 && again.iter().all(|run| run.answered);
        if !is_right {
            wrong.push(format!("{name}: {} before the kill, {} after it", killed.len(), again.len()));
        }
    }
    findings.expect_none("elements did not run once in each attempt", &wrong);
    findings.at_least("elements that began before the kill", begun, evidence.elements / 2);
    let most = find_most_at_once(&evidence.runs);
    findings.at_most("elements ran at once", most, AT_ONCE);
    findings.at_least("elements at once", most, AT_ONCE.min(evidence.elements) / 2);
    let expected = format!("\"kept\":{}", json!((0..evidence.elements).collect::<Vec<_>>()));
    let disorder =
        (!evidence.result.contains(&expected)).then(|| evidence.result.chars().take(200).collect::<String>());
    findings.expect_none("results are not in the order of the list", disorder.as_slice());
    let quickest = evidence.together.iter().min().copied();
    let slow = quickest.is_none_or(|time| time > TOGETHER).then(|| format!("{quickest:?}"));
    findings.expect_none("times of three suppliers at once are too long", slow.as_slice());
    let lost = (evidence.last != LONG - 1).then(|| evidence.last.to_string());
    findings.expect_none("long lists lost their last element", lost.as_slice());
    let grown = (evidence.growth_mib > GROWTH_MIB).then(|| format!("{} MiB", evidence.growth_mib));
    findings.expect_none("processes grew too much over the long list", grown.as_slice());
    let figures = json!({
        "elements": evidence.elements, "begun_before_kill": begun, "most_at_once": most,
        "three_suppliers_ms": {"min": millis(quickest), "max": millis(evidence.together.iter().max().copied())},
        "long_list": {"elements": LONG, "ms": millis(Some(evidence.listed_in)), "growth_mib": evidence.growth_mib},
    });
    findings.into_verdict(figures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repetitions::answered_run;

    const KILLED: Duration = Duration::from_secs(1);

    /// Ten elements, of which six began before the kill.
    fn clean() -> ElementsEvidence {
        let call = |number: usize, begin: Duration| answered_run(&format!("{JOB}-{number}"), begin);
        let first = (0..6).map(|number| call(number, Duration::from_millis(100)));
        let again = (0..10).map(|number| call(number, Duration::from_secs(20)));
        ElementsEvidence {
            elements: 10,
            runs: first.chain(again).collect(),
            killed: KILLED,
            result: r#"{"data":{"kept":[0,1,2,3,4,5,6,7,8,9]}}"#.to_owned(),
            together: vec![Duration::from_millis(400), Duration::from_millis(305)],
            last: json!(LONG - 1),
            listed_in: Duration::from_secs(1),
            growth_mib: 100,
        }
    }

    fn failures(change: impl FnOnce(&mut ElementsEvidence)) -> String {
        let mut evidence = clean();
        change(&mut evidence);
        judge(&evidence).failures.join("\n")
    }

    #[test]
    fn lost_repeated_and_disordered_elements_are_found() {
        assert_eq!(failures(|_| {}), "");
        assert!(failures(|evidence| drop(evidence.runs.pop())).contains("once in each attempt"));
        let twice = answered_run("element-3", Duration::from_secs(21));
        assert!(failures(|evidence| evidence.runs.push(twice)).contains("once in each attempt"));
        assert!(
            failures(|evidence| evidence.result = evidence.result.replace("3,4", "4,3")).contains("order")
        );
        assert!(failures(|evidence| evidence.together.truncate(1)).contains("too long"));
        assert!(failures(|evidence| evidence.last = Value::Null).contains("last element"));
        assert!(failures(|evidence| evidence.growth_mib = 600).contains("grew"));
    }

    #[test]
    fn calls_at_once_are_counted() {
        let runs: Vec<_> =
            [0, 5, 10, 30].map(|ms| answered_run("element-0", Duration::from_millis(ms))).into();
        assert_eq!(find_most_at_once(&runs), 2, "each takes ten milliseconds");
    }
}
