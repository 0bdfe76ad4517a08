//! The values of environments: checked against what a project names, and never compiled in.

use serde_json::json;

use super::directory::{Directory, PACKAGE};
use super::kit::{CHANNEL, CONNECTOR, Files, note};

/// Returns a project that reads values and a secret.
fn reading() -> Files {
    Files::default()
        .set(CONNECTOR, "/config/connection_string", json!("var://database"))
        .set(CHANNEL, "/config", json!({"timeout_ms": "var://timeout"}))
        .tasks(json!([
            note("region", &json!({"var": "metadata.vars.region"})),
            note("zone", &json!({"var": ["metadata.vars.zone", "none"]})),
            note("key", &json!({"secret": "signing"})),
        ]))
}

#[test]
fn fitting_values_stay_out_of_the_package() {
    let directory = Directory::new(&reading());
    let values = "vars:\n  database: sqlite:prod.db\n  timeout: 500\n  region: eu\nsecrets: [signing]\n";
    directory.write("src/values/prod.yaml", values);
    let ran = directory.run("lint src --values prod");
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(!ran.err.contains("values/prod.yaml"), "{ran:?}");
    let ran = directory.run("lint src --values src/values/prod.yaml");
    assert_eq!(ran.code, 0, "{ran:?}");
    let ran = directory.run(PACKAGE);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.out.contains("var://timeout") && !ran.out.contains("prod.db"), "{}", ran.out);
}

#[test]
fn undeclared_names_and_wrong_types_are_found() {
    let directory = Directory::new(&reading());
    directory.write("src/values/test.yaml", "vars: {timeout: soon, other: 1}\nsecrets: []\n");
    let ran = directory.run("lint src --values test");
    assert_eq!(ran.code, 1, "{ran:?}");
    for part in [
        "error: [values.undeclared] connector 'shop'",
        "var://database is not declared in [vars]; declared: other, timeout",
        "error: [values.type] channel 'orders'",
        "config.timeout_ms: config does not match the channel schema: expected integer, got string",
        "metadata.vars.region is not declared",
        "the secret 'signing' is not declared",
    ] {
        assert!(ran.err.contains(part), "{part}: {}", ran.err);
    }
    assert!(!ran.err.contains("zone"), "a read with a default needs no value: {}", ran.err);
    assert_eq!(directory.run("lint src").code, 0, "without values there is nothing to compare with");
}

#[test]
fn malformed_values_are_refused_with_nearest_key() {
    let directory = Directory::new(&reading());
    directory.write("src/values/prod.yaml", "vars: {a-b: 1}\n");
    let ran = directory.run("lint src");
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.err.contains("[values.form] values/prod.yaml: vars.a-b: a name is letters"), "{}", ran.err);
    directory.write("misspelt.yaml", "vrs: {a: 1}\n");
    let ran = directory.run("lint src --values misspelt.yaml");
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.err.contains("vrs: unknown field, did you mean 'vars'?"), "{}", ran.err);
    assert_eq!(directory.run("lint src --values gone").code, 1);
}

#[test]
fn cases_run_with_the_values_of_the_environment() {
    let directory = Directory::new(
        &Files::default().tasks(json!([note("region", &json!({"var": "metadata.vars.region"}))])),
    );
    directory.write("src/values/prod.yaml", "vars: {region: eu}\n");
    let case = json!({"workflow": "../workflows/orders.json", "input": {}, "expect": {"data.note": "eu"}});
    directory.write("src/tests/region.case.json", &case.to_string());
    assert_eq!(directory.run("test src/tests --definitions src").code, 1, "nothing declares the region");
    let ran = directory.run("test src/tests --definitions src --values prod");
    assert_eq!(ran.code, 0, "{ran:?}");
    let mut other = case;
    other["metadata"] = json!({"vars": {"region": 5}});
    directory.write("src/tests/region.case.json", &other.to_string());
    let ran = directory.run("test src/tests --definitions src --values prod");
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.out.contains("metadata.vars.region") && ran.out.contains("another type"), "{}", ran.out);
}
