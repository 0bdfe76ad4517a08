//! The limits that a connector sets to documents.

use serde_json::{Value, json};
use svc_engine::ErrorCode;

use super::{Base, Kind, change, open_shop, run, shop};
use crate::kit;

#[test]
fn disabled_operations_and_unlisted_entities_are_refused() {
    kit::run(async |world| {
        let mut base = Base::new(Kind::Sqlite).unwrap();
        open_shop(&mut base, world).await;
        let read = json!({"query": {"source": "client", "fields": ["id"]}, "schema": shop()});
        let identity =
            json!({"query": {"source": "clients"}, "schema": {"entities": {}, "unmapped": "identity"}});
        let plain = json!({"query": {"source": "clients"}});
        let wide = json!({"query": {"source": "client", "filter": {"some": [{"field": "tags"}, {"and": []}]}}, "schema": shop()});
        let refused = async |function: &str, input: &Value| match run(
            world,
            function,
            input.clone(),
            Value::Null,
        )
        .await
        {
            Ok(_) => None,
            Err(error) => Some((error.code, error.message)),
        };
        let denied = |answer: Option<(ErrorCode, String)>, part: &str| {
            let (code, message) = answer.unwrap();
            assert_eq!(code, ErrorCode::ConnectorDetail, "{message}");
            assert!(message.starts_with("connector 'c'") && message.contains(part), "{message}");
        };
        base.connect(world, json!({"dialect": {"require_schema": true}})).await;
        assert_eq!(refused("data_query", &read).await, None);
        for open in [&identity, &plain] {
            denied(refused("data_query", open).await, "requires a schema");
        }
        base.connect(world, json!({"dialect": {"allowed_entities": ["clients"]}})).await;
        for fine in [&read, &identity, &plain] {
            assert_eq!(refused("data_query", fine).await, None);
        }
        denied(refused("data_query", &wide).await, "does not allow the entity");
        denied(refused("data_query", &json!({"query": {"source": "orders"}})).await, "\"orders\"");
        base.connect(world, json!({"operations": {"read": false}})).await;
        denied(refused("data_query", &read).await, "read");
        let values = json!({"id": 9});
        for (op, more) in [
            ("insert", json!({"values": values})),
            ("update", json!({"set": {"name": "x"}, "filter": {"==": [{"field": "id"}, 1]}})),
            ("delete", json!({"filter": {"==": [{"field": "id"}, 1]}})),
            ("upsert", json!({"values": values, "on_conflict": {"target": ["id"]}})),
        ] {
            let mut write = json!({"op": op, "target": "clients"});
            write.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            base.connect(world, json!({"operations": { op: false }})).await;
            denied(refused("data_write", &json!({"write": write})).await, op);
            base.connect(world, json!({})).await;
            change(world, write).await;
        }
    });
}

#[test]
fn a_connector_of_another_type_carries_no_document_out() {
    kit::run(async |world| {
        world.put("c", "http", true, json!({"url": "http://127.0.0.1:1", "allow_private_urls": true})).await;
        let read = json!({"query": {"source": "t"}});
        let error = run(world, "data_query", read.clone(), Value::Null).await.unwrap_err();
        assert_eq!((error.code, error.retryable()), (ErrorCode::ConnectorDetail, false));
        world.put("c", "http", false, json!({"url": "http://127.0.0.1:1"})).await;
        assert_eq!(run(world, "data_query", read, Value::Null).await.unwrap_err().code, ErrorCode::Function);
    });
}
