//! Canaries in every place a secret can be given; none comes out anywhere.

mod plant;
mod rows;
mod served;
mod setup;

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};
use svc_testkit::canary::{Canaries, value};
use svc_testkit::example::create_and_activate;
use svc_testkit::http::{HttpClient, HttpResponse};
use svc_testkit::vault::{FakeVault, Health};

use crate::support::eventually;
use plant::{CHANNEL_ROWS, CONNECTOR_ROWS, CanarySource, Plants, WORKFLOW_READS, WORKFLOW_ROWS};
use served::Served;
use setup::CanarySetup;

const ADMIN: &str = "/api/v1/admin";
/// Least number of different secrets.
const LEAST: usize = 40;

/// Places at which a harmless text appears, which proves that they are searched.
const CONTROLS: [&str; 6] =
    ["answers of the data plane", "dead letters", "other rows", "the log", "traces", "trial runs"];

/// The output by place.
#[derive(Default)]
struct Places(Vec<(&'static str, String)>);

impl Places {
    fn keep(&mut self, place: &'static str, answer: &HttpResponse) {
        let headers = answer.headers.iter().map(|(name, value)| format!("{name}: {value}\n"));
        self.0.push((place, headers.collect::<String>() + &answer.text()));
    }

    fn add(&mut self, place: &'static str, text: impl Into<String>) {
        self.0.push((place, text.into()));
    }

    /// Names of canaries with the places they came out at.
    fn find_canaries(&self, canaries: &Canaries) -> BTreeSet<(String, &'static str)> {
        let at = |(place, text): &(&'static str, String)| {
            let names = canaries.find_in(place, text).into_iter().map(|name| (name.to_owned(), *place));
            names.collect::<Vec<_>>()
        };
        self.0.iter().flat_map(at).collect()
    }
}

/// Writes, reads and misuses every definition.
fn administer(client: &mut HttpClient, served: &Served, places: &mut Places) {
    for document in &served.connectors {
        let answer = client.json("POST", &format!("{ADMIN}/connectors"), document).unwrap();
        assert_eq!(answer.status, 201, "the connector is stored");
        places.keep("answers of the admin plane", &answer);
    }
    for (kind, documents, place) in [
        ("workflows", &served.workflows, WORKFLOW_READS),
        ("channels", &served.channels, "answers of the admin plane"),
    ] {
        for document in documents {
            let validated = client.json("POST", &format!("{ADMIN}/{kind}/validate"), document).unwrap();
            places.keep(place, &validated);
            let mut wrong = document.clone();
            wrong["config"]["auth"]["keys"] = json!([document["config"]["auth"]["keys"], 5]);
            wrong["tasks"] = json!(5);
            places.keep(place, &client.json("POST", &format!("{ADMIN}/{kind}"), &wrong).unwrap());
            let id = create_and_activate(client, kind, &format!("{}_id", &kind[..kind.len() - 1]), document);
            let id = id.unwrap_or_else(|_| panic!("a definition of {kind} is not served"));
            let one = format!("{ADMIN}/{kind}/{id}");
            places.keep(place, &client.json("POST", &format!("{one}/versions"), &json!({})).unwrap());
            let update = json!({"name": document["name"], "config": document["config"]});
            places.keep(place, &client.json("PUT", &one, &update).unwrap());
            for path in [one.clone(), format!("{one}/versions"), format!("{one}/dependencies")] {
                places.keep(place, &client.get(&path).unwrap());
            }
            if kind == "workflows" {
                let trial = client.json("POST", &format!("{one}/test"), &json!({"data": {}})).unwrap();
                places.keep("trial runs", &trial);
            }
        }
        let again = json!({kind: documents});
        places.keep(place, &client.json("POST", &format!("{ADMIN}/{kind}/import"), &again).unwrap());
        for path in ["", "/export"] {
            places.keep(place, &client.get(&format!("{ADMIN}/{kind}{path}")).unwrap());
        }
    }
    places.keep("answers of the admin plane", &client.get(&format!("{ADMIN}/connectors")).unwrap());
}

/// Calls every channel with the right credentials and without, with good bodies and a bad one; returns how
/// many runs were answered 200.
fn call(client: &mut HttpClient, served: &Served, payload: &[u8], places: &mut Places) -> usize {
    let mut succeeded = 0;
    for (path, headers) in &served.calls {
        let mut headers: Vec<(&str, &str)> =
            headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        headers.push(("content-type", "application/json"));
        for body in [&b"{}"[..], b"{", payload] {
            let answer = client.send("POST", &format!("/api/v1/data/{path}"), &headers, body).unwrap();
            succeeded += usize::from(answer.status == 200);
            places.keep("answers of the data plane", &answer);
        }
    }
    succeeded
}

/// Everything an operator can read.
fn observe(client: &mut HttpClient, places: &mut Places) {
    for path in ["/health", "/healthz", "/readyz"] {
        places.keep("health", &client.get(path).unwrap());
    }
    places.keep("metrics", &client.get("/metrics").unwrap());
    for path in ["actors", "engine/status", "functions"] {
        places.keep("answers of the admin plane", &client.get(&format!("{ADMIN}/{path}")).unwrap());
    }
    places.keep("audit rows", &client.get(&format!("{ADMIN}/audit-logs?limit=1000")).unwrap());
    for (list, place) in [("traces", "traces"), ("trace-dlq", "dead letters")] {
        let listed = client.get(&format!("{ADMIN}/{list}?limit=200")).unwrap();
        places.keep(place, &listed);
        let rows = listed.json()["data"].as_array().cloned().unwrap_or_default();
        assert!(!rows.is_empty(), "there are {place}");
        for row in rows {
            let one = format!("{ADMIN}/{list}/{}", row["id"].as_str().unwrap());
            places.keep(place, &client.get(&one).unwrap());
        }
    }
}

#[test]
fn no_secret_leaks_in_any_encoding() {
    let mut plants = Plants::default();
    let served = Served::plant(&mut plants);
    let vault_token = plants.plant_text("VAULT_TOKEN");
    let store = FakeVault::start(&vault_token).unwrap();
    store.put_v2("canaries", Value::Object(plants.fields.clone()));
    let mut control = Canaries::default();
    let shown = value(1000, 40);
    control.add("no secret", shown.as_bytes(), &[]);
    let setup = CanarySetup::new(&mut plants, &store, &vault_token, &shown);
    let mut places = Places::default();
    setup.offline(&mut plants, &mut places);

    let mut server = setup.launch(&[]).start().unwrap_or_else(|_| panic!("the service does not start"));
    let mut client = server.client().with_header("x-api-key", &setup.variable("ADMIN_KEY"));
    administer(&mut client, &served, &mut places);
    let stranger = plants.plant_text("a wrong admin key");
    let refused = server.client().send("GET", ADMIN, &[("x-api-key", &stranger)], b"").unwrap();
    assert_eq!(refused.status, 401);
    places.keep("answers of the admin plane", &refused);
    // Without the admin key, which the data plane does not look at.
    let payload = json!({"x": shown}).to_string().into_bytes();
    let succeeded = call(&mut server.client(), &served, &payload, &mut places);
    assert!(succeeded >= 4 * CanarySource::REFERENCES.len(), "the right credentials are right: {succeeded}");
    eventually(|| {
        let letters = client.get(&format!("{ADMIN}/trace-dlq?limit=1000")).unwrap().json();
        letters["data"].as_array().is_some_and(|rows| rows.len() >= CanarySource::ALL.len())
    });
    observe(&mut client, &mut places);

    // What cannot be read any more is told in reasons, logs and health.
    for health in [Health::Sealed, Health::Down, Health::Unsealed] {
        store.set_health(health);
        let reloaded = client.json("POST", &format!("{ADMIN}/engine/reload"), &json!({})).unwrap();
        places.keep("answers of the admin plane", &reloaded);
        call(&mut server.client(), &served, &payload, &mut places);
        observe(&mut client, &mut places);
    }
    server.signal("TERM").unwrap();
    server.wait(Duration::from_secs(60)).unwrap();
    places.add("the log", server.log_text());
    for (place, text) in rows::read_rows(&server.directory().join("svc.db")) {
        places.add(place, text);
    }

    assert!(plants.canaries.count() >= LEAST, "only {} secrets", plants.canaries.count());
    let controls: BTreeSet<_> = places.find_canaries(&control).into_iter().map(|(_, place)| place).collect();
    let seen = BTreeSet::from(CONTROLS);
    assert!(controls.is_superset(&seen), "what is no secret is seen at {controls:?} only");
    let requests: String =
        served.repeats.requests().iter().map(|asked| asked.target.clone() + &asked.text()).collect();
    assert!(plants.canaries.find_in("an API", &requests).len() >= 2, "what an API is told it gets");
    let leaks = places.find_canaries(&plants.canaries);
    assert!(leaks.is_empty(), "{} of {} secrets came out: {leaks:?}", leaks.len(), plants.canaries.count());
}

#[test]
fn only_literals_are_found_in_stored_rows() {
    let mut plants = Plants::default();
    let served = Served::plant(&mut plants);
    let store = FakeVault::start("token").unwrap();
    store.put_v2("canaries", Value::Object(plants.fields.clone()));
    let setup = CanarySetup::new(&mut plants, &store, "token", "shown");
    let server = setup.launch(&[]).start().unwrap_or_else(|_| panic!("the service does not start"));
    let mut client = server.client().with_header("x-api-key", &setup.variable("ADMIN_KEY"));
    administer(&mut client, &served, &mut Places::default());
    let mut elsewhere = Places::default();
    for (_, text) in rows::read_rows(&server.directory().join("svc.db")) {
        elsewhere.add("a place that shows nothing", text);
    }
    let leaks = elsewhere.find_canaries(&plants.canaries);
    assert!(leaks.iter().all(|(name, _)| name.ends_with("-literal")), "{leaks:?}");
    // Nine in credentials, eight in tasks, two in a connector.
    assert_eq!(leaks.len(), 9 + 8 + 2, "{leaks:?}");
}
