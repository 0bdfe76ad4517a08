//! Idempotency keys that an expression makes.

use std::sync::Arc;

use actix_supervision::Universe;
use serde_json::{Value, json};
use svc_channels::{ChannelActor, Settings};
use svc_model::Code;

use crate::kit::{Kit, Orders, empty_workflow, http, row};

#[test]
fn computed_key_wins_over_header_null_is_none() {
    Universe::new(1).run(async |tree| {
        let kit = Kit::new(Settings::default());
        let logic = json!({"var": "data.id"});
        let config = json!({"deduplication": {"header": "idempotency-key", "key_logic": logic}});
        let orders = kit.serve(&tree, config, &empty_workflow()).await;
        let send = async |id: Value, key: &str| {
            orders.submit(http(json!({"id": id}), &[("idempotency-key", key)])).await
        };
        assert!(send(json!("e-1"), "a").await.is_ok());
        let error = send(json!("e-1"), "b").await.unwrap_err();
        assert_eq!(error.message(), "Duplicate request: idempotency key 'e-1' already seen");
        assert!(send(json!("e-2"), "a").await.is_ok(), "the header has no say");
        for none in [json!(null), json!(" ")] {
            assert!(
                send(none.clone(), "c").await.is_ok() && send(none, "c").await.is_ok(),
                "no key, no check"
            );
        }
        let (one, other) = (json!({"a": 1, "b": 2}), json!({"b": 2, "a": 1}));
        assert!(send(one, "d").await.is_ok());
        assert_eq!(send(other, "e").await.unwrap_err().code(), Code::Conflict, "equal values are one key");
        for large in [u64::MAX, u64::MAX - 1] {
            assert!(send(json!(large), "g").await.is_ok(), "integers with one nearest double are two keys");
            assert_eq!(send(json!(large), "g").await.unwrap_err().code(), Code::Conflict);
        }
        let long = "x".repeat(10_000);
        assert!(send(json!(long), "f").await.is_ok());
        assert!(
            send(json!(long), "f").await.unwrap_err().message().len() < 200,
            "a long key is not repeated"
        );
    });
}

#[test]
fn key_that_cannot_be_computed_is_refused() {
    Universe::new(1).run(async |tree| {
        let kit = Kit::new(Settings::default());
        let config = json!({"deduplication": {"key_logic": {"throw": "nothing to tell by"}}});
        let orders = kit.serve(&tree, config, &empty_workflow()).await;
        let error = orders.post(json!({})).await.unwrap_err();
        assert_eq!(
            (error.status(), error.message()),
            (400, "The idempotency key of the request cannot be computed")
        );
    });
}

#[test]
fn computed_keys_outlive_rebuilds_of_the_same_expression() {
    Universe::new(1).run(async |tree| {
        let kit = Kit::new(Settings::default());
        let config = |logic| json!({"deduplication": {"key_logic": logic}});
        let (by_id, by_name) = (json!({"var": "data.id"}), json!({"var": "data.name"}));
        let first = kit.build(config(by_id.clone()), &empty_workflow()).unwrap();
        let build = |logic| {
            let mut config = config(logic);
            config["timeout_ms"] = json!(1000);
            kit.definition(&row(config), kit.flow(&empty_workflow()), Some(&first)).unwrap()
        };
        let (same, other) = (build(by_id), build(by_name));
        let orders = Orders::start(&tree, first).await;
        let replace = async |definition| {
            let factory = ChannelActor::factory(&Arc::new(definition));
            tree.replace(&orders.0, None, factory).await.unwrap().commit().await.unwrap();
        };
        let body = || json!({"id": 1, "name": 1});
        assert!(orders.post(body()).await.is_ok());
        replace(same).await;
        assert!(orders.post(body()).await.is_err());
        replace(other).await;
        assert!(orders.post(body()).await.is_ok());
    });
}
