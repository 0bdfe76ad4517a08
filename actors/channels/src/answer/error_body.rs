//! Error responses with the bodies that the channel defines.

use serde::de::IgnoredAny;
use svc_model::config::{ErrorBody, Placeholder};
use svc_model::{ServiceError, Timestamp};

use crate::answer::response::ChannelResponse;

/// Longest request id that is repeated in a body, in characters, as in the platform's own envelope.
const MAX_REQUEST_ID: usize = 200;

/// Most problems of a message.
const MAX_PROBLEMS: usize = 3;

/// Renders the answer to a refusal with the body that the channel configures. Status, `Retry-After`,
/// `WWW-Authenticate` and the id of the trace are those of the refusal.
///
/// Returns `None` if the content type promises JSON and the filled template is none; the caller then answers with the
/// envelope of the platform.
pub(crate) fn render(
    refusal: &ServiceError,
    template: &ErrorBody,
    channel: &str,
    request_id: &str,
    now: Timestamp,
) -> Option<ChannelResponse> {
    let body = template.render(|field| match field {
        Placeholder::Status => refusal.status().to_string(),
        Placeholder::Code => refusal.code().name().to_owned(),
        Placeholder::Message => message_of(refusal),
        Placeholder::RequestId => request_id.chars().take(MAX_REQUEST_ID).collect(),
        Placeholder::Channel => channel.to_owned(),
        Placeholder::Timestamp => now.naive().format("%Y-%m-%dT%H:%M:%S%.3fZ").to_string(),
    });
    if is_json(&template.content_type) && serde_json::from_str::<IgnoredAny>(&body).is_err() {
        return None;
    }
    let mut headers = vec![("content-type".to_owned(), template.content_type.clone())];
    if let Some(seconds) = refusal.retry_after() {
        headers.push(("retry-after".to_owned(), seconds.to_string()));
    }
    if let Some(challenge) = refusal.challenge() {
        headers.push(("www-authenticate".to_owned(), challenge.to_owned()));
    }
    let (status, is_guess) = (refusal.status(), refusal.is_guess());
    let mut answer = ChannelResponse { status, headers, body: body.into(), is_guess, is_envelope: false };
    if let Some(id) = refusal.trace_id() {
        answer.set_trace_id(id);
    }
    Some(answer)
}

/// Returns the message of a refusal; of one that leaves several problems to its details, which no template has, the
/// first of them.
fn message_of(refusal: &ServiceError) -> String {
    let details = refusal.details();
    if details.len() < 2 {
        return refusal.message().to_owned();
    }
    let shown =
        details.iter().take(MAX_PROBLEMS).map(|problem| format!("{}: {}", problem.path, problem.message));
    let shown = shown.collect::<Vec<_>>().join("; ");
    match details.len().saturating_sub(MAX_PROBLEMS) {
        0 => shown,
        more => format!("{shown}; and {more} more"),
    }
}

fn is_json(content_type: &str) -> bool {
    content_type.to_ascii_lowercase().contains("json")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use svc_model::FieldError;
    use svc_model::config::ChannelConfig;

    use super::*;

    fn render_body(template: Value, refusal: &ServiceError) -> Option<ChannelResponse> {
        let config = json!({"response": {"error_bodies": {"default": template}}});
        let config = ChannelConfig::parse(&config).unwrap();
        let now = Timestamp::parse("2026-03-04T05:06:07.089123Z").unwrap();
        let template = config.response.error_body(refusal.status()).unwrap();
        render(refusal, template, "orders", &"r".repeat(300), now)
    }

    #[test]
    fn every_placeholder_is_filled_and_escaped() {
        let template = json!({
            "body": r#"{"s":{status},"c":"{code}","m":"{message}","r":"{request_id}","n":"{channel}","t":"{timestamp}","b":"{{x}}"}"#
        });
        let refusal = ServiceError::conflict("key '\"\n' already seen");
        let answer = render_body(template, &refusal).unwrap();
        let body: Value = serde_json::from_slice(&answer.body).unwrap();
        let expected = json!({"s": 409, "c": "CONFLICT", "m": "key '\"\n' already seen", "r": "r".repeat(200),
            "n": "orders", "t": "2026-03-04T05:06:07.089Z", "b": "{x}"});
        assert_eq!(body, expected);
        assert_eq!(answer.status, 409);
        assert_eq!(answer.headers, [("content-type".to_owned(), "application/json".to_owned())]);
    }

    #[test]
    fn message_of_several_problems_names_the_first() {
        let problems = |count: usize| {
            ServiceError::invalid(
                (0..count).map(|n| FieldError::invalid(format!("body.f{n}"), "no")).collect(),
            )
        };
        let message = |count: usize| {
            let answer = render_body(json!({"body": r#"{"m":"{message}"}"#}), &problems(count)).unwrap();
            serde_json::from_slice::<Value>(&answer.body).unwrap()["m"].as_str().unwrap().to_owned()
        };
        assert_eq!(message(1), "body.f0: no");
        assert_eq!(message(2), "body.f0: no; body.f1: no");
        assert_eq!(message(5), "body.f0: no; body.f1: no; body.f2: no; and 2 more");
    }

    #[test]
    fn the_headers_of_the_refusal_stay() {
        let template = json!({"body": "<no/>", "content_type": "application/xml"});
        let refusal = ServiceError::rate_limited().with_challenge("Bearer");
        let answer = render_body(template, &refusal).unwrap();
        let expected =
            [("content-type", "application/xml"), ("retry-after", "1"), ("www-authenticate", "Bearer")];
        assert_eq!(answer.headers, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
        assert_eq!((answer.status, &*answer.body), (429, &b"<no/>"[..]));
    }

    #[test]
    fn text_template_is_not_sent_as_json() {
        let template = json!({"body": "{message}", "content_type": "text/plain"});
        let config = json!({"response": {"error_bodies": {"401": template}}});
        let config = ChannelConfig::parse(&config).unwrap();
        let mut template = config.response.error_body(401).unwrap().clone();
        let render = |template: &_| {
            render(
                &ServiceError::unauthorized(),
                template,
                "c",
                "r",
                Timestamp::parse("2026-01-01T00:00:00Z").unwrap(),
            )
        };
        assert_eq!(render(&template).unwrap().body, "Unauthorized");
        template.content_type = "application/problem+JSON".into();
        assert_eq!(render(&template), None);
    }
}
