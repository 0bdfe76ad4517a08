//! The OpenAPI document and its page: served, switched off, printed, and true in their examples.

use std::collections::BTreeMap;

use serde_json::Value;
use svc_testkit::http::HttpClient;

use crate::support::{error, launch, start};

const DOCUMENT: &str = "/api/v1/openapi.json";

#[test]
fn printed_document_is_the_served_one() {
    let output = launch().args(&["dump-openapi"]).run_to_end().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && printed.ends_with("}\n"), "{printed}");
    let printed: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(printed["openapi"], "3.1.0");
    assert_eq!(start().client().get(DOCUMENT).unwrap().json(), printed);
}

#[test]
fn documentation_needs_no_key_and_loads_nothing_foreign() {
    let server = launch()
        .env("SVC_ADMIN_AUTH__ENABLED", "true")
        .env("SVC_ADMIN_AUTH__API_KEYS", super::KEY)
        .start()
        .unwrap();
    let mut client = server.client();
    let page = client.get("/docs").unwrap();
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'none'; script-src 'self'"), "{policy}");
    assert!(!policy.contains("unsafe") && !policy.contains("http"), "{policy}");
    let body = page.text();
    let files: Vec<_> =
        body.split('"').filter(|text| text.starts_with("docs/")).map(|path| format!("/{path}")).collect();
    assert!(files.len() > 2, "{body}");
    for file in files {
        let answer = client.get(&file).unwrap();
        assert_eq!((answer.status, answer.header("content-security-policy")), (200, Some(policy)), "{file}");
        assert!(!answer.body.is_empty(), "{file}");
    }
    let document = client.get(DOCUMENT).unwrap();
    assert_eq!(document.header("content-type"), Some("application/json"));
    assert!(document.header("content-security-policy").unwrap().starts_with("default-src 'none'; frame"));
    assert_eq!(client.send("HEAD", "/docs", &[], b"").unwrap().status, 200);
}

#[test]
fn documentation_that_is_off_is_not_found() {
    let server = launch()
        .env("SVC_SERVER__DOCS__ENABLED", "false")
        .env("SVC_SERVER__DATA_MOUNTS", "/")
        .start()
        .unwrap();
    for path in [DOCUMENT, "/docs", "/docs/", "/docs/swagger-ui.css"] {
        error(&server.client().get(path).unwrap(), 404, "NOT_FOUND");
    }
}

/// Operations on rows that the examples do not make: a schedule, a trace, an occurrence, an endpoint of webhooks, and a
/// plugin, whose component no example can have. Their scenarios send such bodies.
const OF_LATER_ROWS: [&str; 15] = [
    "backfillChannel",
    "changePluginStatus",
    "createPlugin",
    "createWebhook",
    "enableWebhook",
    "importPlugins",
    "putPluginDraft",
    "replayOwnWebhooks",
    "replayWebhooks",
    "rerunTrace",
    "retryOccurrence",
    "rotateWebhookSecret",
    "startBacktest",
    "startChannelBacktest",
    "updateWebhook",
];

#[test]
fn examples_of_request_bodies_run() {
    let server = start();
    let mut client = server.client();
    let document = client.get(DOCUMENT).unwrap().json();
    let examples = Examples::read(&document);
    // Each finds what those before it made.
    let order = [
        "createConnector",
        "validateConnector",
        "importConnectors",
        "updateConnector",
        "changeConnectorStatus",
        "createWorkflow",
        "validateWorkflow",
        "importWorkflows",
        "updateWorkflow",
        "testWorkflow",
        "changeWorkflowStatus",
        "createWorkflowVersion",
        "changeWorkflowStatus",
        "changeWorkflowRollout",
        "rollBackWorkflow",
        "createChannel",
        "validateChannel",
        "importChannels",
        "updateChannel",
        "changeChannelStatus",
        "testChannel",
        "createChannelVersion",
        "changeChannelStatus",
        "rollBackChannel",
        "runChannel",
        "submit",
        "pauseChannel",
        "resumeChannel",
        "pauseChannels",
        "resumeChannels",
        "startBulkRun",
        "purgeDeadLetters",
        "invalidateCache",
        "putPackageReceipt",
        "createConsumer",
        "createConsumerKey",
        "changeConsumer",
    ];
    for id in order {
        examples.send(&mut client, id);
    }
    for id in examples.0.keys().filter(|id| !order.contains(&id.as_str())) {
        // The channel of the examples takes POST alone, as its neighbours would.
        let is_other_method = id.ends_with("Put") || id.ends_with("Patch");
        assert!(is_other_method || OF_LATER_ROWS.contains(&id.as_str()), "the example of {id} was not sent");
    }
}

/// The request of each operation with an example of its body: method, path and body.
struct Examples(BTreeMap<String, (String, String, Value)>);

impl Examples {
    fn read(document: &Value) -> Self {
        let mut examples = BTreeMap::new();
        for (path, item) in document["paths"].as_object().unwrap() {
            for (method, operation) in item.as_object().unwrap() {
                let body = &operation["requestBody"]["content"]["application/json"]["example"];
                if body.is_null() {
                    continue;
                }
                let mut path = path.clone();
                for parameter in operation["parameters"].as_array().into_iter().flatten() {
                    if let (Some(name), Some(example)) =
                        (parameter["name"].as_str(), parameter["example"].as_str())
                    {
                        path = path.replace(&format!("{{{name}}}"), example);
                    }
                }
                let id = operation["operationId"].as_str().unwrap().to_owned();
                examples.insert(id, (method.to_uppercase(), path, body.clone()));
            }
        }
        Self(examples)
    }

    fn send(&self, client: &mut HttpClient, id: &str) {
        let (method, path, body) = self.0.get(id).unwrap_or_else(|| panic!("{id} has no example"));
        let answer = client.json(method, path, body).unwrap();
        assert!(answer.status < 300, "{id}: {method} {path} {body}\n{}", answer.text());
    }
}
