use std::collections::BTreeSet;

use super::*;
use crate::bounds::limits::EngineLimits;
use crate::expression::Evaluator;
use crate::operators::DeclaredSecrets;

fn evaluator() -> Evaluator {
    Evaluator::new(
        DeclaredSecrets::from_iter([("token".to_owned(), json!("s3cret"))]),
        &EngineLimits::default(),
    )
}

#[test]
fn list_holds_exactly_the_operators_of_the_engine() {
    let evaluated: BTreeSet<_> = evaluator().names().into_iter().collect();
    assert_eq!(names().map(str::to_owned).collect::<BTreeSet<_>>(), evaluated);
    assert_eq!(names().count(), evaluated.len(), "each once");
}

#[test]
fn every_example_evaluates_to_its_result() {
    let evaluator = evaluator();
    let mut wrong = Vec::new();
    for operator in all() {
        let logic: Value = serde_json::from_str(operator.example).expect(operator.name);
        assert!(
            operator.example.contains(&format!("\"{}\":", operator.name)),
            "{} shows itself",
            operator.name
        );
        let expression = evaluator.compile_syntax(&logic).expect(operator.name);
        let result = evaluator.evaluate_roots(&expression, &[("data", &operator.example_data())]);
        let expected = operator.example_result();
        if result.is_err() || expected.is_some_and(|expected| result != Ok(expected)) {
            wrong.push(format!("{}: {result:?}", operator.name));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn every_row_tells_its_arity_and_a_description() {
    for row in to_json().as_array().unwrap() {
        assert!(row["description"].as_str().is_some_and(|text| text.len() > 5), "{row}");
        let (min, max) = (row["arity"]["min"].as_u64().unwrap(), row["arity"]["max"].as_u64());
        assert!(max.is_none_or(|max| min <= max), "{row}");
        assert!(row["category"] != "" && row["example"]["logic"].is_object(), "{row}");
    }
}

#[test]
fn a_strict_operator_gives_nothing_outside_its_arity() {
    let evaluator = evaluator();
    for operator in all().filter(|operator| operator.is_strict) {
        let outside = [operator.least.checked_sub(1), (operator.most != MANY).then(|| operator.most + 1)];
        for count in outside.into_iter().flatten() {
            let logic = json!({ operator.name: vec![json!("a"); count] });
            let failed = evaluator
                .compile_syntax(&logic)
                .and_then(|expression| evaluator.evaluate_roots(&expression, &[]));
            assert!(
                failed.as_ref().map_or(true, Value::is_null),
                "{} with {count}: {failed:?}",
                operator.name
            );
        }
    }
}

#[test]
fn every_added_operator_is_listed() {
    assert_eq!(names().count() - ADDED.len(), 76, "the operators of 0.1.0");
    assert!(ADDED.iter().all(|name| find(name).is_some()));
}

#[test]
fn misspelt_and_foreign_operators_are_not_data() {
    for (name, operator) in
        [("inn", "in"), ("conct", "cat"), ("concat", "cat"), ("=", "=="), ("not", "!"), ("flter", "filter")]
    {
        assert_eq!(suggest_operator(name), Some(operator), "{name}");
    }
    assert_eq!(suggest_operator("customer"), None);
    assert!(FOREIGN.iter().all(|(name, operator)| find(operator).is_some() && find(name).is_none()));
}
