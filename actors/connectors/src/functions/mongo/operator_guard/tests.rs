use super::*;

/// Resolves an input over a message.
fn resolve(source: Value, place: InputContext, message: &Value) -> Result<Value, String> {
    let node = Node::compile(&source, &Template::compile);
    let bound = GuardedInput { name: "in", place, node };
    let mut over = svc_engine::Message::new(Value::Null, Map::new());
    over.data = message.clone();
    bound.resolve_with(&|template| template.resolve(&over)).map_err(|error| error.message)
}

fn attacks() -> Vec<Value> {
    vec![
        json!({"$ne": null}),
        json!({"$gt": ""}),
        json!({"$where": "while(true){}"}),
        json!({"$function": {"body": "function(){}", "args": [], "lang": "js"}}),
        json!({"$regularExpression": {"pattern": ".*", "options": ""}}),
        json!({"$regex": ".*"}),
        json!({"$code": "function(){}"}),
        json!({"$oid": "5f0000000000000000000000", "$ne": 1}),
        json!([{"$ne": 1}]),
        json!({"a": {"b": [{"$expr": true}]}}),
    ]
}

#[test]
fn message_value_is_compared_literally() {
    for attack in attacks() {
        let message = json!({"x": attack});
        let found = resolve(json!({"name": {"var": "data.x"}}), InputContext::Query, &message);
        assert_eq!(found, Ok(json!({"name": {"$eq": attack}})));
        let nested = json!({"$or": [{"$and": [{"name": {"var": "data.x"}}]}]});
        let found = resolve(nested, InputContext::Query, &message);
        assert_eq!(found, Ok(json!({"$or": [{"$and": [{"name": {"$eq": attack}}]}]})));
        let resolution = resolve(json!({"name": {"$eq": {"var": "data.x"}}}), InputContext::Query, &message);
        assert_eq!(resolution, Ok(json!({"name": {"$eq": attack}})));
    }
}

#[test]
fn operator_object_is_refused_where_no_value_fits() {
    for attack in attacks() {
        let message = json!({"x": attack});
        for (source, place) in [
            (json!({"name": {"$in": [{"var": "data.x"}]}}), InputContext::Query),
            (json!({"name": {"$not": {"var": "data.x"}}}), InputContext::Query),
            (json!({"name": {"$elemMatch": {"var": "data.x"}}}), InputContext::Query),
            (json!({"name": {"$gt": {"var": "data.x"}}}), InputContext::Query),
            (json!({"$and": [{"var": "data.x"}]}), InputContext::Query),
            (json!({"$where": {"var": "data.x"}}), InputContext::Query),
            (json!({"$push": {"tags": {"var": "data.x"}}}), InputContext::Update),
            (json!({"$pull": {"tags": {"var": "data.x"}}}), InputContext::Update),
            (json!({"name": {"var": "data.x"}}), InputContext::Sealed),
        ] {
            let refused = resolve(source.clone(), place, &message).unwrap_err();
            assert!(
                refused.starts_with("in.") && refused.contains("the message brings"),
                "{source}: {refused}"
            );
        }
    }
}

#[test]
fn message_value_is_literal_in_an_expression() {
    let stage = json!([{"$set": {"note": {"var": "data.x"}}}, {"$match": {"$expr": {"$eq": ["$a", {"var": "data.x"}]}}}]);
    let texts = [json!("$password"), json!(["$$ROOT"]), json!({"a": "$b"})];
    for attack in attacks().into_iter().chain(texts) {
        let resolution = resolve(stage.clone(), InputContext::Expression, &json!({"x": attack}));
        let literal = json!({"$literal": attack});
        let expected = json!([{"$set": {"note": literal}}, {"$match": {"$expr": {"$eq": ["$a", literal]}}}]);
        assert_eq!(resolution, Ok(expected));
    }
    let matched = json!([{"$match": {"price": {"var": "data.x"}}}]);
    let outcome = resolve(matched, InputContext::Expression, &json!({"x": "$5"}));
    assert_eq!(outcome, Ok(json!([{"$match": {"price": "$5"}}])), "a text is a text where no expression is");
}

#[test]
fn typed_values_and_plain_ones_pass_everywhere() {
    let id = json!({"$oid": "5f0000000000000000000000"});
    for value in
        [id, json!({"$date": "2024-01-01T00:00:00Z"}), json!(7), json!(null), json!({"a": [1]}), json!("x")]
    {
        let message = json!({"x": value});
        for (source, place) in [
            (json!({"a": {"var": "data.x"}}), InputContext::Query),
            (json!({"a": {"$in": [{"var": "data.x"}]}}), InputContext::Query),
            (json!({"$set": {"a": {"var": "data.x"}}}), InputContext::Update),
            (json!({"$push": {"a": {"var": "data.x"}}}), InputContext::Update),
            (json!([{"$match": {"a": {"var": "data.x"}}}]), InputContext::Expression),
            (json!([{"$limit": {"var": "data.x"}}]), InputContext::Expression),
            (json!({"a": {"var": "data.x"}}), InputContext::Sealed),
        ] {
            let expected = source.to_string().replace(r#"{"var":"data.x"}"#, &value.to_string());
            assert_eq!(resolve(source, place, &message).map(|found| found.to_string()), Ok(expected));
        }
    }
}

#[test]
fn a_field_that_is_set_takes_any_value() {
    for attack in attacks() {
        let resolution =
            resolve(json!({"$set": {"a": {"var": "data.x"}}}), InputContext::Update, &json!({"x": attack}));
        assert_eq!(resolution, Ok(json!({"$set": {"a": attack}})));
    }
}

#[test]
fn whole_input_may_hold_operators_but_no_code() {
    let whole = json!({"var": "data.x"});
    let filter = json!({"age": {"$gte": 18}});
    assert_eq!(resolve(whole.clone(), InputContext::Query, &json!({"x": filter})), Ok(filter));
    for operator in CODE {
        let message = json!({"x": {"$or": [{"a": {operator: "1"}}]}});
        let refused = resolve(whole.clone(), InputContext::Query, &message).unwrap_err();
        assert!(refused.contains(operator), "{refused}");
    }
}

#[test]
fn authored_operators_are_kept() {
    let written = json!({"$where": "this.a", "name": {"$regex": "^x"}, "var": 1, "b": {"var": "data.x"}});
    let resolution = resolve(written, InputContext::Query, &json!({"x": 1}));
    assert_eq!(resolution, Ok(json!({"$where": "this.a", "name": {"$regex": "^x"}, "var": 1, "b": 1})));
}
