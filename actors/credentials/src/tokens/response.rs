//! Responses of a token endpoint.

use std::time::Duration;

use serde_json::{Map, Value};
use svc_outbound::header::CONTENT_TYPE;
use svc_outbound::{OutboundResponse, StatusCode};
use url::form_urlencoded;

/// The lifetime of a token whose response does not specify one.
const DEFAULT_LIFE: Duration = Duration::from_secs(300);
/// A shorter life is taken for this one.
const SHORTEST_LIFE: Duration = Duration::from_secs(30);
/// A longer life is taken for this one: ten years.
const LONGEST_LIFE: Duration = Duration::from_secs(10 * 365 * 24 * 3600);
/// Maximum length of an error code that is repeated.
const LONGEST_CODE: usize = 64;

/// A granted token. Holds secrets.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct GrantedToken {
    pub(crate) access_token: String,
    pub(crate) lifetime: Duration,
    /// The next one, if there is a new one.
    pub(crate) refresh_token: Option<String>,
}

/// The media type of a form.
const FORM: &str = "application/x-www-form-urlencoded";

/// May precede a JSON text, and says nothing.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// A response without a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TokenRefusal {
    /// The endpoint said no: the reason, and the rest of its answer, for the log alone.
    Rejected { reason: String, description: Option<String> },
    /// It said nothing that can be used.
    Unusable(String),
}

/// Reads an answer. `rotates`: whether it may bring a refresh token.
pub(crate) fn read(answer: &OutboundResponse, rotates: bool) -> Result<GrantedToken, TokenRefusal> {
    let (status, document) = (answer.status, document(answer));
    let number = status.as_u16();
    let code = document["error"].as_str().filter(|code| is_code(code));
    if status.is_client_error() && !is_busy(status) {
        let code_text = code.map(|code| format!(": {code}")).unwrap_or_default();
        let remedy = match code {
            Some("invalid_grant") if rotates => "; update the connector with a fresh refresh_token",
            _ => "",
        };
        let reason = format!("the token endpoint refused with status {number}{code_text}{remedy}");
        let description = document["error_description"].as_str().map(str::to_owned);
        return Err(TokenRefusal::Rejected { reason, description });
    }
    if status.is_redirection() {
        let reason = format!("the token endpoint redirects (status {number}), which is not followed");
        return Err(TokenRefusal::Rejected { reason, description: None });
    }
    if !status.is_success() {
        return Err(TokenRefusal::Unusable(format!("the token endpoint answered with status {number}")));
    }
    parse_grant(&document, code, rotates)
}

/// Returns true for a status by which the endpoint asks to come again, not by which it refuses.
const fn is_busy(status: StatusCode) -> bool {
    matches!(status, StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS)
}

/// The members of an answer: JSON, or the form that some endpoints write whatever they are asked for; null for
/// any other.
fn document(answer: &OutboundResponse) -> Value {
    let body = answer.body.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&answer.body);
    if let Ok(document) = serde_json::from_slice(body) {
        return document;
    }
    let content_type = answer.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let kind = content_type.and_then(|value| value.split(';').next()).unwrap_or_default().trim();
    let may_be_form =
        ["", FORM, "text/plain"].into_iter().any(|readable| kind.eq_ignore_ascii_case(readable));
    if !may_be_form {
        return Value::Null;
    }
    let members = form_urlencoded::parse(body).map(|(name, value)| (name.into_owned(), value.into()));
    Value::Object(members.collect::<Map<_, _>>())
}

fn parse_grant(document: &Value, code: Option<&str>, rotates: bool) -> Result<GrantedToken, TokenRefusal> {
    let unusable = |what: &str| TokenRefusal::Unusable(format!("the answer of the token endpoint {what}"));
    let access_token = document["access_token"].as_str().unwrap_or_default();
    if access_token.is_empty() {
        let code_text = code.map(|code| format!(", but the error {code}")).unwrap_or_default();
        return Err(unusable(&format!("has no access_token{code_text}")));
    }
    if !access_token.bytes().all(|byte| (b' '..0x7f).contains(&byte)) {
        return Err(unusable("has an access_token that no header can hold"));
    }
    let bearer = match &document["token_type"] {
        Value::Null => true,
        Value::String(kind) => kind.eq_ignore_ascii_case("bearer"),
        _ => false,
    };
    if !bearer {
        let reason = "the token endpoint gave a token of another type than Bearer".to_owned();
        return Err(TokenRefusal::Rejected { reason, description: None });
    }
    let refresh_token = document["refresh_token"].as_str().filter(|token| rotates && !token.is_empty());
    Ok(GrantedToken {
        access_token: access_token.to_owned(),
        lifetime: lifetime(&document["expires_in"]),
        refresh_token: refresh_token.map(str::to_owned),
    })
}

/// Seconds, as a number or in a string.
fn lifetime(expires_in: &Value) -> Duration {
    let seconds = match expires_in {
        Value::String(text) => text.trim().parse().ok(),
        other => other.as_f64(),
    };
    let Some(seconds) = seconds.filter(|seconds: &f64| !seconds.is_nan()) else { return DEFAULT_LIFE };
    let bounded = seconds.clamp(SHORTEST_LIFE.as_secs_f64(), LONGEST_LIFE.as_secs_f64());
    Duration::from_secs_f64(bounded)
}

/// Returns `true` if a text can be an error code: no other text is repeated.
fn is_code(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    !text.is_empty() && text.len() <= LONGEST_CODE && text.bytes().all(plain)
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use svc_outbound::header::{HeaderMap, HeaderValue};

    use super::*;

    fn response(status: u16, content_type: &'static str, body: &str) -> OutboundResponse {
        let headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(content_type))]);
        OutboundResponse {
            status: StatusCode::from_u16(status).unwrap(),
            headers,
            body: body.as_bytes().to_vec().into(),
        }
    }

    fn answer(status: u16, body: Value) -> Result<GrantedToken, TokenRefusal> {
        read(&response(status, "application/json", &body.to_string()), true)
    }

    #[test]
    fn form_is_read_where_the_endpoint_writes_one() {
        let body = "access_token=gho_1&expires_in=28800&refresh_token=r%2B1&token_type=bearer&scope=a%2Cb";
        for content_type in [FORM, "application/x-www-form-urlencoded; charset=utf-8", "text/plain", ""] {
            let granted = read(&response(200, content_type, body), true).ok().unwrap();
            assert_eq!((granted.access_token.as_str(), granted.lifetime.as_secs()), ("gho_1", 28_800));
            assert_eq!(granted.refresh_token.as_deref(), Some("r+1"), "{content_type}");
        }
        let Err(TokenRefusal::Rejected { reason, .. }) =
            read(&response(400, FORM, "error=invalid_scope&error_description=swordfish"), true)
        else {
            panic!("not refused")
        };
        assert!(reason.ends_with("status 400: invalid_scope"), "{reason}");
        let page = read(&response(200, "text/html", body), true);
        assert!(matches!(page, Err(TokenRefusal::Unusable(_))));
    }

    #[test]
    fn token_life_is_a_bounded_number_or_text() {
        for (expires_in, seconds) in [
            (json!(3600), 3600),
            (json!("3600"), 3600),
            (json!(null), 300),
            (json!("soon"), 300),
            (json!(2), 30),
            (json!(0), 30),
            (json!(-5), 30),
            (json!("2"), 30),
            (json!(1e300), LONGEST_LIFE.as_secs()),
        ] {
            let granted = answer(200, json!({"access_token": "t", "expires_in": expires_in})).ok().unwrap();
            assert_eq!(granted.lifetime.as_secs(), seconds, "{expires_in}");
        }
    }

    #[test]
    fn a_token_counts_whatever_stands_beside_it() {
        let marked = "\u{feff}{\"access_token\": \"t\"}";
        assert!(read(&response(200, "application/json", marked), false).is_ok());
        let granted = answer(200, json!({"access_token": "t", "error": "none"})).ok().unwrap();
        assert_eq!(granted.access_token, "t");
    }

    #[test]
    fn the_token_type_is_bearer_or_absent() {
        for kind in [json!(null), json!("Bearer"), json!("bearer"), json!("BEARER")] {
            assert!(answer(200, json!({"access_token": "t", "token_type": kind})).is_ok());
        }
        for kind in [json!("mac"), json!("N_A"), json!(1)] {
            let refused = answer(200, json!({"access_token": "t", "token_type": kind})).err();
            assert!(matches!(refused, Some(TokenRefusal::Rejected { .. })), "{kind}");
        }
    }

    #[test]
    fn refusal_names_only_its_status_and_code() {
        for (status, body, part) in [
            (
                400,
                json!({"error": "invalid_scope", "error_description": "swordfish"}),
                "status 400: invalid_scope",
            ),
            (401, json!({"error": "invalid_client"}), "status 401: invalid_client"),
            (403, json!({"error": {"code": 1}}), "status 403"),
            (404, json!("gone"), "status 404"),
            (400, json!({"error": "swordfish is wrong"}), "status 400"),
            (302, json!({}), "redirects (status 302)"),
        ] {
            let Err(TokenRefusal::Rejected { reason, .. }) = answer(status, body.clone()) else {
                panic!("{status} {body}")
            };
            assert!(reason.contains(part) && !reason.contains("swordfish"), "{reason}");
        }
        let Err(TokenRefusal::Rejected { reason, description }) =
            answer(400, json!({"error": "invalid_grant", "error_description": "used"}))
        else {
            panic!("not refused")
        };
        assert!(
            reason.ends_with("invalid_grant; update the connector with a fresh refresh_token"),
            "{reason}"
        );
        assert_eq!(description.as_deref(), Some("used"));
    }

    #[test]
    fn unusable_answer_is_retryable() {
        for (status, body) in [
            (500, json!({"error": "invalid_grant"})),
            (503, json!({})),
            (429, json!({"error": "rate_limited"})),
            (408, json!({})),
            (200, json!("no object")),
            (200, json!({})),
            (200, json!({"error": "temporarily_unavailable"})),
            (200, json!({"access_token": ""})),
            (200, json!({"access_token": 1})),
            (200, json!({"access_token": "a\nb"})),
        ] {
            assert!(
                matches!(answer(status, body.clone()), Err(TokenRefusal::Unusable(_))),
                "{status} {body}"
            );
        }
    }

    #[test]
    fn a_refresh_token_is_taken_where_one_is_due() {
        let body = json!({"access_token": "t", "refresh_token": "r"}).to_string();
        let answer = response(200, "application/json", &body);
        let read = |rotates| read(&answer, rotates).ok().unwrap().refresh_token;
        assert_eq!((read(true).as_deref(), read(false)), (Some("r"), None));
    }
}
