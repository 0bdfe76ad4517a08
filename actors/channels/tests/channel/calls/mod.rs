//! Workflows that call other channels.

mod bounds;
mod guards;

use std::collections::HashMap;
use std::sync::Arc;

use actix_supervision::{Tree, Universe};
use parking_lot::Mutex;
use serde_json::{Value, json};
use svc_channels::call::{ChannelDirectory, NotCallable};
use svc_channels::{CompiledChannel, Settings};
use svc_engine::Flow;
use svc_model::{Code, ServiceError};

use crate::kit::{Kit, Orders, SECRET, body, channel_named, copy, http, task, token, token_auth, workflow};

/// The channels that can be called.
#[derive(Default)]
struct Peers(Mutex<HashMap<String, Arc<CompiledChannel>>>);

impl ChannelDirectory for Peers {
    fn find(&self, name: &str) -> Result<Arc<CompiledChannel>, NotCallable> {
        let unknown = || NotCallable::Unknown(name.to_owned());
        self.0.lock().get(name).cloned().ok_or_else(unknown)
    }
}

struct World {
    kit: Kit,
    peers: Arc<Peers>,
    tree: Tree,
}

impl World {
    fn new(tree: Tree) -> Self {
        let (kit, peers) = (Kit::new(Settings::default()), Arc::new(Peers::default()));
        kit.calls.bind(&peers);
        Self { kit, peers, tree }
    }

    fn build(&self, name: &str, config: Value, tasks: Value) -> CompiledChannel {
        self.kit.definition(&channel_named(name, config), self.kit.flow(&tasks), None).unwrap()
    }

    /// Lets a channel be called.
    fn peer(&self, name: &str, config: Value, tasks: Value) {
        let definition = Arc::new(self.build(name, config, tasks));
        self.peers.0.lock().insert(name.to_owned(), definition);
    }

    /// The channel that takes the messages in; it can be called too.
    async fn orders(&self, config: Value, tasks: Value) -> Orders {
        self.peer("orders", config.clone(), tasks.clone());
        Orders::start(&self.tree, self.build("orders", config, tasks)).await
    }
}

fn run(test: impl AsyncFnOnce(World)) {
    Universe::new(1).run(async |tree| test(World::new(tree)).await);
}

fn call(input: Value) -> Value {
    task("channel_call", input)
}

/// A call whose result goes to `data.got`.
fn get(channel: &str) -> Value {
    call(json!({"channel": channel, "output": "data.got"}))
}

/// A call that may fail.
fn try_get(channel: &str) -> Value {
    let mut task = get(channel);
    task["continue_on_error"] = json!(true);
    task
}

/// The data of an answer.
async fn data(orders: &Orders, payload: Value) -> Value {
    body(orders.post(payload).await)["data"].clone()
}

/// Returns the response to the first call of a channel.
async fn refusal(world: &World, tasks: Value) -> ServiceError {
    world.orders(json!({}), tasks).await.post(json!({})).await.unwrap_err()
}

#[test]
fn call_returns_the_data_of_the_channel() {
    let read = json!({"var": "payload.n"});
    for (input, expected) in [
        (
            json!({"channel": "stock", "output": "data.got"}),
            json!({"got": {"seen": {"n": 1, "to": "stock"}}}),
        ),
        (
            json!({"channel": "stock", "response_path": "data.got"}),
            json!({"got": {"seen": {"n": 1, "to": "stock"}}}),
        ),
        (json!({"channel": "stock"}), json!({"seen": {"n": 1, "to": "stock"}})),
        (json!({"channel": "stock", "data": [1, read]}), json!({"seen": [1, read]})),
        (json!({"channel": "stock", "data": null}), json!({"seen": null})),
        (json!({"channel": "stock", "data_logic": {"+": [read, 1]}}), json!({"seen": 2})),
        (json!({"channel": "stock", "data": 5, "data_logic": {"+": [read, 1]}}), json!({"seen": 2})),
        (json!({"channel_logic": {"var": "payload.to"}, "data": 0}), json!({"seen": 0})),
    ] {
        run(async |world| {
            world.peer("stock", json!({}), json!([copy("payload", "data.seen")]));
            let orders = world.orders(json!({}), json!([call(input.clone())])).await;
            let payload = json!({"n": 1, "to": "stock"});
            // A null that was copied is a null that was not written.
            let expected = if expected["seen"].is_null() && expected.get("got").is_none() {
                json!({})
            } else {
                expected
            };
            assert_eq!(data(&orders, payload).await, expected, "{input}");
        });
    }
}

#[test]
fn callee_sees_caller_metadata_and_empty_data() {
    run(async |world| {
        let copies = json!([copy("metadata", "data.metadata"), copy("temp_data.x", "data.left")]);
        world.peer("stock", json!({}), copies);
        let mut tasks = json!([task("fail", json!({})), copy("payload", "temp_data.x"), get("stock")]);
        tasks[0]["continue_on_error"] = json!(true);
        let orders = world.orders(json!({"auth": token_auth()}), tasks).await;
        let token = token(json!({"sub": "u-1"}));
        let request = http(json!({}), &[("authorization", &token), ("x-tenant-id", "t")]);
        let got = body(orders.submit(request).await)["data"]["got"].clone();
        for (pointer, value) in [
            ("/metadata/channel", json!("stock")),
            ("/metadata/auth/claims/sub", json!("u-1")),
            ("/metadata/http_method", json!("POST")),
            ("/metadata/headers", json!({"authorization": "******", "x-tenant-id": "t"})),
            ("/metadata/_svc_call_depth", json!(1)),
            ("/metadata/_svc_call_chain", json!(["orders", "stock"])),
            ("/metadata/_svc_errors", json!(null)),
            ("/left", json!(null)),
        ] {
            assert_eq!(got.pointer(pointer).cloned().unwrap_or_default(), value, "{pointer}");
        }
    });
}

#[test]
fn control_document_of_called_workflow_is_not_returned() {
    run(async |world| {
        let control = copy("payload", "data._svc.response.status");
        world.peer("stock", json!({}), json!([control, copy("payload", "data.n")]));
        let config = json!({"response": {"mode": "shaped"}});
        let orders = world.orders(config, json!([call(json!({"channel": "stock", "data": 418}))])).await;
        assert_eq!(data(&orders, json!({})).await, json!({"n": 418}));
    });
}

#[test]
fn callee_error_is_the_error_of_the_task() {
    let invalid = task("validation", json!({"rules": [{"logic": false, "message": "no quantity"}]}));
    let mut tolerated = task("fail", json!({}));
    tolerated["continue_on_error"] = json!(true);
    for (tasks, code, text) in [
        (json!([task("fail", json!({}))]), Code::EngineError, ""),
        (json!([tolerated]), Code::EngineError, ""),
        (json!([invalid]), Code::ValidationError, "channel 'stock', task 'validation': no quantity"),
        (json!([call(json!({"channel": "nobody"}))]), Code::EngineError, ""),
    ] {
        run(async |world| {
            world.peer("stock", json!({}), tasks.clone());
            let refused = refusal(&world, json!([get("stock")])).await;
            assert_eq!(refused.code(), code, "{tasks}");
            assert!(refused.message().contains(text), "{}", refused.message());
            assert!(!refused.message().contains("db.internal"), "{}", refused.message());
            let counted = world.kit.metrics_text();
            assert!(counted.contains(r#"svc_messages_total{channel="stock",status="error"} 1"#), "{counted}");
        });
        run(async |world| {
            world.peer("stock", json!({}), tasks.clone());
            let tasks = json!([try_get("stock"), copy("metadata._svc_errors.0.task_id", "data.failed")]);
            let orders = world.orders(json!({}), tasks).await;
            assert_eq!(data(&orders, json!({})).await, json!({"failed": "channel_call"}), "tolerated");
        });
    }
}

#[test]
fn unknown_or_invalid_channel_name_fails_the_task() {
    run(async |world| {
        let tasks = json!([call(json!({"channel_logic": {"var": "payload"}}))]);
        let orders = world.orders(json!({}), tasks).await;
        for (name, code) in [
            (json!("nobody"), Code::EngineError),
            (json!(5), Code::ValidationError),
            (json!(null), Code::ValidationError),
            (json!(" "), Code::ValidationError),
        ] {
            assert_eq!(orders.post(name.clone()).await.unwrap_err().code(), code, "{name}");
        }
    });
}

#[test]
fn call_goes_to_the_currently_serving_version() {
    run(async |world| {
        let mark =
            |mark: &str| json!([task("map", json!({"mappings": [{"path": "data.mark", "logic": mark}]}))]);
        world.peer("stock", json!({}), mark("old"));
        let orders = world.orders(json!({}), json!([task("hold", json!({})), get("stock")])).await;
        let running = orders.clone();
        let running = actix_rt::spawn(async move { data(&running, json!({})).await });
        world.kit.hold.wait_for_entries(1).await;
        world.peer("stock", json!({}), mark("new"));
        world.kit.hold.release();
        assert_eq!(running.await.unwrap(), json!({"got": {"mark": "new"}}));
    });
}

#[test]
fn a_call_runs_exactly_one_version() {
    run(async |world| {
        let version = |number: i64| {
            let mapping =
                json!({"path": "data.version", "logic": {"cat": [{"var": "data.version"}, number]}});
            let tasks = json!([task("map", json!({"mappings": [mapping]}))]);
            Arc::new(world.kit.compile(&workflow(number, &tasks)))
        };
        let flow = Flow { versions: vec![(version(2), 50), (version(1), 50)] };
        let stock = world.kit.definition(&channel_named("stock", json!({})), flow, None).unwrap();
        world.peers.0.lock().insert("stock".into(), Arc::new(stock));
        let orders = world.orders(json!({}), json!([get("stock")])).await;
        let mut served = [0, 0];
        for _ in 0..100 {
            match data(&orders, json!({})).await["got"]["version"].as_str() {
                Some("1") => served[0] += 1,
                Some("2") => served[1] += 1,
                other => panic!("not one version: {other:?}"),
            }
        }
        assert!(served.iter().all(|count| *count > 0), "{served:?}");
    });
}

#[test]
fn secret_reaches_called_workflow_and_returns_masked() {
    let logic = json!({"merge": [[{"secret": "token"}], [1]]});
    let secret = json!({"channel": "stock", "output": "data.got", "data_logic": logic});
    run(async |world| {
        let logic = json!({"validation_logic": {"==": [{"var": "data.0"}, SECRET]}});
        let deeper = call(json!({"channel": "deeper", "output": "data.deeper"}));
        world.peer("deeper", logic.clone(), json!([copy("payload", "data.all")]));
        world.peer("stock", logic, json!([copy("payload", "data.all"), deeper]));
        let orders = world.orders(json!({}), json!([call(secret.clone())])).await;
        let expected = json!({"got": {"all": ["******", 1], "deeper": {"all": ["******", 1]}}});
        assert_eq!(data(&orders, json!({})).await, expected);
    });
    run(async |world| {
        let rule = json!({"logic": {"throw": {"var": "payload.0"}}, "message": "no"});
        world.peer("stock", json!({}), json!([task("validation", json!({"rules": [rule]}))]));
        let orders = world.orders(json!({}), json!([call(secret)])).await;
        let error = orders.post(json!({})).await.unwrap_err();
        assert!(!format!("{error:?}").contains(SECRET), "{error:?}");
    });
    run(async |world| {
        let computed = json!([call(json!({"channel_logic": {"secret": "token"}}))]);
        let error = refusal(&world, computed).await;
        assert!(format!("{error:?}").contains("'******'"), "{error:?}");
        assert!(!format!("{error:?}").contains(SECRET), "{error:?}");
    });
}

#[test]
fn input_of_call_is_checked_before_storing() {
    use svc_model::WorkflowChecks;
    let kit = Kit::new(Settings::default());
    for (input, path, code) in [
        (json!({}), "channel", "REQUIRED"),
        (json!({"channel": 5}), "channel", "TYPE_MISMATCH"),
        (json!({"channel": " "}), "channel", "INVALID"),
        (json!({"channel": "a", "channel_logic": "a"}), "channel_logic", "DUPLICATE_FIELD"),
        (json!({"channel": "a", "data_logic": {"var": []}, "output": "payload.x"}), "output", "INVALID"),
        (json!({"channel": "a", "response_path": "payload.x"}), "response_path", "INVALID"),
        (json!({"channel": "a", "timeout_ms": "5"}), "timeout_ms", "TYPE_MISMATCH"),
        (json!({"channel": "a", "timeout_ms": 0}), "timeout_ms", "INVALID"),
        (json!({"channel": "a", "timeout_ms": -5}), "timeout_ms", "INVALID"),
    ] {
        let (mut errors, mut warnings) = (Vec::new(), Vec::new());
        let content = workflow(1, &json!([call(input.clone())])).content;
        kit.services.engine.check(&content, &mut errors, &mut warnings);
        let problems: Vec<_> = errors
            .iter()
            .map(|error| (error.path.as_str(), json!(error.code).as_str().unwrap().to_owned()))
            .collect();
        assert_eq!(problems, [(&*format!("tasks[0].function.input.{path}"), code.to_owned())], "{input}");
    }
}
