//! The guards that a call passes at the called channel.

use serde_json::{Value, json};
use svc_channels::DataRequest;
use svc_model::Code;

use super::{call, get, run, try_get};
use crate::kit::{body, copy, empty_workflow, http, task};

#[test]
fn call_passes_only_rate_validation_and_capacity_guards() {
    let exempt = json!({
        "auth": {"mode": "api_key", "keys": ["k"]},
        "origin_allow_list": [],
        "deduplication": {"header": "x-tenant-id"},
        "cache": {"enabled": true},
    });
    run(async |world| {
        world.peer(
            "stock",
            exempt,
            json!([copy("metadata._svc_call_depth", "data.n"), task("hold", json!({}))]),
        );
        let orders = world.orders(json!({}), json!([get("stock")])).await;
        for _ in 0..2 {
            world.kit.hold.release();
            let request = http(json!({}), &[("origin", "https://a.example"), ("x-tenant-id", "t")]);
            assert_eq!(body(orders.submit(request).await)["data"]["got"]["n"], 1);
        }
        world.kit.hold.wait_for_entries(2).await;
    });
    for (config, code, text) in [
        (
            json!({"rate_limit": {"requests_per_second": 1, "burst": 1}}),
            Code::RateLimited,
            "Too many requests",
        ),
        (
            json!({"validation_logic": {"var": "data.ok"}}),
            Code::ValidationError,
            "channel 'stock' refused the call: Input validation failed",
        ),
        (json!({"backpressure": {"max_concurrent_per_node": 1}}), Code::ServiceUnavailable, "unavailable"),
    ] {
        run(async |world| {
            world.peer("stock", config.clone(), json!([task("hold", json!({}))]));
            let orders = world.orders(json!({}), json!([get("stock")])).await;
            let first = orders.clone();
            let first = actix_rt::spawn(async move { first.post(json!({"ok": true})).await });
            world.kit.hold.wait_for_entries(1).await;
            let refused = orders.post(json!({"ok": false})).await.unwrap_err();
            assert_eq!(refused.code(), code, "{config}");
            assert!(refused.message().contains(text), "{}", refused.message());
            let heals = matches!(code, Code::RateLimited | Code::ServiceUnavailable);
            assert_eq!(refused.retry_after(), heals.then_some(1), "{config}");
            world.kit.hold.release();
            assert!(first.await.unwrap().is_ok());
            let counted = world.kit.metrics_text();
            assert!(counted.contains(r#"svc_messages_total{channel="stock",status="error"} 1"#), "{counted}");
            assert!(counted.contains(r#"svc_messages_total{channel="stock",status="ok"} 1"#), "{counted}");
        });
    }
}

#[test]
fn a_calling_channel_is_one_caller() {
    run(async |world| {
        let limit = json!({"rate_limit": {"requests_per_second": 1, "burst": 1}});
        world.peer("stock", limit, empty_workflow());
        world.peer("other", json!({}), json!([get("stock")]));
        let mut other = get("other");
        other["id"] = json!("other");
        let orders = world.orders(json!({}), json!([try_get("stock"), other])).await;
        let first = DataRequest { client_ip: Some([192, 0, 2, 1].into()), ..http(json!({}), &[]) };
        let second = DataRequest { client_ip: Some([192, 0, 2, 2].into()), ..http(json!({}), &[]) };
        let answer = body(orders.submit(first).await);
        assert_eq!(answer["errors"], json!([]), "each of two channels has a bucket");
        let refused = orders.submit(second).await.unwrap_err();
        assert_eq!(refused.code(), Code::RateLimited, "whoever stands behind the calling channel");
        let page = world.kit.metrics_text();
        assert!(page.contains(r#"svc_rate_limit_rejections_total{scope="stock"} 2"#), "{page}");
    });
}

#[test]
fn rate_key_reads_caller_and_visible_headers() {
    run(async |world| {
        let limit =
            |logic: Value| json!({"rate_limit": {"requests_per_second": 1, "burst": 1, "key_logic": logic}});
        world.peer("tenant", limit(json!({"var": "headers.x-tenant-id"})), empty_workflow());
        world.peer(
            "caller",
            limit(json!({"cat": [{"var": "client_ip"}, {"var": "channel"}]})),
            empty_workflow(),
        );
        world.peer("masked", limit(json!({"var": "headers.authorization"})), empty_workflow());
        let tasks = json!([call(json!({"channel_logic": {"var": "payload"}, "output": "data.got"}))]);
        let orders = world.orders(json!({}), tasks).await;
        let ask = async |channel: &str, tenant: &str| {
            let headers = [("x-tenant-id", tenant), ("authorization", "Bearer x")];
            orders.submit(http(json!(channel), &headers)).await.map(drop).map_err(|error| error.code())
        };
        assert_eq!(ask("tenant", "a").await, Ok(()));
        assert_eq!(ask("tenant", "b").await, Ok(()));
        assert_eq!(ask("tenant", "b").await, Err(Code::RateLimited));
        assert_eq!(ask("caller", "a").await, Ok(()));
        assert_eq!(ask("caller", "b").await, Err(Code::RateLimited));
        assert_eq!(ask("masked", "a").await, Err(Code::RateLimited), "a mask is no key");
    });
}
