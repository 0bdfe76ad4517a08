//! Comparison of the members and parameters that the document describes with those that the server takes.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use svc_testkit::http::HttpClient;

use crate::support::{channel, echo, echo_workflow, error, start};

/// A member that is far from every known one, so that its refusal lists them all.
const UNKNOWN: &str = "qqqqqqqqqqqqqqqq";
/// A value that no typed parameter takes.
const NO_VALUE: &str = "!";

/// An operation of the document.
struct Operation<'d> {
    document: &'d Value,
    method: String,
    path: String,
    description: &'d Value,
}

#[test]
fn described_members_of_bodies_are_those_that_are_taken() {
    let server = start();
    let mut client = server.client();
    let document = client.get("/api/v1/openapi.json").unwrap().json();
    prepare(&mut client);
    let mut compared = 0;
    for operation in operations(&document) {
        let described = member_names(operation.body_schema());
        if described.is_empty() {
            continue;
        }
        let answer = client.json(&operation.method, &operation.path, &json!({UNKNOWN: 1})).unwrap();
        let id = &operation.description["operationId"];
        let members =
            known_members(&error(&answer, 400, "VALIDATION_ERROR")).unwrap_or_else(|| panic!("{id}"));
        let untaken: Vec<_> = described.difference(&members).collect();
        assert!(untaken.is_empty(), "{id} describes {untaken:?} and refuses it");
        // What a read shows is taken and has no effect.
        let shown = member_names(operation.answer_schema());
        let undescribed: Vec<_> =
            members.difference(&described).filter(|name| !shown.contains(*name)).collect();
        assert!(undescribed.is_empty(), "{id} takes {undescribed:?} and does not describe it");
        compared += 1;
    }
    assert_eq!(compared, 40, "operations whose body is an object");
}

#[test]
fn described_parameters_are_read_strictly() {
    let server = start();
    let mut client = server.client();
    let document = client.get("/api/v1/openapi.json").unwrap().json();
    let mut refused = 0;
    for operation in operations(&document) {
        for parameter in operation.description["parameters"].as_array().into_iter().flatten() {
            let schema = &parameter["schema"];
            let schema = if schema["type"] == "array" { &schema["items"] } else { schema };
            let is_text =
                schema["type"] == "string" && schema["format"].is_null() && schema["enum"].is_null();
            if parameter["in"] != "query" || is_text {
                continue;
            }
            let name = parameter["name"].as_str().unwrap();
            let path = format!("{}?{name}={NO_VALUE}", operation.path);
            let body = operation.example();
            let answer = match body {
                Some(body) => client.json(&operation.method, &path, body).unwrap(),
                None => client.send(&operation.method, &path, &[], b"").unwrap(),
            };
            let refusal = error(&answer, 400, "VALIDATION_ERROR");
            let message = refusal["message"].as_str().unwrap();
            assert!(message.contains(name), "{} {path}: {message}", operation.method);
            refused += 1;
        }
    }
    assert!(refused > 60, "{refused}");
}

/// Makes what the paths of the examples name.
fn prepare(client: &mut HttpClient) {
    echo(client, "served", json!({}));
    let crm = json!({"id": "crm", "name": "crm", "connector_type": "http", "config": {"url": "https://a.example.com"}});
    for (path, draft) in [
        ("workflows", echo_workflow("greeting")),
        ("channels", channel("greetings", "greeting", json!({}))),
        ("connectors", crm),
    ] {
        assert_eq!(client.json("POST", &format!("/api/v1/admin/{path}"), &draft).unwrap().status, 201);
    }
}

/// Lists the admin operations, with the examples of their path parameters in place.
fn operations(document: &Value) -> impl Iterator<Item = Operation<'_>> {
    let admin = document["paths"].as_object().unwrap().iter().filter(|(path, _)| path.contains("/admin/"));
    admin.flat_map(move |(template, item)| {
        item.as_object().unwrap().iter().map(move |(method, description)| {
            let mut path = template.clone();
            for parameter in description["parameters"].as_array().into_iter().flatten() {
                if let (Some(name), Some(example)) =
                    (parameter["name"].as_str(), parameter["example"].as_str())
                {
                    path = path.replace(&format!("{{{name}}}"), example);
                }
            }
            Operation { document, method: method.to_uppercase(), path, description }
        })
    })
}

impl<'d> Operation<'d> {
    fn body(&self) -> &'d Value {
        &self.description["requestBody"]["content"]["application/json"]
    }

    fn example(&self) -> Option<&'d Value> {
        Some(&self.body()["example"]).filter(|example| !example.is_null())
    }

    fn body_schema(&self) -> &'d Value {
        self.resolve(&self.body()["schema"])
    }

    /// Returns the schema of `data` in the first described answer.
    fn answer_schema(&self) -> &'d Value {
        let answers = self.description["responses"].as_object().unwrap();
        let answer = answers.values().next().unwrap();
        let schema = &answer["content"]["application/json"]["schema"];
        let first = if schema["anyOf"].is_array() { &schema["anyOf"][0] } else { schema };
        self.resolve(&self.resolve(first)["properties"]["data"])
    }

    fn resolve(&self, schema: &'d Value) -> &'d Value {
        match schema["$ref"].as_str() {
            Some(target) => self.document.pointer(&target[1..]).unwrap(),
            None => schema,
        }
    }
}

fn member_names(schema: &Value) -> BTreeSet<String> {
    schema["properties"].as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect()
}

/// Returns the members that the refusal of the unknown one lists.
fn known_members(error: &Value) -> Option<BTreeSet<String>> {
    let details = error["details"].as_array()?;
    let refusal = details.iter().find(|detail| detail["code"] == "UNKNOWN_FIELD")?;
    let (_, known) = refusal["message"].as_str()?.split_once("known: ")?;
    Some(known.split(", ").map(str::to_owned).collect())
}
