//! Failures of sending mail.

use std::cell::{Cell, RefCell};
use std::net::TcpListener;
use std::sync::{Arc, Barrier};
use std::time::Duration;

use futures_util::future::{join, join_all};
use serde_json::{Value, json};
use svc_connectors::{BreakerSettings, LoadState};
use svc_testkit::server::free_port;
use svc_testkit::smtp::{MailServer, Protection};
use svc_testkit::state::eventually;

use crate::kit::{ConnectorWorld, run, run_trusting, run_with};
use crate::mail::{connector_to, run_error, run_function, short};
use crate::scripted::Scripted;

/// Code and text of the error of a mail.
async fn send_error(world: &ConnectorWorld, more: Value) -> (&'static str, String) {
    let error = run_error(world, "send_email", short(more)).await;
    assert_eq!(
        error.retryable(),
        matches!(error.code.name(), "IO_ERROR" | "TIMEOUT_ERROR"),
        "{}",
        error.message
    );
    (error.code.name(), error.message)
}

#[test]
fn a_server_that_says_no_is_quoted() {
    let Some(server) = MailServer::start(Protection::None, None) else { return };
    run(async |world| {
        world.put("c", "smtp", true, connector_to(server.port(), json!({}))).await;
        let (code, text) = send_error(world, json!({"to": "nobody@example.com"})).await;
        assert_eq!(code, "FUNCTION_ERROR");
        assert_eq!(text, "connector 'c': '127.0.0.1' refused a recipient: 550 5.1.1 no such user");
        let (code, text) = send_error(world, json!({"subject": "spam"})).await;
        assert_eq!(
            (code, text.contains("refused the mail: 554 5.7.1 not wanted here")),
            ("FUNCTION_ERROR", true),
            "{text}"
        );
    });
}

#[test]
fn password_echoed_by_server_is_in_no_error() {
    let Some(server) = MailServer::start(Protection::None, Some(("bob", "right"))) else { return };
    run(async |world| {
        let auth = json!({"type": "basic", "username": "bob", "password": "swordfish"});
        world.put("c", "smtp", true, connector_to(server.port(), json!({"auth": auth}))).await;
        let (code, text) = send_error(world, json!({})).await;
        assert_eq!(
            (code, text.contains("refused the login: 535 5.7.8 wrong: bob ******")),
            ("FUNCTION_ERROR", true),
            "{text}"
        );
        let probe = world.probe("c").await;
        assert!(!probe.reachable && probe.supported);
        assert!(probe.error.unwrap().contains("bob ******"));
    });
}

#[test]
fn a_mail_that_was_begun_is_never_sent_again() {
    let Some(server) = MailServer::start(Protection::None, None) else { return };
    run(async |world| {
        world.put("c", "smtp", true, connector_to(server.port(), json!({"timeout_ms": 3000}))).await;
        for (to, cause) in
            [("cut@example.com", "not known"), ("hang@example.com", "no answer within 3000 ms")]
        {
            let (code, text) = send_error(world, json!({"to": to})).await;
            assert_eq!((code, text.contains(cause)), ("FUNCTION_ERROR", true), "{text}");
        }
        assert!(server.mails().is_empty());
    });
    let large = "x".repeat(8_000_000);
    let torn = Scripted::start(|talk| {
        talk.go_on(|talk, line| {
            if line == "DATA" {
                talk.say("354 go on\r\n");
                talk.swallow(65_536);
                // The end of the thread ends the connection.
                panic!("torn");
            }
            false
        });
    });
    run(async |world| {
        world.put("c", "smtp", true, connector_to(torn.port, json!({}))).await;
        let (code, text) = send_error(world, json!({"text": large})).await;
        assert_eq!((code, text.contains("not known")), ("FUNCTION_ERROR", true), "{text}");
        assert_eq!(torn.count("MAIL"), 1, "{:?}", torn.received_commands());
    });
}

#[test]
fn server_without_tls_gets_no_plain_mail() {
    let bare = Scripted::start(|talk| talk.go_on(|_, _| false));
    let forged = Scripted::start(|talk| {
        talk.go_on(|talk, line| {
            if line.starts_with("EHLO") {
                talk.say("250-scripted\r\n250 STARTTLS\r\n");
            } else if line == "STARTTLS" {
                talk.say("220 go on\r\n250-scripted\r\n250 AUTH PLAIN\r\n");
            }
            line.starts_with("EHLO") || line == "STARTTLS"
        });
    });
    let auth = json!({"type": "basic", "username": "bob", "password": "swordfish"});
    for server in [bare, forged] {
        run(async |world| {
            world
                .put("c", "smtp", true, connector_to(server.port, json!({"tls": "starttls", "auth": auth})))
                .await;
            let (code, text) = send_error(world, json!({})).await;
            assert_eq!((code, text.contains("refused STARTTLS")), ("FUNCTION_ERROR", true), "{text}");
            assert_eq!(
                (server.count("AUTH"), server.count("MAIL")),
                (0, 0),
                "{:?}",
                server.received_commands()
            );
        });
    }
}

#[test]
fn unreachable_mail_server_counts_for_the_breaker() {
    let gone = free_port().unwrap();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let settings =
        BreakerSettings { failure_threshold: 1, recovery: Duration::from_secs(3600), max_breakers: 9 };
    run_with(Some(settings), async |world| {
        let silent = silent.local_addr().unwrap().port();
        for (port, more, code) in [
            (gone, json!({}), "IO_ERROR"),
            (gone, json!({"host": "name.invalid"}), "IO_ERROR"),
            (silent, json!({"timeout_ms": 100}), "TIMEOUT_ERROR"),
        ] {
            // A connector that was changed begins with a closed breaker.
            world.put("c", "smtp", true, connector_to(port, more)).await;
            assert_eq!(send_error(world, json!({})).await.0, code);
            assert_eq!(run_error(world, "send_email", short(json!({}))).await.code.name(), "circuit_open");
        }
    });
}

#[test]
fn fields_from_the_message_are_checked_again() {
    let server = Scripted::start(|talk| talk.go_on(|_, _| false));
    run(async |world| {
        world.put("c", "smtp", true, connector_to(server.port, json!({}))).await;
        let payload = json!({"inject": "a@example.com\r\nBcc: b@example.com", "two": "a@example.com, b@example.com",
            "lines": "Hello\r\nX-Spam: no", "none": [], "number": 7});
        for (field, from) in [
            ("to", "inject"),
            ("to", "two"),
            ("to", "none"),
            ("to", "gone"),
            ("cc", "inject"),
            ("bcc", "number"),
            ("reply_to", "inject"),
            ("from", "inject"),
            ("subject", "lines"),
            ("subject", "number"),
            ("subject", "gone"),
            ("text", "number"),
        ] {
            let input = short(json!({field: {"var": format!("payload.{from}")}}));
            let outcome = world.task("send_email", input, payload.clone()).await;
            let error = outcome.failure.unwrap().error;
            assert_eq!(error.code.name(), "VALIDATION_ERROR", "{field} {from}");
            assert!(error.message.starts_with(field), "{field} {from}: {}", error.message);
        }
        assert!(server.received_commands().is_empty());
        let input = json!({"to": {"var": "payload.many"}, "cc": {"var": "payload.gone"}, "subject": "s", "text": "t"});
        let outcome =
            world.task("send_email", input, json!({"many": ["a@example.com", "b@example.com"]})).await;
        assert!(outcome.errors.is_empty(), "{:?}", outcome.errors);
        assert_eq!(server.count("RCPT"), 2);
    });
}

#[test]
fn private_mail_address_is_refused_written_and_dialled() {
    let trap = TcpListener::bind("127.0.0.1:0").unwrap();
    trap.set_nonblocking(true).unwrap();
    let port = trap.local_addr().unwrap().port();
    run(async |world| {
        let private = |host: &str| connector_to(port, json!({"host": host, "allow_private_urls": false}));
        world.put("c", "smtp", true, private("127.1")).await;
        let state = world.connectors.status("c").unwrap().state;
        assert!(
            matches!(&state, LoadState::Failed(error) if error.reason.contains("SSRF protection:")),
            "{state:?}"
        );
        world.put("c", "smtp", true, private("localhost")).await;
        let (code, text) = send_error(world, json!({})).await;
        assert_eq!(
            (code, text.starts_with("SSRF protection: 'localhost'")),
            ("FUNCTION_ERROR", true),
            "{text}"
        );
        assert!(world.probe("c").await.error.unwrap().starts_with("SSRF protection:"));
        assert!(trap.accept().is_err());
    });
}

#[test]
fn at_most_four_connections_wait() {
    let together = Arc::new(Barrier::new(8));
    let server = Scripted::start(move |talk| {
        talk.go_on(|_, line| {
            if line == "DATA" {
                together.wait();
            }
            false
        });
    });
    run(async |world| {
        world.put("c", "smtp", true, connector_to(server.port, json!({}))).await;
        join_all((0..8).map(|_| run_function(world, "send_email", short(json!({}))))).await;
        assert_eq!((server.count("EHLO"), server.count("QUIT")), (8, 4), "{:?}", server.received_commands());
    });
}

#[test]
fn mail_server_restart_hides_no_loss_or_duplicate() {
    let Some(mut server) = MailServer::start(Protection::StartTls, None) else { return };
    let authority = server.authority().to_owned();
    run_trusting(&authority, async |world| {
        world.put("c", "smtp", true, connector_to(server.port(), json!({"tls": "starttls"}))).await;
        let (ended, failures, taken) = (Cell::new(false), Cell::new(0), RefCell::new(Vec::new()));
        let senders = (0..4).map(async |sender| {
            for round in 0.. {
                if ended.get() {
                    return;
                }
                let subject = format!("{sender}-{round}");
                let input = short(json!({"subject": subject, "output": "data.out"}));
                match world.task("send_email", input, Value::Null).await.failure {
                    None => taken.borrow_mut().push(subject),
                    Some(failure) => {
                        let code = failure.error.code.name();
                        assert!(matches!(code, "IO_ERROR" | "FUNCTION_ERROR"), "{:?}", failure.error);
                        failures.set(failures.get() + 1);
                    }
                }
            }
        });
        let restarts = async {
            for _ in 0..3 {
                let (before, failed) = (taken.borrow().len(), failures.get());
                eventually("mails are taken", async || taken.borrow().len() >= before + 20).await;
                server.stop();
                eventually("calls fail", async || failures.get() >= failed + 8).await;
                server.restart().unwrap();
            }
            let before = taken.borrow().len();
            eventually("mails are taken", async || taken.borrow().len() >= before + 20).await;
            ended.set(true);
        };
        join(join_all(senders), restarts).await;
        server.mail(
            &run_function(world, "send_email", short(json!({"subject": "healed"}))).await["message_id"],
        );
        let mut arrived: Vec<_> =
            server.mails().iter().map(|mail| mail.header("Subject").unwrap().to_owned()).collect();
        arrived.sort_unstable();
        let all = arrived.len();
        arrived.dedup();
        assert_eq!(arrived.len(), all, "a mail came twice");
        let lost: Vec<_> =
            taken.into_inner().into_iter().filter(|subject| !arrived.contains(subject)).collect();
        assert_eq!(lost, Vec::<String>::new(), "taken and lost");
    });
}
