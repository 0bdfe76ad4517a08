//! Rate limits, and the callers that share a bucket.

use std::time::Duration;

use actix_supervision::{ChildSpec, Placement, Universe};
use serde_json::{Value, json};
use svc_channels::{ChannelActor, DataRequest, Settings};
use svc_model::{Code, ServiceError};

use crate::kit::{Kit, Orders, empty_workflow, http, row, token, token_auth};

async fn from(orders: &Orders, address: &str, headers: &[(&str, &str)]) -> Result<(), ServiceError> {
    let request = DataRequest { client_ip: Some(address.parse().unwrap()), ..http(json!({}), headers) };
    orders.submit(request).await.map(drop)
}

fn limit(key_logic: Value) -> Value {
    json!({"rate_limit": {"requests_per_second": 1, "burst": 2, "key_logic": key_logic}})
}

#[test]
fn each_caller_has_a_refilling_bucket() {
    Universe::new(1).run(async |tree| {
        let kit = Kit::new(Settings::default());
        let config = json!({"rate_limit": {"requests_per_second": 1, "burst": 2}});
        let orders = kit.serve(&tree, config, &empty_workflow()).await;
        for _ in 0..2 {
            assert!(from(&orders, "192.0.2.1", &[]).await.is_ok());
        }
        let error = from(&orders, "192.0.2.1", &[]).await.unwrap_err();
        assert_eq!(
            (error.code(), error.message(), error.retry_after()),
            (Code::RateLimited, "Too many requests", Some(1))
        );
        assert!(from(&orders, "192.0.2.2", &[]).await.is_ok(), "another caller");
        tokio::time::advance(Duration::from_millis(1001)).await;
        assert!(from(&orders, "192.0.2.1", &[]).await.is_ok(), "a second later");
        let page = kit.metrics_text();
        assert!(page.contains(r#"svc_rate_limit_rejections_total{scope="orders"} 1"#), "{page}");
    });
}

#[test]
fn expression_makes_bucket_from_address_channel_and_headers() {
    Universe::new(1).run(async |tree| {
        let kit = Kit::new(Settings::default());
        let parts = ["client_ip", "channel", "headers.authorization", "headers.x-mine", "headers.x-other"];
        let parts: Vec<_> = parts.iter().map(|path| json!({"var": path})).collect();
        let mut config = limit(json!({"merge": parts}));
        config["rate_limit"]["key_headers"] = json!(["X-Mine"]);
        let orders = kit.serve(&tree, config, &empty_workflow()).await;
        let base = [("authorization", "a"), ("x-mine", "m"), ("x-other", "o")];
        for _ in 0..2 {
            assert!(from(&orders, "192.0.2.1", &base).await.is_ok());
        }
        let other_hidden = [("authorization", "a"), ("x-mine", "m"), ("x-other", "changed"), ("cookie", "c")];
        assert!(from(&orders, "192.0.2.1", &other_hidden).await.is_err(), "the same bucket");
        for (address, headers) in [
            ("192.0.2.2", base),
            ("192.0.2.1", [("authorization", "b"), ("x-mine", "m"), ("x-other", "o")]),
            ("192.0.2.1", [("authorization", "a"), ("x-mine", "n"), ("x-other", "o")]),
        ] {
            assert!(from(&orders, address, &headers).await.is_ok(), "{address} {headers:?}");
        }
    });
}

#[test]
fn header_order_does_not_change_the_bucket() {
    for logic in [json!({"var": "headers"}), json!({"cat": [{"var": "headers"}]})] {
        Universe::new(1).run(async |tree| {
            let kit = Kit::new(Settings::default());
            let mut config = limit(logic.clone());
            config["auth"] = token_auth();
            config["principal_rate_limit"] =
                json!({"requests_per_second": 1, "burst": 2, "key_logic": logic.clone()});
            config["rate_limit"]["burst"] = json!(3);
            let orders = kit.serve(&tree, config, &empty_workflow()).await;
            let token = token(json!({"sub": "u-1"}));
            let mut headers = vec![
                ("authorization", token.as_str()),
                ("user-agent", "a"),
                ("origin", "https://a"),
                ("x-tenant-id", "t"),
            ];
            let mut allowed = Vec::new();
            for _ in 0..4 {
                allowed.push(from(&orders, "192.0.2.1", &headers).await.is_ok());
                headers.rotate_left(1);
            }
            assert_eq!(allowed, [true, true, false, false], "{logic}");
            let page = kit.metrics_text();
            let counted = r#"svc_rate_limit_rejections_total{scope="orders"} 2"#;
            assert!(page.contains(counted), "the quota refused one, the limit the other: {page}");
        });
    }
}

#[test]
fn caller_without_key_is_refused_without_bucket() {
    for logic in [
        json!({"var": "headers.x-tenant-id"}),
        json!({"cat": [" ", {"var": "headers.x-tenant-id"}]}),
        json!({"throw": "no key"}),
    ] {
        Universe::new(1).run(async |tree| {
            let kit = Kit::new(Settings::default());
            let orders = kit.serve(&tree, limit(logic.clone()), &empty_workflow()).await;
            let error = from(&orders, "192.0.2.1", &[]).await.unwrap_err();
            assert_eq!((error.code(), error.retry_after()), (Code::RateLimited, Some(1)), "{logic}");
            let page = kit.metrics_text();
            let counted = r#"svc_rate_limit_key_unavailable_total{channel="orders"} 1"#;
            assert!(page.contains(counted) && !page.contains("svc_rate_limit_rejections_total{"), "{page}");
        });
    }
}

#[test]
fn quota_is_per_principal_and_refusal_refunds_nothing() {
    Universe::new(1).run(async |tree| {
        let kit = Kit::new(Settings::default());
        let config = json!({
            "auth": token_auth(),
            "rate_limit": {"requests_per_second": 1, "burst": 4},
            "principal_rate_limit": {"requests_per_second": 1, "burst": 1, "key_logic": {"var": "auth.claims.sub"}},
        });
        let orders = kit.serve(&tree, config, &empty_workflow()).await;
        let (one, other) = (token(json!({"sub": "u-1"})), token(json!({"sub": "u-2"})));
        let call = async |token: &str| {
            let headers = [("authorization", token)];
            from(&orders, "192.0.2.1", &headers).await.map_err(|error| error.code())
        };
        assert_eq!(call(&one).await, Ok(()));
        assert_eq!(call(&one).await, Err(Code::RateLimited), "the principal's own quota");
        assert_eq!(call(&other).await, Ok(()));
        assert_eq!(call("Bearer junk").await, Err(Code::Unauthorized));
        assert_eq!(call("Bearer junk").await, Err(Code::RateLimited), "refused calls spent the limit");
    });
}

#[test]
fn buckets_outlive_a_rebuild_that_leaves_their_settings_alone() {
    let before = limit(json!({"var": "client_ip"}));
    let mut rule = before.clone();
    rule["validation_logic"] = json!(true);
    let mut backend = before.clone();
    backend["rate_limit"]["on_backend_error"] = json!("deny");
    let mut faster = before.clone();
    faster["rate_limit"]["requests_per_second"] = json!(2);
    let mut other = before.clone();
    other["rate_limit"]["key_logic"] = json!({"cat": [{"var": "client_ip"}]});
    for (after, kept) in [(rule, true), (backend, true), (faster, false), (other, false)] {
        Universe::new(1).run(async |tree| {
            let kit = Kit::new(Settings::default());
            let first = kit.build(before.clone(), &empty_workflow()).unwrap();
            let next =
                kit.definition(&row(after.clone()), kit.flow(&empty_workflow()), Some(&first)).unwrap();
            let orders = Orders::start(&tree, first).await;
            for _ in 0..2 {
                assert!(from(&orders, "192.0.2.1", &[]).await.is_ok());
            }
            let factory = ChannelActor::factory(&std::sync::Arc::new(next));
            tree.replace(&orders.0, None, factory).await.unwrap().commit().await.unwrap();
            assert_eq!(from(&orders, "192.0.2.1", &[]).await.is_err(), kept, "{after}");
        });
    }
}

#[test]
fn channels_of_a_group_share_their_buckets() {
    Universe::new(1).run(async |tree| {
        let kit = Kit::new(Settings::default());
        let block = json!({"rate_limit": {"requests_per_second": 1, "burst": 2, "group": "api"}});
        let orders = kit.serve(&tree, block.clone(), &empty_workflow()).await;
        let serve = async |path: &str, config: Value| {
            let factory =
                ChannelActor::factory(&std::sync::Arc::new(kit.build(config, &empty_workflow()).unwrap()));
            Orders(tree.spawn(path, ChildSpec::new(), Placement::Here, factory).await.unwrap())
        };
        let sibling = serve("channels/sibling", block.clone()).await;
        let mut apart = block;
        apart["rate_limit"]["group"] = json!("other");
        let apart = serve("channels/apart", apart).await;
        assert!(from(&orders, "192.0.2.1", &[]).await.is_ok());
        assert!(from(&sibling, "192.0.2.1", &[]).await.is_ok());
        for channel in [&orders, &sibling] {
            assert_eq!(from(channel, "192.0.2.1", &[]).await.unwrap_err().code(), Code::RateLimited);
            assert!(from(channel, "192.0.2.2", &[]).await.is_ok(), "another caller");
        }
        assert!(from(&apart, "192.0.2.1", &[]).await.is_ok(), "another group");
    });
}

#[test]
fn answers_and_refusals_report_the_rest() {
    Universe::new(1).run(async |tree| {
        let kit = Kit::new(Settings::default());
        let config = json!({
            "rate_limit": {"requests_per_second": 2, "burst": 3},
            "response": {"rate_limit_headers": true},
        });
        let orders = kit.serve(&tree, config, &empty_workflow()).await;
        for (left, reset) in [(2, 1), (1, 1), (0, 2)] {
            let answer = orders.post(json!({})).await.unwrap();
            let state =
                answer.headers.iter().find(|(name, _)| name == "ratelimit").map(|(_, value)| &**value);
            assert_eq!(state, Some(format!(r#""rate_limit";r={left};t={reset}"#).as_str()));
        }
        let refused = orders.post(json!({})).await.unwrap_err();
        assert_eq!(refused.code(), Code::RateLimited);
        let expected = [
            ("ratelimit-policy", r#""rate_limit";q=3;w=2"#.to_owned()),
            ("ratelimit", r#""rate_limit";r=0;t=2"#.to_owned()),
        ];
        assert_eq!(refused.headers(), expected);
    });
}
