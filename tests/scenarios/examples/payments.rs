//! Stripe's webhook, PostgreSQL and a mail server.

use serde_json::{Value, json};
use svc_testkit::http::{HttpClient, HttpResponse};
use svc_testkit::postgres::{Postgres, PostgresDatabase};
use svc_testkit::server::ServerProcess;
use svc_testkit::smtp::{MailServer, Protection};

use super::{Project, examples, scalar, traces};
use crate::offline::repeat_offline;
use crate::refusals::{hex, mac, unix_time};
use crate::support::{error, eventually};

const KEY: &str = "an-admin-key-of-thirty-two-letters";
const SECRET: &str = "whsec_now";
const FORMER: &str = "whsec_before";

/// The project, running.
struct World {
    server: ServerProcess,
    database: PostgresDatabase,
    mail: MailServer,
    _postgres: Postgres,
    project: Project,
}

/// Starts the project; `None` if a peer is missing.
fn world() -> Option<(World, HttpClient)> {
    world_with(&[])
}

fn world_with(replacements: &[(&str, &str)]) -> Option<(World, HttpClient)> {
    let postgres = Postgres::shared()?;
    let mail = MailServer::start(Protection::StartTls, None)?;
    let port = format!("\"port\": {}", mail.port());
    let replaced = [&[("\"port\": 587", port.as_str())], replacements].concat();
    let project = Project::copy("payments", &replaced).with_key(KEY);
    let database = project.database(&postgres);
    let launch = project.launch();
    let authority = launch.directory().join("authority.pem");
    std::fs::write(&authority, mail.authority()).unwrap();
    let launch = launch
        .env("SSL_CERT_FILE", authority.to_str().unwrap())
        .env("PAYMENTS_ADMIN_KEY", KEY)
        .env("PAYMENTS_DB", database.url())
        .env("PAYMENTS_MAIL_HOST", "localhost")
        .env("STRIPE_SECRET", SECRET)
        .env("STRIPE_FORMER_SECRET", FORMER)
        .env("SVC_TRACE_QUEUE__DLQ_POLL_INTERVAL_SECS", "1");
    let server = launch.start().unwrap();
    let client = project.load(&server);
    Some((World { server, database, mail, project, _postgres: postgres }, client))
}

impl World {
    /// The event of the project under another id.
    fn event(&self, id: &str) -> Value {
        let mut event = self.project.json("event.json");
        event["id"] = id.into();
        event
    }

    /// Posts an event, signed so many seconds ago, as Stripe does: without a key of the service.
    fn post(&self, event: &Value, secret: &str, age: u64) -> HttpResponse {
        let body = event.to_string();
        let time = unix_time() - age;
        let signature = hex(&mac(secret, format!("{time}.{body}").as_bytes()));
        let headers = [
            ("content-type", "application/json"),
            ("stripe-signature", &format!("t={time},v1={signature}") as &str),
        ];
        let path = "/api/v1/data/webhooks/stripe/async";
        self.server.client().send("POST", path, &headers, body.as_bytes()).unwrap()
    }

    fn accept(&self, event: &Value, secret: &str) {
        let answer = self.post(event, secret, 0);
        assert_eq!(answer.status, 202, "{}", answer.text());
    }

    fn mail_text(&self) -> String {
        scalar(&self.database, "SELECT count(*) FROM payments WHERE mailed_at IS NOT NULL")
    }
}

#[test]
fn repeated_payment_is_recorded_and_mailed_once() {
    let Some((world, mut client)) = world() else { return };
    let (one, two) = (world.event("evt_1"), world.event("evt_2"));
    for secret in [SECRET, FORMER, SECRET] {
        world.accept(&one, secret);
    }
    world.accept(&two, SECRET);
    let mut other = world.event("evt_3");
    other["type"] = "payment_intent.created".into();
    world.accept(&other, SECRET);
    eventually(|| traces(&mut client, "stripe", "completed").len() == 5);
    assert_eq!(world.mail_text(), "2");
    let rows =
        world.database.rows("SELECT event_id, amount, currency, email FROM payments ORDER BY 1").unwrap();
    let row = |id: &str| [id, "4999", "eur", "ada@example.com"].map(|text| Some(text.to_owned())).to_vec();
    assert_eq!(rows, [row("evt_1"), row("evt_2")]);
    let mails = world.mail.mails();
    assert_eq!(mails.len(), 2, "{mails:?}");
    assert_eq!(mails[0].report_field("recipients"), &json!(["ada@example.com"]));
    assert_eq!(
        (mails[0].header("Subject"), mails[0].report_field("tls")),
        (Some("Your receipt"), &json!(true))
    );
    assert!(mails[0].parts()[0].1.contains("49.99 EUR"), "{mails:?}");
    assert!(mails[0].parts()[0].1.contains("Ada's Shop"), "{mails:?}");
}

#[test]
fn dry_runs_of_payments_answer_like_the_service() {
    let traced =
        ("\"on_failure\": \"alerts\"", "\"on_failure\": \"alerts\", \"tracing\": {\"task_details\": true}");
    let Some((world, mut client)) = world_with(&[traced]) else { return };
    let mut other = world.event("evt_2");
    other["type"] = "payment_intent.created".into();
    for event in [world.event("evt_1"), other, world.event("evt_1")] {
        world.accept(&event, SECRET);
    }
    eventually(|| traces(&mut client, "stripe", "completed").len() == 3);
    assert_eq!(repeat_offline(&mut client, &examples().join("payments"), &["stripe"], &json!({})), 3);
}

#[test]
fn forged_and_stale_events_are_refused_and_leave_nothing() {
    let Some((world, mut client)) = world() else { return };
    let event = world.event("evt_1");
    for (secret, age) in [("whsec_guessed", 0), (SECRET, 3600)] {
        error(&world.post(&event, secret, age), 401, "UNAUTHORIZED");
    }
    // Nobody reads or changes definitions without the key.
    error(&world.server.client().get("/api/v1/admin/channels").unwrap(), 401, "UNAUTHORIZED");
    let shown = client.get("/api/v1/admin/channels/stripe").unwrap();
    assert!(!shown.text().contains(SECRET), "{}", shown.text());
    assert_eq!(scalar(&world.database, "SELECT count(*) FROM payments"), "0");
    assert_eq!(client.get("/api/v1/admin/traces").unwrap().json()["data"], json!([]));
}

#[test]
fn receipt_is_mailed_once_the_mail_server_is_back() {
    let Some((mut world, mut client)) = world() else { return };
    world.mail.stop();
    world.accept(&world.event("evt_1"), SECRET);
    eventually(|| !traces(&mut client, "stripe", "retrying").is_empty());
    assert_eq!(world.mail_text(), "0", "the payment is on record, its receipt is not");
    assert_eq!(scalar(&world.database, "SELECT count(*) FROM payments"), "1");
    world.mail.restart().unwrap();
    eventually(|| world.mail_text() == "1");
    // A delivery that comes now is one too many.
    world.accept(&world.event("evt_1"), SECRET);
    eventually(|| traces(&mut client, "stripe", "completed").len() == 2);
    assert_eq!(world.mail.mails().len(), 1);
}

#[test]
fn undeliverable_receipt_is_mailed_to_operator() {
    let Some((world, mut client)) = world() else { return };
    let mut event = world.event("evt_1");
    event["data"]["object"]["receipt_email"] = "nobody@example.com".into();
    world.accept(&event, SECRET);
    eventually(|| traces(&mut client, "alerts", "completed").len() == 1);
    assert_eq!(world.mail_text(), "0");
    let mails = world.mail.mails();
    assert_eq!(mails.len(), 1, "{mails:?}");
    assert_eq!(mails[0].report_field("recipients"), &json!(["ops@shop.example"]));
    let text = mails[0].parts()[0].1;
    assert!(text.contains("evt_1") && text.contains("no such user"), "{text}");
    // Nobody else can write to the operator.
    error(
        &world.server.client().json("POST", "/api/v1/data/alerts", &json!({})).unwrap(),
        401,
        "UNAUTHORIZED",
    );
}
