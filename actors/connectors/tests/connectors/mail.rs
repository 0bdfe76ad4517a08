//! Mail that arrives, at a real server.

use futures_util::future::{Either, join_all, select};
use serde_json::{Value, json};
use svc_engine::TaskError;
use svc_testkit::smtp::{Mail, MailServer, Protection};
use svc_testkit::state::eventually;

use crate::kit::{ConnectorWorld, run, run_trusting};

const LOGIN: (&str, &str) = ("bob", "swordfish");

/// The config of a connector at a server.
pub(crate) fn connector_to(port: u16, more: Value) -> Value {
    let mut config = json!({"host": "127.0.0.1", "port": port, "tls": "none", "from": "Svc <svc@example.com>",
        "allow_private_urls": true, "timeout_ms": 5000});
    config.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    config
}

/// Returns the output of a task of a function.
pub(crate) async fn run_function(world: &ConnectorWorld, function: &str, input: Value) -> Value {
    let mut input = input;
    input["output"] = "data.out".into();
    world.run_task(function, input, Value::Null).await["out"].take()
}

/// The error a task of a function fails with.
pub(crate) async fn run_error(world: &ConnectorWorld, function: &str, input: Value) -> TaskError {
    world.task_error(function, input, Value::Null).await
}

/// A mail that says little.
pub(crate) fn short(more: Value) -> Value {
    let mut input = json!({"to": "ann@example.com", "subject": "Hello", "text": "hello"});
    input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    input
}

/// A mail as the server received it.
async fn send(world: &ConnectorWorld, server: &MailServer, more: Value) -> Mail {
    server.mail(&run_function(world, "send_email", short(more)).await["message_id"])
}

#[test]
fn a_mail_arrives_as_it_was_written() {
    let Some(server) = MailServer::start(Protection::StartTls, Some(LOGIN)) else { return };
    run_trusting(server.authority(), async |world| {
        let auth = json!({"type": "basic", "username": LOGIN.0, "password": LOGIN.1});
        world
            .put("c", "smtp", true, connector_to(server.port(), json!({"tls": "starttls", "auth": auth})))
            .await;
        let input = json!({
            "to": ["Ann Ä <ann@example.com>", "\"Bee, C.\" <bee@example.com>"], "cc": {"var": "payload.copy"},
            "bcc": ["boss@example.com"], "subject": {"var": "payload.subject"}, "reply_to": "help@example.com",
            "text": "Grüße\nund so\n.\n..", "html": "<p>Grüße</p>", "headers": {"X-Order": "7 ☃"}, "output": "data.mail"});
        let payload = json!({"subject": "Grüße ☃", "copy": "cat@example.com"});
        let outcome = world.task("send_email", input, payload).await;
        assert!(outcome.errors.is_empty(), "{:?}", outcome.errors);
        let out = &outcome.message.data["mail"];
        let mail = server.mail(&out["message_id"]);
        assert_eq!(mail.report_field("sender"), "svc@example.com");
        let recipients = json!(["ann@example.com", "bee@example.com", "cat@example.com", "boss@example.com"]);
        assert_eq!(
            (mail.report_field("recipients"), mail.report_field("login"), mail.report_field("tls")),
            (&recipients, &json!("bob"), &json!(true))
        );
        for (name, value) in [
            ("From", "Svc <svc@example.com>"),
            ("To", "Ann Ä <ann@example.com>, \"Bee, C.\" <bee@example.com>"),
            ("Cc", "cat@example.com"),
            ("Reply-To", "help@example.com"),
            ("Subject", "Grüße ☃"),
            ("X-Order", "7 ☃"),
        ] {
            assert_eq!(mail.header(name), Some(value), "{name}");
        }
        assert_eq!(mail.header("Bcc"), None);
        assert!(!mail.report_field("source").as_str().unwrap().contains("boss@"));
        let parts: Vec<_> = mail.parts().into_iter().map(|(kind, text)| (kind, text.trim_end())).collect();
        assert_eq!(parts, [("text/plain", "Grüße\r\nund so\r\n.\r\n.."), ("text/html", "<p>Grüße</p>")]);
        let out = &outcome.message.data["mail"];
        assert_eq!(out, &json!({"message_id": mail.header("Message-ID"), "response": "250 2.0.0 taken"}));
    });
}

#[test]
fn a_body_is_one_mail_whatever_its_line_breaks() {
    let Some(server) = MailServer::start(Protection::None, None) else { return };
    run(async |world| {
        world.put("c", "smtp", true, connector_to(server.port(), json!({}))).await;
        let end = "MAIL FROM:<evil@example.com>";
        for (count, dot) in
            ["\r.\r", "\n.\n", "\r\n.\r", "\r.\r\n", "\n.\r", "\r\r.\r\r"].into_iter().enumerate()
        {
            for field in ["text", "html"] {
                let body = format!("a{dot}{end}\r");
                let input = json!({"to": "ann@example.com", "subject": "Hello", field: body});
                let mail = server.mail(&run_function(world, "send_email", input).await["message_id"]);
                let source = mail.report_field("source").as_str().unwrap();
                let body = source.split_once("\r\n\r\n").unwrap().1;
                let lines: Vec<_> = body.split("\r\n").filter(|line| !line.is_empty()).collect();
                assert_eq!(lines, ["a", ".", end], "{dot:?} {source:?}");
                let bare = source.replace("\r\n", "");
                assert!(!bare.contains(['\r', '\n']), "{dot:?} {source:?}");
            }
            assert_eq!(server.mails().len(), 2 * (count + 1));
        }
        let before = server.mails().len();
        for field in ["text", "html"] {
            let error = world
                .task_error("send_email", short(json!({field: {"var": "payload"}})), json!("a\0b"))
                .await;
            assert_eq!(
                (error.code.name(), error.message.split(':').next()),
                ("VALIDATION_ERROR", Some(field))
            );
            let problems = world.problems("send_email", short(json!({field: "a\0b"})));
            assert_eq!(problems, [format!("{field} INVALID")]);
        }
        assert_eq!(server.mails().len(), before);
    });
}

#[test]
fn mistyped_and_invalid_recipients_are_distinguished() {
    run(async |world| {
        for field in ["to", "cc", "bcc"] {
            for (value, due) in [
                (json!(1), "TYPE_MISMATCH"),
                (json!(true), "TYPE_MISMATCH"),
                (json!({"a": 1}), "TYPE_MISMATCH"),
                (json!("nobody"), "INVALID"),
            ] {
                let problems = world.problems("send_email", short(json!({field: value})));
                assert_eq!(problems, [format!("{field} {due}")], "{value}");
            }
            for (value, due) in
                [(json!(5), "TYPE_MISMATCH"), (json!([]), "TYPE_MISMATCH"), (json!("b"), "INVALID")]
            {
                let problems = world.problems("send_email", short(json!({field: ["a@b.c", value]})));
                assert_eq!(problems, [format!("{field}[1] {due}")], "{value}");
            }
        }
    });
}

#[test]
fn each_tls_mode_works_and_verifies_the_server() {
    for (protection, tls) in
        [(Protection::None, "none"), (Protection::StartTls, "starttls"), (Protection::Implicit, "implicit")]
    {
        let Some(server) = MailServer::start(protection, None) else { return };
        let port = server.port();
        run_trusting(server.authority(), async |world| {
            for host in ["127.0.0.1", "localhost"] {
                world.put("c", "smtp", true, connector_to(port, json!({"tls": tls, "host": host}))).await;
                let mail = send(world, &server, json!({})).await;
                assert_eq!(mail.report_field("tls"), &json!(tls != "none"));
                assert!(world.probe("c").await.reachable);
            }
            // Spells the same address, and is no name of the certificate.
            world.put("c", "smtp", true, connector_to(port, json!({"tls": tls, "host": "0x7f000001"}))).await;
            if tls != "none" {
                let error = run_error(world, "send_email", short(json!({}))).await;
                assert_eq!(error.code.name(), "IO_ERROR", "{}", error.message);
                assert!(error.message.contains("certificate"), "{}", error.message);
            }
        });
        run(async |world| {
            world.put("c", "smtp", true, connector_to(port, json!({"tls": tls}))).await;
            assert_eq!(world.probe("c").await.reachable, tls == "none", "nobody vouches for the server");
            if tls == "none" {
                send(world, &server, json!({})).await;
            } else {
                let before = server.mails().len();
                let error = run_error(world, "send_email", short(json!({}))).await;
                assert_eq!(
                    (error.code.name(), server.mails().len()),
                    ("IO_ERROR", before),
                    "{}",
                    error.message
                );
            }
        });
    }
}

#[test]
fn connection_is_reused_after_refused_mails() {
    let Some(mut server) = MailServer::start(Protection::None, None) else { return };
    run(async |world| {
        world.put("c", "smtp", true, connector_to(server.port(), json!({}))).await;
        send(world, &server, json!({})).await;
        for more in [json!({"to": ["ann@example.com", "nobody@example.com"]}), json!({"subject": "spam"})] {
            assert_eq!(run_error(world, "send_email", short(more)).await.code.name(), "FUNCTION_ERROR");
        }
        send(world, &server, json!({})).await;
        let mails = server.mails();
        assert_eq!(mails.len(), 2, "nobody gets what a part of the recipients is refused");
        assert!(mails.iter().all(|mail| *mail.report_field("connection") == 0), "{mails:?}");
        // A connection that died while it waited is noticed before it is used.
        server.restart().unwrap();
        send(world, &server, json!({"subject": "again"})).await;
        world.put("c", "smtp", true, connector_to(server.port(), json!({"from": "other@example.com"}))).await;
        assert_eq!(send(world, &server, json!({})).await.report_field("sender"), "other@example.com");
    });
}

#[test]
fn mails_go_side_by_side_each_once() {
    let Some(server) = MailServer::start(Protection::None, None) else { return };
    run(async |world| {
        world.put("c", "smtp", true, connector_to(server.port(), json!({}))).await;
        let text = "x".repeat(100_000);
        for _ in 0..2 {
            let mails = (0..20)
                .map(|number| send(world, &server, json!({"subject": number.to_string(), "text": text})));
            join_all(mails).await;
        }
        let mut subjects: Vec<u32> =
            server.mails().iter().map(|mail| mail.header("Subject").unwrap().parse().unwrap()).collect();
        subjects.sort_unstable();
        assert_eq!(subjects, (0..20).flat_map(|number| [number, number]).collect::<Vec<_>>());
    });
}

#[test]
fn abandoned_mail_leaves_nothing_for_the_next() {
    let Some(server) = MailServer::start(Protection::None, None) else { return };
    run(async |world| {
        world.put("c", "smtp", true, connector_to(server.port(), json!({}))).await;
        send(world, &server, json!({"subject": "first"})).await;
        let held = Box::pin(world.task("send_email", short(json!({"to": "hang@example.com"})), Value::Null));
        let is_held = Box::pin(eventually("the mail is held back", async || server.holds_mail()));
        let given_up = select(held, is_held).await;
        assert!(matches!(given_up, Either::Right(_)));
        drop(given_up);
        send(world, &server, json!({"subject": "second"})).await;
        let mails = server.mails();
        assert_eq!(mails.len(), 2);
        assert_eq!(mails[1].header("Subject"), Some("second"));
        assert_eq!(mails[1].report_field("connection"), 1, "not the connection that was given up");
    });
}

#[test]
fn a_sender_of_the_task_needs_the_connectors_leave() {
    let Some(server) = MailServer::start(Protection::None, None) else { return };
    run(async |world| {
        let from = json!({"from": "Ann <ann@example.org>"});
        world.put("c", "smtp", true, connector_to(server.port(), json!({}))).await;
        let error = run_error(world, "send_email", short(from.clone())).await;
        assert_eq!(error.code.name(), "connector_detail");
        assert!(server.mails().is_empty());
        world.put("c", "smtp", true, connector_to(server.port(), json!({"allow_from_override": true}))).await;
        let mail = send(world, &server, from).await;
        assert_eq!(
            (mail.report_field("sender"), mail.header("From")),
            (&json!("ann@example.org"), Some("Ann <ann@example.org>"))
        );
        assert!(mail.header("Message-ID").unwrap().ends_with("@example.org>"));
    });
}
