use proptest::prelude::*;
use serde_json::{Value, json};
use svc_functions::declarations::mail::{header, line, mailbox, mailboxes};

use super::*;

const ID: &str = "<1@example.com>";

fn boxes(value: Value) -> Vec<Mailbox> {
    mailboxes("to", &value).unwrap()
}

fn draft(body: Body) -> Draft<'static> {
    Draft {
        to: boxes(json!(["a@example.com", "\"Bee, C.\" <b@example.com>"])),
        cc: Vec::new(),
        bcc: Vec::new(),
        subject: "Hello".into(),
        body,
        reply_to: None,
        headers: &[],
    }
}

fn write_mail(draft: &Draft<'_>) -> (Vec<String>, String) {
    let mail = draft.write(&mailbox("Svc <svc@example.com>").unwrap(), ID).unwrap();
    let to = mail.envelope.to().iter().map(ToString::to_string).collect();
    (to, String::from_utf8(mail.content.to_vec()).unwrap())
}

fn headers(mail: &str) -> Vec<&str> {
    mail.split("\r\n\r\n").next().unwrap().split("\r\n").collect()
}

#[test]
fn a_mail_has_its_headers_and_one_body() {
    let (to, mail) = write_mail(&draft(Body::Text("one\ntwo".into())));
    assert_eq!(to, ["a@example.com", "b@example.com"]);
    let lines = headers(&mail);
    for line in [
        "Message-ID: <1@example.com>",
        "From: Svc <svc@example.com>",
        "Subject: Hello",
        "MIME-Version: 1.0",
        "Content-Type: text/plain; charset=utf-8",
    ] {
        assert!(lines.contains(&line), "{line}: {mail}");
    }
    assert!(lines.iter().any(|line| line.starts_with("Date: ")), "{mail}");
    assert!(mail.ends_with("one\r\ntwo\r\n"), "{mail}");
}

#[test]
fn text_and_html_are_alternatives_of_one_mail() {
    let (_, mail) =
        write_mail(&draft(Body::from_parts(Some("plain".into()), Some("<b>rich</b>".into())).unwrap()));
    let (plain, html) = (mail.find("text/plain").unwrap(), mail.find("text/html").unwrap());
    assert!(
        mail.contains("Content-Type: multipart/alternative;") && plain < html,
        "the richest comes last: {mail}"
    );
}

#[test]
fn bcc_is_only_on_the_envelope() {
    let mut draft = draft(Body::Text("x".into()));
    draft.cc = boxes(json!("c@example.com"));
    draft.bcc = boxes(json!(["secret@example.com"]));
    draft.reply_to = Some(mailbox("r@example.com").unwrap());
    let (to, mail) = write_mail(&draft);
    assert_eq!(to, ["a@example.com", "b@example.com", "c@example.com", "secret@example.com"]);
    assert!(!mail.contains("secret@") && !mail.to_ascii_lowercase().contains("bcc"), "{mail}");
    assert!(mail.contains("Cc: c@example.com\r\n") && mail.contains("Reply-To: r@example.com\r\n"), "{mail}");
}

#[test]
fn other_than_ascii_is_encoded_wherever_it_stands() {
    let headers = [header("X-Grüße", "").map_err(drop), header("X-Note", "größer").map_err(drop)];
    assert!(headers[0].is_err());
    let headers: Vec<_> = headers.into_iter().flatten().collect();
    let mut draft = draft(Body::Html("<p>Grüße ☃</p>".into()));
    draft.subject = "Grüße ☃ ".repeat(20);
    draft.to = boxes(json!("Zoë Ä <z@example.com>"));
    let draft = Draft { headers: &headers, ..draft };
    let (_, mail) = write_mail(&draft);
    assert!(mail.is_ascii(), "{mail}");
    assert!(mail.lines().all(|line| line.len() < 200), "{mail}");
}

#[test]
fn encoded_lookalike_subject_is_shown_as_written() {
    let mut draft = draft(Body::Text("x".into()));
    draft.subject = "=?utf-8?q?Your_bank?=".into();
    let (_, mail) = write_mail(&draft);
    assert!(mail.contains("\r\nSubject: =?utf-8?b?PT91dGYtOD9xP1lvdXJfYmFuaz89?=\r\n"), "{mail}");
    draft.to = boxes(json!("\"=?utf-8?q?Your_bank?=\" <a@example.com>"));
    let (_, mail) = write_mail(&draft);
    assert!(!mail.contains("utf-8?q?"), "{mail}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// Whatever a message puts into the fields, the mail has the headers it is due and no other.
    #[test]
    fn nothing_in_a_field_becomes_a_header(name in any::<String>(), subject in any::<String>(), value in any::<String>()) {
        let quoted = name.replace(['\\', '"'], "");
        let to = [format!("\"{quoted}\" <a@example.com>"), format!("{name} <a@example.com>"), name]
            .iter().filter_map(|text| mailbox(text).ok()).collect::<Vec<_>>();
        prop_assume!(!to.is_empty() && line(&subject).is_ok());
        let headers: Vec<_> = header("X-Own", &value).into_iter().collect();
        let own = headers.len();
        let reply_to = to.first().cloned();
        let draft = Draft { to, subject, headers: &headers, reply_to, ..draft(Body::Text("body".into())) };
        let mail = draft.write(&mailbox("svc@example.com").unwrap(), ID).unwrap();
        let mail = String::from_utf8(mail.content.to_vec()).unwrap();
        let starts = self::headers(&mail).into_iter().filter(|line| !line.starts_with([' ', '\t'])).count();
        prop_assert_eq!(starts, 9 + own, "{}", mail);
        prop_assert!(mail.ends_with("\r\n\r\nbody\r\n"), "{}", mail);
    }
}
