//! The answers of a provider: its grant for a code, and its description of a person.

use serde_json::{Map, Value};
use svc_model::config::IdentityClaims;
use svc_model::without_byte_order_mark;

use super::access::ProviderAnswer;
use super::refusal::SignInRefusal;

/// Maximum length of an error code that is repeated.
const LONGEST_CODE: usize = 64;
/// Maximum length of a description that is repeated, in characters.
const LONGEST_DESCRIPTION: usize = 256;
/// The members of a grant that a workflow sees.
const GRANT: [&str; 6] = ["access_token", "token_type", "expires_in", "refresh_token", "id_token", "scope"];

/// Reads the answer of a token endpoint: the grant, with an access token.
///
/// # Errors
/// [`SignInRefusal::CodeRefused`] if the provider refuses, [`SignInRefusal::Unavailable`] if it has a fault,
/// [`SignInRefusal::NoToken`] if it gives none.
pub(super) fn read_grant(answer: &ProviderAnswer) -> Result<Map<String, Value>, SignInRefusal> {
    let members: Option<Map<String, Value>> =
        serde_json::from_slice(without_byte_order_mark(&answer.body)).ok();
    check_status("the token endpoint", answer.status)?;
    let code = members.as_ref().and_then(|members| error_code(members.get("error")?.as_str()?));
    if !is_success(answer.status) {
        return Err(SignInRefusal::CodeRefused(code));
    }
    let mut members = members.ok_or(SignInRefusal::NoToken("the answer is no JSON object"))?;
    // Some providers refuse with status 200.
    if members.contains_key("error") && !members.contains_key("access_token") {
        return Err(SignInRefusal::CodeRefused(code));
    }
    members.retain(|name, _| GRANT.contains(&name.as_str()));
    let is_text = |value: &Value| value.as_str().is_some_and(|text| !text.is_empty());
    if !members.get("access_token").is_some_and(is_text) {
        return Err(SignInRefusal::NoToken("the answer has no access_token"));
    }
    Ok(members)
}

/// Reads the description of a person.
///
/// # Errors
/// [`SignInRefusal::UserinfoRefused`] if there is none, [`SignInRefusal::Unavailable`] if the provider has a fault.
pub(super) fn read_userinfo(answer: &ProviderAnswer) -> Result<Map<String, Value>, SignInRefusal> {
    check_status("userinfo", answer.status)?;
    let members = serde_json::from_slice(without_byte_order_mark(&answer.body)).ok();
    members.filter(|_| is_success(answer.status)).ok_or(SignInRefusal::UserinfoRefused)
}

const fn is_success(status: u16) -> bool {
    status >= 200 && status < 300
}

/// Refuses a status by which the provider asks to come again, or says that it has a fault.
fn check_status(endpoint: &str, status: u16) -> Result<(), SignInRefusal> {
    match status {
        408 | 429 | 500.. => {
            Err(SignInRefusal::Unavailable(format!("{endpoint} answered with status {status}")))
        }
        _ => Ok(()),
    }
}

/// Returns a text that can be an error code (RFC 6749, section 5.2): no other text is repeated.
pub(super) fn error_code(text: &str) -> Option<String> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let is_code = !text.is_empty() && text.len() <= LONGEST_CODE && text.bytes().all(is_plain);
    is_code.then(|| text.to_owned())
}

/// Returns the beginning of a description, without control characters.
pub(super) fn description(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_control()).take(LONGEST_DESCRIPTION).collect()
}

/// Adds the members that the claims lack.
pub(super) fn complete(claims: &mut Map<String, Value>, more: Map<String, Value>) {
    for (name, value) in more {
        claims.entry(name).or_insert(value);
    }
}

/// Makes the identity of a person from claims; `None` without a subject, which is a text or a number.
pub(super) fn identity(
    claims: &Map<String, Value>,
    names: &IdentityClaims,
    provider: &str,
    kind: &str,
) -> Option<Map<String, Value>> {
    let subject = match claims.get(&names.subject)? {
        Value::String(text) if !text.is_empty() => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    let mut identity = Map::new();
    identity.insert("provider".to_owned(), provider.into());
    identity.insert("kind".to_owned(), kind.into());
    identity.insert("subject".to_owned(), subject.into());
    for (name, claim) in
        [("login", &names.login), ("name", &names.name), ("email", &names.email), ("picture", &names.picture)]
    {
        if let Some(Value::String(text)) = claims.get(claim) {
            identity.insert(name.to_owned(), text.as_str().into());
        }
    }
    Some(identity)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answer(status: u16, body: &str) -> ProviderAnswer {
        ProviderAnswer { status, body: body.as_bytes().to_vec() }
    }

    #[test]
    fn grant_has_its_members_alone() {
        let body = json!({"access_token": "a", "token_type": "Bearer", "expires_in": 60, "secret": "x"});
        let grant = read_grant(&answer(200, &body.to_string())).unwrap();
        assert_eq!(
            Value::Object(grant),
            json!({"access_token": "a", "token_type": "Bearer", "expires_in": 60})
        );
    }

    #[test]
    fn answers_without_a_token_are_refusals() {
        let refused = |code: Option<&str>| SignInRefusal::CodeRefused(code.map(str::to_owned));
        for (status, body, expected) in [
            (400, r#"{"error": "invalid_grant"}"#, refused(Some("invalid_grant"))),
            (401, r#"{"error": "<script>"}"#, refused(None)),
            (404, "gone", refused(None)),
            (302, "", refused(None)),
            (200, r#"{"error": "bad_verification_code"}"#, refused(Some("bad_verification_code"))),
            (200, "access_token=a", SignInRefusal::NoToken("the answer is no JSON object")),
            (200, r#"{"access_token": ""}"#, SignInRefusal::NoToken("the answer has no access_token")),
        ] {
            assert_eq!(read_grant(&answer(status, body)), Err(expected), "{status} {body}");
        }
        assert!(read_grant(&answer(200, "\u{feff}{\"access_token\": \"t\"}")).is_ok());
        assert!(read_userinfo(&answer(200, "\u{feff}{\"sub\": \"ada\"}")).is_ok());
        for status in [408, 429, 500, 503] {
            assert!(read_grant(&answer(status, "{}")).unwrap_err().is_temporary(), "{status}");
        }
        assert_eq!(read_userinfo(&answer(200, "jwt")), Err(SignInRefusal::UserinfoRefused));
        assert_eq!(read_userinfo(&answer(401, "{}")), Err(SignInRefusal::UserinfoRefused));
    }

    #[test]
    fn subject_is_always_a_text() {
        let names =
            IdentityClaims { subject: "id".into(), login: "login".into(), ..IdentityClaims::default() };
        let claims = json!({"id": 4711, "login": "ada", "name": "Ada", "email": null, "picture": 7});
        let found = identity(claims.as_object().unwrap(), &names, "hub", "oauth2").map(Value::Object);
        let expected =
            json!({"provider": "hub", "kind": "oauth2", "subject": "4711", "login": "ada", "name": "Ada"});
        assert_eq!(found, Some(expected));
        for claims in [json!({}), json!({"id": ""}), json!({"id": [1]})] {
            assert_eq!(identity(claims.as_object().unwrap(), &names, "hub", "oauth2"), None);
        }
    }

    #[test]
    fn claims_of_the_id_token_are_kept() {
        let mut claims = json!({"sub": "1", "email": "a@x"}).as_object().unwrap().clone();
        complete(&mut claims, json!({"email": "evil@x", "name": "Ada"}).as_object().unwrap().clone());
        assert_eq!(Value::Object(claims), json!({"sub": "1", "email": "a@x", "name": "Ada"}));
    }
}
