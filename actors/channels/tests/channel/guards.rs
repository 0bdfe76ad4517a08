//! The guards: admitted callers and their messages.

use actix_supervision::Universe;
use serde_json::{Value, json};
use svc_channels::{DataRequest, Settings};
use svc_engine::Flow;
use svc_model::Code;

use crate::kit::{Kit, Orders, body, copy, empty_workflow, http, row, task, workflow};

#[test]
fn message_failing_validation_is_refused_without_cause() {
    Universe::new(1).run(async |tree| {
        let kit = Kit::new(Settings::default());
        let logic = json!({"and": [{">": [{"var": "data.qty"}, 0]}, {"==": [{"var": "metadata.http_method"}, "POST"]}]});
        let orders = kit.serve(&tree, json!({"validation_logic": logic}), &empty_workflow()).await;
        assert!(orders.post(json!({"qty": 1})).await.is_ok());
        for refused in [json!({"qty": 0}), json!({}), json!({"qty": "many"})] {
            let error = orders.post(refused).await.unwrap_err();
            assert_eq!((error.code(), error.message()), (Code::ValidationError, "Input validation failed"));
            assert!(error.details().is_empty());
        }
    });
}

#[test]
fn payload_outside_schema_is_refused_with_paths() {
    Universe::new(1).run(async |tree| {
        let kit = Kit::new(Settings::default());
        let item = json!({"type": "object", "required": ["qty"], "properties": {"qty": {"type": "integer"}}});
        let schema =
            json!({"properties": {"items": {"type": "array", "items": item}}, "required": ["items"]});
        let config =
            json!({"request": {"schema": schema}, "validation_logic": {"!!": [{"var": "data.items"}]}});
        let orders = kit.serve(&tree, config, &empty_workflow()).await;
        assert!(orders.post(json!({"items": [{"qty": 1}]})).await.is_ok());
        let refusal = async |body: Value| {
            let error = orders.post(body).await.unwrap_err();
            assert_eq!((error.code(), error.status()), (Code::ValidationError, 400));
            error.details().iter().map(|detail| detail.path.clone()).collect::<Vec<_>>()
        };
        assert_eq!(refusal(json!({})).await, ["body.items"], "the schema is met before the expression");
        let faulty = json!({"items": [{"qty": 1}, {}, {"qty": "2"}]});
        assert_eq!(refusal(faulty).await, ["body.items[1].qty", "body.items[2].qty"]);
        let many: Vec<_> = (0..300).map(|_| json!({})).collect();
        assert_eq!(refusal(json!({"items": many})).await.len(), 100);
        // An envelope is opened first.
        assert!(orders.post(json!({"data": {"items": [{"qty": 1}]}})).await.is_ok());
    });
}

#[test]
fn failing_validation_expression_refuses_like_false() {
    Universe::new(1).run(async |tree| {
        let kit = Kit::new(Settings::default());
        let orders =
            kit.serve(&tree, json!({"validation_logic": {"throw": "secret rule"}}), &empty_workflow()).await;
        let error = orders.post(json!({})).await.unwrap_err();
        assert_eq!((error.code(), error.message()), (Code::ValidationError, "Input validation failed"));
    });
}

#[test]
fn the_log_names_the_request_that_a_guard_refused() {
    let listed = json!({"origin_allow_list": ["https://a.example"]});
    let keyed = json!({"auth": {"mode": "api_key", "keys": ["k"]}});
    for (config, refused) in [(listed, "origin refused"), (keyed, "credential refused")] {
        Universe::new(1).run(async |tree| {
            let (kit, log) = Kit::with_log();
            let orders = kit.serve(&tree, config, &empty_workflow()).await;
            let mut request = http(json!({}), &[("origin", "https://b.example")]);
            request.request_id = "r-17".into();
            orders.submit(request).await.unwrap_err();
            let lines = log.lines();
            let named = |line: &&String| line.starts_with(refused) && line.contains(" request_id=r-17");
            assert_eq!(lines.iter().filter(named).count(), 1, "{lines:?}");
        });
    }
}

#[test]
fn a_present_origin_must_be_listed() {
    let listed = json!({"origin_allow_list": ["https://a.example"]});
    let all = json!({"origin_allow_list": ["*"]});
    let none = json!({"origin_allow_list": []});
    for (config, origin, allowed) in [
        (&listed, Some("https://a.example"), true),
        (&listed, Some("https://A.example"), false),
        (&listed, Some("https://b.example"), false),
        (&listed, None, true),
        (&all, Some("https://b.example"), true),
        (&none, Some("https://a.example"), false),
        (&json!({}), Some("https://b.example"), true),
    ] {
        Universe::new(1).run(async |tree| {
            let kit = Kit::new(Settings::default());
            let orders = kit.serve(&tree, config.clone(), &empty_workflow()).await;
            let headers: Vec<_> = origin.iter().map(|origin| ("origin", *origin)).collect();
            let answer = orders.submit(http(json!({}), &headers)).await;
            match answer {
                Ok(_) => assert!(allowed, "{config} {origin:?}"),
                Err(error) => {
                    assert_eq!((error.code(), allowed), (Code::Forbidden, false), "{config} {origin:?}")
                }
            }
        });
    }
}

#[test]
fn no_more_runs_at_once_than_there_are_permits() {
    Universe::new(1).run(async |tree| {
        let kit = Kit::new(Settings::default());
        let config = json!({"backpressure": {"max_concurrent_per_node": 2}});
        let orders = kit.serve(&tree, config, &json!([task("hold", json!({}))])).await;
        let run = || {
            let orders = orders.clone();
            actix_rt::spawn(async move { orders.post(json!({})).await })
        };
        let (first, second) = (run(), run());
        kit.hold.wait_for_entries(2).await;
        let error = orders.post(json!({})).await.unwrap_err();
        assert_eq!((error.code(), error.retry_after()), (Code::ServiceUnavailable, Some(1)));
        assert_eq!(error.message(), "Channel 'orders' is at capacity");
        assert!(kit.metrics_text().contains(r#"svc_errors_total{reason="backpressure"} 1"#));
        kit.hold.release();
        kit.hold.release();
        assert!(first.await.unwrap().is_ok() && second.await.unwrap().is_ok());
        kit.hold.release();
        assert!(orders.post(json!({})).await.is_ok());
    });
}

#[test]
fn taken_permits_outlive_a_rebuild_with_equal_limit() {
    Universe::new(1).run(async |tree| {
        let kit = Kit::new(Settings::default());
        let tasks = json!([task("hold", json!({}))]);
        let config = |permits| json!({"backpressure": {"max_concurrent_per_node": permits}, "timeout_ms": 5});
        let first = kit.build(json!({"backpressure": {"max_concurrent_per_node": 1}}), &tasks).unwrap();
        let same = kit.definition(&row(config(1)), kit.flow(&empty_workflow()), Some(&first)).unwrap();
        let more = kit.definition(&row(config(2)), kit.flow(&empty_workflow()), Some(&first)).unwrap();
        let orders = Orders::start(&tree, first).await;
        let running = orders.clone();
        let running = actix_rt::spawn(async move { running.post(json!({})).await });
        kit.hold.wait_for_entries(1).await;
        for (definition, free) in [(same, false), (more, true)] {
            let factory = svc_channels::ChannelActor::factory(&std::sync::Arc::new(definition));
            tree.replace(&orders.0, None, factory).await.unwrap().commit().await.unwrap();
            assert_eq!(orders.post(json!({})).await.is_ok(), free);
        }
        kit.hold.release();
        assert!(running.await.unwrap().is_ok(), "a replaced definition finishes what it began");
    });
}

#[test]
fn the_workflow_sees_the_stamped_request() {
    Universe::new(1).run(async |tree| {
        let kit = Kit::new(Settings { vars: Some(json!({"region": "eu"})), ..Settings::default() });
        let config = json!({"request": {"cookies_to_metadata": ["theme"]}});
        let orders = kit.serve(&tree, config, &json!([copy("metadata", "data.seen")])).await;
        let mut request = http(
            json!({"data": 1, "metadata": {"tenant": "t", "channel": "forged", "auth": {"claims": {}}}}),
            &[("cookie", "theme=dark"), ("authorization", "Bearer x"), ("x-a", "1")],
        );
        request.params.insert("id".into(), json!("7"));
        request.query.insert("q".into(), json!("z"));
        let view = body(orders.submit(request).await)["data"]["seen"].clone();
        for (pointer, value) in [
            ("/channel", json!("orders")),
            ("/http_method", json!("POST")),
            ("/params", json!({"id": "7"})),
            ("/query", json!({"q": "z"})),
            ("/vars", json!({"region": "eu"})),
            ("/cookies", json!({"theme": "dark"})),
            ("/headers", json!({"cookie": "******", "authorization": "******", "x-a": "1"})),
            ("/tenant", json!("t")),
            ("/auth", Value::Null),
        ] {
            assert_eq!(view.pointer(pointer).cloned().unwrap_or_default(), value, "{pointer}");
        }
    });
}

#[test]
fn body_mode_decides_what_the_payload_is() {
    let envelope = json!({"data": {"a": 1}, "extra": 2});
    for (config, payload) in
        [(json!({}), json!({"a": 1})), (json!({"request": {"body_mode": "payload"}}), envelope.clone())]
    {
        Universe::new(1).run(async |tree| {
            let kit = Kit::new(Settings::default());
            let orders = kit.serve(&tree, config, &json!([copy("payload", "data.seen")])).await;
            assert_eq!(body(orders.post(envelope.clone()).await)["data"]["seen"], payload);
            let embedded = body(orders.submit(DataRequest::embedded(envelope.clone())).await);
            assert_eq!(
                embedded["data"]["seen"], envelope,
                "a call from the process is the payload as it stands"
            );
        });
    }
}

#[test]
fn dropped_envelope_members_are_counted_and_logged_once() {
    Universe::new(1).run(async |tree| {
        let (kit, log) = Kit::with_log();
        let channel = kit.build(json!({}), &json!([copy("payload", "data.seen")])).unwrap();
        assert!(!channel.has_dropped_members());
        let orders = Orders::start(&tree, channel).await;
        for whole in
            [json!({"data": {"a": 1}}), json!({"a": 1}), json!({"data": 1, "metadata": {}}), json!([1])]
        {
            assert!(orders.post(whole).await.is_ok());
        }
        assert!(!kit.metrics_text().contains("svc_envelope_members_dropped_total{"));
        for _ in 0..3 {
            assert!(orders.post(json!({"id": "evt_1", "type": "paid", "data": {"a": 1}})).await.is_ok());
        }
        let page = kit.metrics_text();
        assert!(page.contains(r#"svc_envelope_members_dropped_total{channel="orders"} 3"#), "{page}");
        let lines = log.lines();
        let told: Vec<_> =
            lines.iter().filter(|line| line.contains("members of a body were dropped")).collect();
        assert_eq!(told.len(), 1, "{lines:?}");
        assert!(told[0].contains("id, type"), "{told:?}");
    });
}

#[test]
fn the_same_caller_meets_the_same_version() {
    Universe::new(1).run(async |tree| {
        let kit = Kit::new(Settings { rollout_sticky_header: Some("x-user".into()), ..Settings::default() });
        let version = |number: i64| {
            let tasks =
                json!([task("map", json!({"mappings": [{"path": "data.version", "logic": number}]}))]);
            std::sync::Arc::new(kit.compile(&workflow(number, &tasks)))
        };
        let flow = Flow { versions: vec![(version(2), 20), (version(1), 80)] };
        let orders = Orders::start(&tree, kit.definition(&row(json!({})), flow, None).unwrap()).await;
        let mut served = [0, 0];
        for user in 0..100 {
            let user = std::net::IpAddr::from([192, 0, 2, user]);
            let expected =
                if svc_model::rollout::caller_bucket("flow", &user.to_string()) < 20 { 2 } else { 1 };
            let by_header = http(json!({}), &[("x-user", &user.to_string())]);
            let by_address = DataRequest { client_ip: Some(user), forwarded: true, ..http(json!({}), &[]) };
            for request in [by_header.clone(), by_header, by_address] {
                assert_eq!(body(orders.submit(request).await)["data"]["version"], expected);
            }
            served[usize::try_from(expected - 1).unwrap()] += 1;
        }
        assert!(served.iter().all(|count| *count > 0));
    });
}
