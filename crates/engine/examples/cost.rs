//! Measures the cost of a run, for `make bench PART=engine`: does one thing many times and prints the
//! nanoseconds of one.
//!
//! `cost QUICKSTART_DIRECTORY WHAT-CASE RUNS`, where WHAT is `run` (the workflow), `bare` (its expressions
//! with nothing around them) or `payload` (a copy of the payload, which every run is given).

#![expect(clippy::print_stdout, reason = "the report is what a bench is for")]

use std::error::Error;
use std::path::Path;

use datalogic_rs::DataValue;
use datalogic_rs::bumpalo::Bump;
use mimalloc::MiMalloc;
use serde_json::{Map, Value, json};
use svc_engine::{CompileSecrets, Engine, Flow, Message, RunOptions};
use svc_model::{LifecycleStatus, Timestamp, Workflow, parse_new_workflow};
use svc_secrets::Readings;
use tokio::time::Instant;

/// The allocator of the service.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let mut args = std::env::args().skip(1);
    let (Some(quickstart), Some(case), Some(runs)) = (args.next(), args.next(), args.next()) else {
        return Err("usage: cost QUICKSTART_DIRECTORY WHAT-CASE RUNS".into());
    };
    let runs: u32 = runs.parse()?;
    let (what, name) = case.split_once('-').unwrap_or(("run", &case));
    let (document, payload) = self::case(name, Path::new(&quickstart))?;
    let nanoseconds = match what {
        "run" => run(&document, &payload, runs)?,
        "bare" => evaluate(&document, &payload, runs)?,
        "payload" => copy(&payload, runs),
        other => return Err(format!("nothing is measured as {other}").into()),
    };
    println!("{nanoseconds:.0}");
    Ok(())
}

/// A workflow and the payload it is run with.
fn case(name: &str, quickstart: &Path) -> Outcome<(Value, Value)> {
    let read = |path: &str| -> Outcome<Value> {
        Ok(serde_json::from_str(&std::fs::read_to_string(quickstart.join(path))?)?)
    };
    Ok(match name {
        "quickstart" => (read("workflows/order-intake.json")?, read("order.json")?),
        "one" => (workflow(idle(1)), json!({})),
        "hundred" => (workflow(idle(101)), json!({})),
        "mappings" => (workflow(mappings()), read("order.json")?),
        "large" => (workflow(large()), items(100 << 10)),
        "groups" => (workflow(groups()), read("order.json")?),
        other => return Err(format!("there is no case {other}").into()),
    })
}

fn workflow(tasks: Vec<Value>) -> Value {
    json!({"name": "cost", "tasks": tasks})
}

fn task(id: &str, function: &str, input: Value) -> Value {
    json!({"id": id, "name": "", "function": {"name": function, "input": input}})
}

/// Tasks that do nothing.
fn idle(count: usize) -> Vec<Value> {
    (0..count).map(|n| task(&format!("t{n}"), "map", json!({"mappings": []}))).collect()
}

fn take() -> Value {
    task("take", "parse_json", json!({"source": "payload", "target": "in"}))
}

/// Twenty tasks of three mappings each: a sum, a text, a choice.
fn mappings() -> Vec<Value> {
    let one = |n: usize| {
        task(
            &format!("t{n}"),
            "map",
            json!({"mappings": [
                {"path": format!("data.sum{n}"), "logic": {"+": [{"*": [{"var": "data.in.qty"}, {"var": "data.in.price"}]}, n]}},
                {"path": format!("data.text{n}"), "logic": {"cat": [{"var": "data.in.customer"}, " #", n]}},
                {"path": format!("data.kind{n}"), "logic": {"if": [{">": [{"var": format!("data.sum{n}")}, 155]}, "large", "small"]}},
            ]}),
        )
    };
    std::iter::once(take()).chain((0..19).map(one)).collect()
}

/// Looks at one item of many, and at the number of them.
fn large() -> Vec<Value> {
    let look = task(
        "look",
        "map",
        json!({"mappings": [
            {"path": "temp_data.count", "logic": {"length": [{"var": "data.in.items"}]}},
            {"path": "temp_data.first", "logic": {"cat": [{"var": "data.in.items.0.name"}, "!"]}},
            {"path": "temp_data.total", "logic": {"+": [{"var": "data.in.items.0.price"}, {"var": "data.in.items.9.price"}]}},
        ]}),
    );
    vec![take(), look]
}

/// A payload of about so many bytes.
fn items(bytes: usize) -> Value {
    let item = |n: usize| json!({"sku": format!("A-{n:06}"), "name": "a thing of some length", "price": n % 97, "tags": ["a", "b"]});
    let each = item(0).to_string().len() + 1;
    json!({"items": (0..bytes / each).map(item).collect::<Vec<_>>()})
}

/// One task inside eight groups, each with a condition.
fn groups() -> Vec<Value> {
    let condition = json!({"==": [{"var": "data.in.qty"}, 3]});
    let inner = task(
        "t",
        "map",
        json!({"mappings": [{"path": "data.n", "logic": {"+": [{"var": "data.in.qty"}, 1]}}]}),
    );
    let nested = (0..8)
        .fold(inner, |inner, n| json!({"id": format!("g{n}"), "condition": condition, "tasks": [inner]}));
    vec![take(), nested]
}

fn per_run(started: Instant, runs: u32) -> f64 {
    started.elapsed().as_secs_f64() * 1e9 / f64::from(runs)
}

/// Through the engine. The payload is a new one for each run, as it is for each request; the time does not
/// count it.
fn run(document: &Value, payload: &Value, runs: u32) -> Outcome<f64> {
    let engine = Engine::builder().build();
    let (id, content) = parse_new_workflow(document, &engine).map_err(|errors| format!("{errors:?}"))?;
    let now = Timestamp::now();
    let workflow = Workflow {
        workflow_id: id.unwrap_or_default(),
        version: 1,
        content,
        status: LifecycleStatus::Active,
        rollout_percentage: 100,
        created_at: now,
        updated_at: now,
    };
    let material = CompileSecrets { references: &Readings::default(), declared: &engine.declared_secrets() };
    let flow = Flow::single(engine.compile(&workflow, material)?);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    let messages: Vec<_> = (0..runs).map(|_| Message::new(payload.clone(), Map::new())).collect();
    let started = Instant::now();
    runtime.block_on(async {
        for message in messages {
            let outcome = engine.run(&flow, message, RunOptions::default()).await;
            if let Some(failure) = outcome.failure {
                return Err(failure.error.message.into());
            }
        }
        Ok(per_run(started, runs))
    })
}

fn copy(payload: &Value, runs: u32) -> f64 {
    let started = Instant::now();
    for _ in 0..runs {
        drop(std::hint::black_box(payload.clone()));
    }
    per_run(started, runs)
}

/// The same expressions over the same data by the library underneath alone: the context is copied into the
/// arena once.
fn evaluate(document: &Value, payload: &Value, runs: u32) -> Outcome<f64> {
    let engine = datalogic_rs::Engine::builder().with_templating(true).build();
    let mut sources = Vec::new();
    expressions(&document["tasks"], &mut sources);
    let compiled = sources.into_iter().map(|source| engine.compile(source)).collect::<Result<Vec<_>, _>>()?;
    let context = json!({"data": {"in": payload, "order": payload}, "metadata": {}, "temp_data": {}});
    let mut bump = Bump::new();
    let started = Instant::now();
    for _ in 0..runs {
        let copied: &DataValue<'_> = bump.alloc(DataValue::from_serde_value_in(&context, &bump));
        for logic in &compiled {
            engine.evaluate(logic, copied, &bump)?;
        }
        bump.reset();
    }
    Ok(per_run(started, runs))
}

/// Every expression of the tasks.
fn expressions<'d>(value: &'d Value, found: &mut Vec<&'d Value>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| expressions(item, found)),
        Value::Object(members) => {
            for (key, member) in members {
                match key.as_str() {
                    "logic" | "condition" => found.push(member),
                    _ => expressions(member, found),
                }
            }
        }
        _ => {}
    }
}
