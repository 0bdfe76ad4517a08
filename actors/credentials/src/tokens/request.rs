//! Requests to a token endpoint (RFC 6749; RFC 8707 for `resource`).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use svc_model::config::connector::{OAuth2, OAuth2ClientAuth, OAuth2Grant};
use svc_outbound::header::{ACCEPT, AUTHORIZATION, HeaderMap, HeaderValue};
use url::form_urlencoded::{Serializer, byte_serialize};

/// A request for a token. Holds secrets.
pub(crate) struct TokenRequest {
    pub(crate) headers: HeaderMap,
    pub(crate) form: String,
}

impl TokenRequest {
    /// Creates the request of a grant; `refresh_token` if there is one to show.
    pub(crate) fn new(oauth: &OAuth2, refresh_token: Option<&str>) -> Self {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        let mut form = Serializer::new(String::new());
        match &oauth.grant {
            OAuth2Grant::ClientCredentials => {
                form.append_pair("grant_type", "client_credentials");
            }
            OAuth2Grant::RefreshToken { seed } => {
                form.append_pair("grant_type", "refresh_token");
                form.append_pair("refresh_token", refresh_token.unwrap_or(seed.expose()));
            }
            OAuth2Grant::AccountCredentials { account_id } => {
                form.append_pair("grant_type", "account_credentials");
                form.append_pair("account_id", account_id);
            }
        }
        if !oauth.scopes.is_empty() {
            form.append_pair("scope", &oauth.scopes.join(" "));
        }
        for (name, value) in [("audience", &oauth.audience), ("resource", &oauth.resource)] {
            if let Some(value) = value {
                form.append_pair(name, value);
            }
        }
        for (name, value) in &oauth.extra_params {
            form.append_pair(name, value.expose());
        }
        let (id, secret) = (oauth.client_id.as_str(), oauth.client_secret.expose());
        match oauth.client_auth {
            OAuth2ClientAuth::Body => {
                form.append_pair("client_id", id).append_pair("client_secret", secret);
            }
            OAuth2ClientAuth::Basic => {
                headers.insert(AUTHORIZATION, basic(id, secret));
            }
        }
        Self { headers, form: form.finish() }
    }
}

/// Lists the secrets of a token request.
pub fn secrets(oauth: &OAuth2, refresh_token: Option<&str>) -> Vec<String> {
    let (id, secret) = (oauth.client_id.as_str(), oauth.client_secret.expose());
    let seed = match &oauth.grant {
        OAuth2Grant::RefreshToken { seed } => Some(seed.expose()),
        OAuth2Grant::ClientCredentials | OAuth2Grant::AccountCredentials { .. } => None,
    };
    let further = oauth.extra_params.iter().map(|(_, value)| value.expose());
    let plain = std::iter::once(secret).chain(seed).chain(refresh_token).chain(further);
    // Without its padding, which not everybody writes.
    let blob = credentials(id, secret).trim_end_matches('=').to_owned();
    plain.map(str::to_owned).chain([blob]).collect()
}

fn form_encoded(text: &str) -> String {
    byte_serialize(text.as_bytes()).collect()
}

fn credentials(id: &str, secret: &str) -> String {
    STANDARD.encode(format!("{}:{}", form_encoded(id), form_encoded(secret)))
}

/// Both parts are form-encoded before they are joined (RFC 6749, 2.3.1).
fn basic(id: &str, secret: &str) -> HeaderValue {
    // Base64 can stand in any header.
    let mut value = HeaderValue::try_from(format!("Basic {}", credentials(id, secret)))
        .unwrap_or_else(|_| HeaderValue::from_static("Basic"));
    value.set_sensitive(true);
    value
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use svc_model::ConnectorType;
    use svc_model::config::connector::{ConnectorConfig, HttpAuth};

    use super::*;

    fn block(more: &Value) -> OAuth2 {
        let mut auth = json!({"type": "oauth2", "grant": "client_credentials", "token_url": "https://id.example",
            "client_id": "a b", "client_secret": "s:ü&%"});
        for (key, value) in more.as_object().unwrap() {
            auth[key] = value.clone();
        }
        let config = json!({"url": "https://api.example", "auth": auth});
        let ConnectorConfig::Http(http) = ConnectorConfig::parse(ConnectorType::Http, &config).unwrap()
        else {
            panic!("not http")
        };
        let Some(HttpAuth::OAuth2(oauth)) = http.auth else { panic!("not oauth2") };
        *oauth
    }

    fn order(more: Value, refresh_token: Option<&str>) -> (String, Option<String>) {
        let oauth = block(&more);
        let TokenRequest { headers, form } = TokenRequest::new(&oauth, refresh_token);
        let authorization = headers.get(AUTHORIZATION).map(|value| value.to_str().unwrap().to_owned());
        (form, authorization)
    }

    #[test]
    fn each_grant_sends_what_belongs_to_it() {
        for (more, shown, form) in [
            (json!({}), None, "grant_type=client_credentials"),
            (
                json!({"scopes": ["a", "b:c"], "audience": "https://x", "resource": "urn:y", "extra_params": {"k": "v w"}}),
                None,
                "grant_type=client_credentials&scope=a+b%3Ac&audience=https%3A%2F%2Fx&resource=urn%3Ay&k=v+w",
            ),
            (
                json!({"grant": "refresh_token", "refresh_token": "seed", "scopes": ["a"]}),
                None,
                "grant_type=refresh_token&refresh_token=seed&scope=a",
            ),
            (
                json!({"grant": "refresh_token", "refresh_token": "seed"}),
                Some("later"),
                "grant_type=refresh_token&refresh_token=later",
            ),
            (
                json!({"grant": "account_credentials", "account_id": "t1", "extra_params": {"n": 1}}),
                None,
                "grant_type=account_credentials&account_id=t1&n=1",
            ),
        ] {
            let (sent, authorization) = order(more.clone(), shown);
            assert_eq!(sent, form, "{more}");
            assert!(authorization.is_some(), "{more}");
        }
    }

    #[test]
    fn client_credentials_are_in_header_or_form() {
        let (form, authorization) = order(json!({}), None);
        assert!(!form.contains("client_id") && !form.contains("client_secret"), "{form}");
        let sent = authorization.unwrap();
        let sent = STANDARD.decode(sent.strip_prefix("Basic ").unwrap()).unwrap();
        assert_eq!(String::from_utf8(sent).unwrap(), "a+b:s%3A%C3%BC%26%25");
        let (form, authorization) = order(json!({"client_auth": "body"}), None);
        assert_eq!(form, "grant_type=client_credentials&client_id=a+b&client_secret=s%3A%C3%BC%26%25");
        assert_eq!(authorization, None);
    }

    #[test]
    fn secrets_of_a_request_are_known() {
        let more = json!({"grant": "refresh_token", "refresh_token": "se ed", "extra_params": {"k": "v w"}});
        let known = secrets(&block(&more), Some("later"));
        let blob = STANDARD.encode("a+b:s%3A%C3%BC%26%25");
        for secret in ["s:ü&%", "se ed", "v w", "later", blob.trim_end_matches('=')] {
            assert!(known.iter().any(|text| text == secret), "{secret}");
        }
    }
}
