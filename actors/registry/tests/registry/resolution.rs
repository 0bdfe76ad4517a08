//! From paths to channels.

use serde_json::{Value, json};
use svc_model::{ChannelContent, Protocol, ServiceError};
use svc_registry::{ReloadScope, Snapshot};

use crate::kit::{channel, run};

/// The name a path and method lead to, with what the route captured.
fn leads(snapshot: &Snapshot, path: &str, method: &str) -> Result<(String, Value), ServiceError> {
    let resolution = snapshot.resolve(path, method)?;
    let name = resolution.callable_channel()?.name().to_owned();
    Ok((name, resolution.params.into()))
}

fn with_priority(priority: i64, content: ChannelContent) -> ChannelContent {
    ChannelContent { priority, ..content }
}

#[test]
fn paths_lead_where_the_rules_say() {
    run(vec![], async |world| {
        world.workflow("w", "w").await;
        for content in [
            channel("orders", &["POST", "GET"], "/orders"),
            channel("order", &["GET"], "/orders/{id}"),
            channel("order-lines", &["GET"], "/orders/{id}/lines/{line}"),
            with_priority(5, channel("special", &["GET"], "/orders/special")),
            with_priority(-5, channel("demoted", &["GET"], "/orders/demoted")),
            channel("z-first", &["GET"], "/tie/{a}/c"),
            channel("a-second", &["GET"], "/tie/b/{d}"),
            with_priority(1, channel("override", &["PUT"], "/orders/{any}")),
            channel("order-put", &["PUT"], "/orders/{key}"),
            channel("ünï", &["GET"], "/Straße/{x}"),
            channel("name only", &["GET"], "/elsewhere"),
            ChannelContent {
                protocol: Protocol::Kafka,
                topic: Some("t".into()),
                ..channel("kafka", &["GET"], "/not/a/route")
            },
        ] {
            world.channel(content).await;
        }
        let running = world.start().await;
        let snapshot = running.registry.snapshot();
        let none = json!({});
        for (path, method, name, params) in [
            ("/orders", "POST", "orders", none.clone()),
            ("orders", "post", "orders", none.clone()),
            ("//orders/", "GET", "orders", none.clone()),
            ("/orders", "HEAD", "orders", none.clone()),
            ("/orders/7", "GET", "order", json!({"id": "7"})),
            ("/orders/7", "HEAD", "order", json!({"id": "7"})),
            ("/orders/a%2Fb", "GET", "order", json!({"id": "a/b"})),
            ("/orders/%7B%7D", "GET", "order", json!({"id": "{}"})),
            ("/orders/7%2Flines%2F1", "GET", "order", json!({"id": "7/lines/1"})),
            ("/orders/7/lines/1", "GET", "order-lines", json!({"id": "7", "line": "1"})),
            ("/orders/special", "GET", "special", none.clone()),
            ("/orders/demoted", "GET", "order", json!({"id": "demoted"})),
            ("/tie/b/c", "GET", "a-second", json!({"d": "c"})),
            ("/tie/x/c", "GET", "z-first", json!({"a": "x"})),
            ("/orders/7", "PUT", "override", json!({"any": "7"})),
            ("/Stra%C3%9Fe/1", "GET", "ünï", json!({"x": "1"})),
            // No route: a single segment is a name, which takes POST and the methods that the channel
            // declares.
            ("/special", "POST", "special", none.clone()),
            ("/special", "get", "special", none.clone()),
            ("/special", "HEAD", "special", none.clone()),
            ("/name%20only", "POST", "name only", none.clone()),
            ("/%20name%20only%20", "GET", "name only", none.clone()),
            ("/kafka", "POST", "kafka", none.clone()),
        ] {
            let (found, captured) =
                leads(&snapshot, path, method).unwrap_or_else(|error| panic!("{method} {path}: {error}"));
            assert_eq!((found.as_str(), captured), (name, params), "{method} {path}");
        }
        for (path, method, status) in [
            ("", "POST", 400),
            ("/", "POST", 400),
            (" / ", "POST", 400),
            ("/%zz", "POST", 400),
            ("/a/%ff", "POST", 400),
            ("/%20", "POST", 400),
            ("/Orders/7", "GET", 404),
            ("/orders/7", "DELETE", 405),
            ("/orders", "DELETE", 405),
            ("/special", "DELETE", 405),
            ("/kafka", "GET", 405),
            ("/orders/7/lines", "GET", 404),
            ("/orders//lines/1", "GET", 404),
            ("/not/a/route", "GET", 404),
            ("/nobody", "POST", 404),
        ] {
            assert_eq!(leads(&snapshot, path, method).unwrap_err().status(), status, "{method} {path:?}");
        }
    });
}

#[test]
fn wrong_method_is_refused_with_allowed_ones() {
    run(vec![], async |world| {
        world.workflow("w", "w").await;
        for content in [
            channel("orders", &["GET", "POST"], "/orders/{id}"),
            channel("order-put", &["PUT"], "/orders/{key}"),
            channel("report", &["GET"], "/reports/daily"),
            channel("one", &["PATCH"], "/named"),
            channel("named", &["GET"], "/elsewhere/{x}"),
        ] {
            world.channel(content).await;
        }
        let mut closed = channel("closed", &["GET"], "/open/{x}");
        closed.config = json!({"request": {"by_name": false}});
        world.channel(closed).await;
        let running = world.start().await;
        let snapshot = running.registry.snapshot();
        for (path, method, allow) in [
            ("/orders/7", "DELETE", "GET, HEAD, POST, PUT"),
            ("/orders/7/async", "GET", "POST"),
            ("/reports/daily", "POST", "GET, HEAD"),
            ("/report", "PUT", "GET, HEAD, POST"),
            ("/report/async", "DELETE", "POST"),
            ("/reports/daily/async", "GET", "POST"),
            ("/named", "DELETE", "GET, HEAD, PATCH, POST"),
        ] {
            let refused = leads(&snapshot, path, method).unwrap_err();
            assert_eq!((refused.status(), refused.allow()), (405, Some(allow)), "{method} {path}");
        }
        for path in ["/closed", "/closed/async"] {
            for method in ["GET", "POST"] {
                assert_eq!(leads(&snapshot, path, method).unwrap_err().status(), 404, "{method} {path}");
            }
        }
        assert_eq!(leads(&snapshot, "/open/1", "GET").unwrap().0, "closed");
        assert_eq!(leads(&snapshot, "/report/async", "POST").unwrap().0, "report");
        assert_eq!(leads(&snapshot, "/reports/daily/async", "POST").unwrap().0, "report");
        // The route that takes POST itself comes first.
        assert_eq!(leads(&snapshot, "/orders/7/async", "POST").unwrap().0, "orders");
    });
}

#[test]
fn final_async_segment_marks_a_submission() {
    run(vec![], async |world| {
        world.workflow("w", "w").await;
        world.channel(channel("orders", &["POST"], "/orders/{id}")).await;
        world.channel(channel("async", &["POST"], "/elsewhere")).await;
        let running = world.start().await;
        let snapshot = running.registry.snapshot();
        for (path, name, marked) in [
            ("/orders/7/async", "orders", true),
            ("/orders/async", "orders", true),
            ("/orders/7", "orders", false),
            ("/async", "async", false),
            ("/async/async", "async", true),
        ] {
            let resolution = snapshot.resolve(path, "POST").unwrap();
            assert_eq!(
                (resolution.callable_channel().unwrap().name(), resolution.is_async),
                (name, marked),
                "{path}"
            );
        }
    });
}

#[test]
fn quarantined_channel_refuses_name_route_and_schedule() {
    run(vec![], async |world| {
        world.workflow("w", "w").await;
        let broken =
            ChannelContent { config: json!({"cors": {}}), ..channel("broken", &["POST"], "/b/{id}") };
        world.channel(broken).await;
        let nightly = ChannelContent {
            protocol: Protocol::Cron,
            methods: None,
            route_pattern: None,
            transport_config: json!({"schedule": "0 0 3 * * *"}),
            ..channel("nightly", &[], "")
        };
        world.channel(nightly).await;
        let running = world.start().await;
        for path in ["/broken", "/b/1"] {
            let error = running.post(path).await.unwrap_err();
            assert_eq!((error.status(), error.retry_after()), (503, None), "{path}");
            assert_eq!(error.message(), "Channel is unavailable");
        }
        let reason = running.reason("broken").unwrap();
        assert!(reason.contains("config_json does not parse"), "{reason}");
        // Path faults come before, so the body can be looked at in between.
        assert!(running.registry.snapshot().resolve("/b/1", "POST").is_ok());
        assert_eq!(running.post("/nightly").await.unwrap_err().status(), 503);
        assert_eq!(running.reason("nightly").unwrap(), "cron scheduler disabled");
        assert_eq!(running.registry.snapshot().cron_count(), 1);
        world.archive_channel("nightly").await;
        running.registry.reload(ReloadScope::channel("nightly")).await.unwrap();
        assert_eq!(running.registry.snapshot().cron_count(), 0);
    });
}
