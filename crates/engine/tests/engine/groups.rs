//! The flat list of tasks a workflow becomes, against an interpreter that walks the tree as it was written.

use proptest::prelude::*;
use serde_json::{Value, json};
use svc_engine::{Engine, RunOutcome};

use crate::support::{message, run};

/// A task or a group. Conditions ask for a remainder of the number of writes so far.
#[derive(Debug, Clone)]
enum Node {
    Task { condition: Ask, does: Does, continue_on_error: bool, terminal: bool },
    Group { condition: Ask, terminal: bool, members: Vec<Node> },
}

/// A condition that `temp_data.n` leaves a remainder; `None` = no condition.
type Ask = Option<(i64, i64)>;

#[derive(Debug, Clone)]
enum Does {
    /// Writes: 200.
    Write,
    /// Writes, and has a mapping that fails: 500.
    WriteAndFail,
    /// Fails at once: 500.
    Fail,
    /// A rule that does not hold: 400.
    Refuse,
    /// Passes or halts.
    Halt(Ask),
    /// Passes or skips.
    Skip(Ask),
}

fn holds(ask: &Ask, n: i64) -> bool {
    ask.is_none_or(|(modulus, remainder)| n % modulus == remainder)
}

fn logic(ask: &Ask) -> Value {
    match ask {
        None => json!(true),
        Some((modulus, remainder)) => {
            json!({"==": [{"%": [{"var": ["temp_data.n", 0]}, modulus]}, remainder]})
        }
    }
}

/// The events of a pass over the tree.
#[derive(Debug, Default, PartialEq)]
struct Record {
    writes: i64,
    audit: Vec<(String, u16)>,
    steps: Vec<(String, &'static str)>,
    failed: bool,
}

#[derive(PartialEq)]
enum Flow {
    On,
    Stop,
}

/// Ids are given in the order of the walk, so that document and interpreter agree on them.
fn ids(nodes: &[Node], next: &mut usize) -> Vec<String> {
    let mut all = Vec::new();
    for node in nodes {
        all.push(format!("n{next}"));
        *next += 1;
        if let Node::Group { members, .. } = node {
            all.extend(ids(members, next));
        }
    }
    all
}

struct Interpreter<'i> {
    ids: std::slice::Iter<'i, String>,
    record: Record,
}

impl Interpreter<'_> {
    fn list(&mut self, nodes: &[Node]) -> Flow {
        let mut flow = Flow::On;
        for node in nodes {
            let id = self.ids.next().unwrap().clone();
            match node {
                _ if flow == Flow::Stop => self.pass_over(node),
                Node::Task { condition, does, continue_on_error, terminal } => {
                    flow = if holds(condition, self.record.writes) {
                        self.task(id, does, *continue_on_error, *terminal)
                    } else {
                        self.record.steps.push((id, "skipped"));
                        Flow::On
                    };
                }
                Node::Group { condition, terminal, members } => {
                    if holds(condition, self.record.writes) {
                        flow = self.list(members);
                        if *terminal {
                            flow = Flow::Stop;
                        }
                    } else {
                        self.skip(members);
                    }
                }
            }
        }
        flow
    }

    fn task(&mut self, id: String, does: &Does, continue_on_error: bool, terminal: bool) -> Flow {
        let n = self.record.writes;
        let status = match does {
            Does::Write => 200,
            Does::WriteAndFail | Does::Fail => 500,
            Does::Refuse => 400,
            Does::Halt(ask) if holds(ask, n) => 200,
            Does::Skip(ask) if holds(ask, n) => 200,
            Does::Halt(_) => 299,
            Does::Skip(_) => {
                self.record.steps.push((id, "skipped"));
                return Flow::On;
            }
        };
        if matches!(does, Does::Write | Does::WriteAndFail) {
            self.record.writes += 1;
        }
        let aborts = status == 500 && !continue_on_error;
        self.record.audit.push((id.clone(), status));
        self.record.steps.push((id, if status == 500 { "failed" } else { "executed" }));
        self.record.failed |= aborts;
        if aborts || terminal || status == 299 { Flow::Stop } else { Flow::On }
    }

    /// A group that was not entered: its tasks are skipped, whatever their conditions.
    fn skip(&mut self, members: &[Node]) {
        for member in members {
            let id = self.ids.next().unwrap().clone();
            match member {
                Node::Task { .. } => self.record.steps.push((id, "skipped")),
                Node::Group { members, .. } => self.skip(members),
            }
        }
    }

    /// Never reached: takes the ids only.
    fn pass_over(&mut self, node: &Node) {
        if let Node::Group { members, .. } = node {
            for member in members {
                self.ids.next().unwrap();
                self.pass_over(member);
            }
        }
    }
}

fn interpret(nodes: &[Node]) -> Record {
    let ids = ids(nodes, &mut 0);
    let mut interpreter = Interpreter { ids: ids.iter(), record: Record::default() };
    interpreter.list(nodes);
    interpreter.record
}

fn document(nodes: &[Node], ids: &mut std::slice::Iter<'_, String>) -> Value {
    let mut elements = Vec::new();
    for node in nodes {
        let id = ids.next().unwrap();
        elements.push(match node {
            Node::Group { condition, terminal, members } => json!({
                "id": id, "condition": logic(condition), "terminal": terminal, "tasks": document(members, ids),
            }),
            Node::Task { condition, does, continue_on_error, terminal } => json!({
                "id": id, "condition": logic(condition), "terminal": terminal, "continue_on_error": continue_on_error,
                "function": function(does),
            }),
        });
    }
    elements.into()
}

fn function(does: &Does) -> Value {
    let write = json!({"path": "temp_data.n", "logic": {"+": [{"var": "temp_data.n"}, 1]}});
    match does {
        Does::Write => json!({"name": "map", "input": {"mappings": [write]}}),
        Does::WriteAndFail => {
            json!({"name": "map", "input": {"mappings": [{"path": "data.x", "logic": {"throw": "x"}}, write]}})
        }
        Does::Fail => json!({"name": "parse_xml", "input": {"source": "data.none", "target": "x"}}),
        Does::Refuse => json!({"name": "validation", "input": {"rules": [{"logic": false, "message": "m"}]}}),
        Does::Halt(ask) => json!({"name": "filter", "input": {"condition": logic(ask)}}),
        Does::Skip(ask) => json!({"name": "filter", "input": {"condition": logic(ask), "on_reject": "skip"}}),
    }
}

fn any_ask() -> impl Strategy<Value = Ask> {
    prop_oneof![2 => Just(None), 3 => (1..4i64, 0..3i64).prop_map(Some)]
}

fn any_nodes() -> impl Strategy<Value = Vec<Node>> {
    let does = prop_oneof![
        8 => Just(Does::Write),
        1 => Just(Does::WriteAndFail),
        1 => Just(Does::Fail),
        1 => Just(Does::Refuse),
        1 => any_ask().prop_map(Does::Halt),
        2 => any_ask().prop_map(Does::Skip),
    ];
    let task = (any_ask(), does, prop::bool::weighted(0.7), prop::bool::weighted(0.1)).prop_map(
        |(condition, does, continue_on_error, terminal)| Node::Task {
            condition,
            does,
            continue_on_error,
            terminal,
        },
    );
    let node = task.prop_recursive(8, 40, 4, |inner| {
        let members = prop::collection::vec(inner.clone(), 1..4);
        let group = (any_ask(), prop::bool::weighted(0.15), members)
            .prop_map(|(condition, terminal, members)| Node::Group { condition, terminal, members });
        prop_oneof![1 => inner, 2 => group]
    });
    prop::collection::vec(node, 1..6)
}

fn observation(outcome: &RunOutcome) -> Record {
    let result = |step: &svc_engine::TraceStep| match step.result {
        svc_engine::StepResult::Executed => "executed",
        svc_engine::StepResult::Skipped => "skipped",
        svc_engine::StepResult::Failed => "failed",
    };
    let steps = outcome.trace.iter().flat_map(|trace| &trace.steps);
    Record {
        writes: outcome.message.temp_data["n"].as_i64().unwrap_or(0),
        audit: outcome.audit_trail.iter().map(|entry| (entry.task_id.to_string(), entry.status)).collect(),
        steps: steps
            .map(|step| (step.task_id.as_deref().unwrap_or_default().to_owned(), result(step)))
            .collect(),
        failed: outcome.failure.is_some(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn the_flat_list_does_what_the_tree_says(nodes in any_nodes()) {
        let ids = ids(&nodes, &mut 0);
        let document = json!({"tasks": document(&nodes, &mut ids.iter())});
        let outcome = run(&Engine::builder().build(), &document, message(Value::Null));
        let expected = interpret(&nodes);
        prop_assert_eq!(observation(&outcome), expected);
        let progress = outcome.message.metadata.get("progress").map(|progress| progress["task_id"].clone());
        let last = outcome.audit_trail.last().map(|entry| json!(entry.task_id));
        prop_assert_eq!(progress, last, "progress names the last task that recorded something");
    }
}
