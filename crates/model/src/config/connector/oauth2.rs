//! The `auth` block of type `oauth2`: access tokens that the service obtains itself.

use serde_json::Value;

use super::fields;
use super::unresolved::is_unresolved;
use crate::config::SecretText;
use crate::config::block::ConfigBlock;
use crate::content_hash;
use crate::field::FieldError;

/// Maximum refresh margin, in seconds.
const MAX_MARGIN: u64 = 3600;
/// Default refresh margin, in seconds.
const MARGIN: u64 = 60;
/// Form parameters that only the service sets.
const RESERVED: [&str; 8] = [
    "grant_type",
    "refresh_token",
    "client_id",
    "client_secret",
    "scope",
    "audience",
    "resource",
    "account_id",
];

/// Settings of an OAuth 2.0 client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OAuth2 {
    /// The grant type.
    pub grant: OAuth2Grant,
    /// URL of the token endpoint, http or https.
    pub token_url: String,
    /// The client id.
    pub client_id: String,
    /// The client secret.
    pub client_secret: SecretText,
    /// The client authentication method.
    pub client_auth: OAuth2ClientAuth,
    /// The requested scopes.
    pub scopes: Vec<String>,
    /// The form parameter `audience`.
    pub audience: Option<String>,
    /// The form parameter `resource` (RFC 8707).
    pub resource: Option<String>,
    /// Additional form parameters.
    pub extra_params: Vec<(String, SecretText)>,
    /// Time before its expiry at which a token is refreshed, in seconds.
    pub refresh_margin_secs: u64,
    /// Hash of all settings of the block. Derived from secrets, so it must never be shown.
    pub fingerprint: String,
}

/// The grant type of a token request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OAuth2Grant {
    /// Client credentials.
    ClientCredentials,
    /// A refresh token, which the token response may rotate.
    RefreshToken {
        /// The initial refresh token.
        seed: SecretText,
    },
    /// Account credentials: client credentials with the id of an account.
    AccountCredentials {
        /// The account (tenant).
        account_id: String,
    },
}

/// The client authentication method (RFC 6749, section 2.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OAuth2ClientAuth {
    /// HTTP Basic authentication.
    Basic,
    /// Parameters in the form body.
    Body,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    ClientCredentials,
    RefreshToken,
    AccountCredentials,
}

const GRANTS: [(&str, Kind); 3] = [
    ("client_credentials", Kind::ClientCredentials),
    ("refresh_token", Kind::RefreshToken),
    ("account_credentials", Kind::AccountCredentials),
];

const CLIENT_AUTHS: [(&str, OAuth2ClientAuth); 2] =
    [("basic", OAuth2ClientAuth::Basic), ("body", OAuth2ClientAuth::Body)];

/// Reads the rest of a block after its type.
pub(super) fn parse(block: &mut ConfigBlock<'_>) -> Result<OAuth2, FieldError> {
    let kind = read_choice(block, "grant", &GRANTS)?;
    let grant = block.string("grant")?.ok_or_else(|| block.missing("grant"))?;
    let token_url = fields::url(block, "token_url", &["http", "https"])?;
    if fields::has_credentials(&token_url) {
        return Err(block.invalid("token_url", "credentials belong in client_id and client_secret"));
    }
    let client_id = fields::required_text(block, "client_id")?;
    let client_secret = SecretText::new(block.required_string("client_secret")?);
    let given_auth = read_choice(block, "client_auth", &CLIENT_AUTHS)?;
    let oauth = OAuth2 {
        grant: read_grant(block, &grant, kind, given_auth)?,
        token_url,
        client_id,
        client_secret,
        client_auth: given_auth.unwrap_or(OAuth2ClientAuth::Basic),
        scopes: scopes(block)?,
        audience: block.string("audience")?,
        resource: block.string("resource")?,
        extra_params: extra_params(block)?,
        refresh_margin_secs: margin(block)?,
        fingerprint: content_hash(&block.value()),
    };
    if kind == Some(Kind::AccountCredentials) {
        for (name, given) in [("audience", &oauth.audience), ("resource", &oauth.resource)] {
            if given.is_some() {
                return Err(block.invalid(name, "the grant account_credentials has no such parameter"));
            }
        }
    }
    Ok(oauth)
}

/// Reads one of a set of names; returns `None` if it is absent, or a placeholder or reference.
fn read_choice<T: Copy>(
    block: &mut ConfigBlock<'_>,
    name: &'static str,
    choices: &[(&str, T)],
) -> Result<Option<T>, FieldError> {
    if block.string(name)?.is_some_and(|text| is_unresolved(&text)) {
        Ok(None)
    } else {
        block.choice(name, choices)
    }
}

/// Reads the grant and its own fields, and refuses the fields of other grants. A placeholder accepts the
/// fields of all.
fn read_grant(
    block: &mut ConfigBlock<'_>,
    name: &str,
    kind: Option<Kind>,
    auth: Option<OAuth2ClientAuth>,
) -> Result<OAuth2Grant, FieldError> {
    let seed = block.string("refresh_token")?;
    let account_id = block.string("account_id")?;
    let Some(kind) = kind else { return Ok(OAuth2Grant::ClientCredentials) };
    let foreign = |field: &str| block.invalid(field, format!("the grant {name} takes no {field}"));
    if seed.is_some() && kind != Kind::RefreshToken {
        return Err(foreign("refresh_token"));
    }
    if account_id.is_some() && kind != Kind::AccountCredentials {
        return Err(foreign("account_id"));
    }
    match kind {
        Kind::ClientCredentials => Ok(OAuth2Grant::ClientCredentials),
        Kind::RefreshToken => {
            let seed = SecretText::new(fields::required_text(block, "refresh_token")?);
            Ok(OAuth2Grant::RefreshToken { seed })
        }
        Kind::AccountCredentials if auth == Some(OAuth2ClientAuth::Body) => {
            Err(block.invalid("client_auth", "the grant account_credentials takes basic alone"))
        }
        Kind::AccountCredentials => {
            Ok(OAuth2Grant::AccountCredentials { account_id: fields::required_text(block, "account_id")? })
        }
    }
}

fn scopes(block: &mut ConfigBlock<'_>) -> Result<Vec<String>, FieldError> {
    let scopes = block.strings("scopes")?.unwrap_or_default();
    match scopes.iter().position(|scope| scope.trim().is_empty()) {
        Some(index) => Err(block.invalid(&format!("scopes[{index}]"), "must not be empty")),
        None => Ok(scopes),
    }
}

fn extra_params(block: &mut ConfigBlock<'_>) -> Result<Vec<(String, SecretText)>, FieldError> {
    let mut params = Vec::new();
    for (name, value) in block.map("extra_params")?.into_iter().flatten() {
        let field = format!("extra_params.{name}");
        if RESERVED.contains(&name.as_str()) {
            return Err(block.invalid(&field, "the service writes this parameter"));
        }
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Number(_) | Value::Bool(_) => value.to_string(),
            other => return Err(FieldError::type_mismatch(block.field(&field), "scalar", other)),
        };
        params.push((name.clone(), SecretText::new(text)));
    }
    Ok(params)
}

fn margin(block: &mut ConfigBlock<'_>) -> Result<u64, FieldError> {
    let margin = block.unsigned("refresh_margin_secs")?.unwrap_or(MARGIN);
    if margin > MAX_MARGIN {
        return Err(block.invalid("refresh_margin_secs", format!("must be {MAX_MARGIN} or less")));
    }
    Ok(margin)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::ConnectorType;
    use crate::config::connector::{ConnectionTarget, ConnectorConfig, HttpAuth};

    fn config(more: Value) -> Value {
        let mut auth = json!({"type": "oauth2", "grant": "client_credentials",
            "token_url": "https://id.example/token", "client_id": "id", "client_secret": "swordfish"});
        for (key, value) in more.as_object().unwrap() {
            auth[key] = value.clone();
        }
        json!({"url": "https://api.example", "auth": auth})
    }

    fn parse_settings(more: Value) -> Result<OAuth2, String> {
        match ConnectorConfig::parse(ConnectorType::Http, &config(more)) {
            Ok(ConnectorConfig::Http(http)) => match http.auth {
                Some(HttpAuth::OAuth2(oauth)) => Ok(*oauth),
                other => panic!("{other:?}"),
            },
            Ok(other) => panic!("{other:?}"),
            Err(errors) => Err(errors[0].path.trim_start_matches("connector.config.auth.").to_owned()),
        }
    }

    #[test]
    fn the_least_block_has_its_defaults_and_prints_no_secret() {
        let oauth = parse_settings(json!({"extra_params": {"k": "swordfish", "n": 1}})).unwrap();
        assert_eq!(
            (&oauth.grant, oauth.client_auth),
            (&OAuth2Grant::ClientCredentials, OAuth2ClientAuth::Basic)
        );
        assert_eq!((oauth.refresh_margin_secs, oauth.scopes.len()), (60, 0));
        assert_eq!(oauth.extra_params[1].1.expose(), "1");
        assert!(!format!("{oauth:?}").contains("swordfish"));
    }

    #[test]
    fn each_problem_has_its_place() {
        for (more, place) in [
            (json!({"grant": "password"}), "grant"),
            (json!({"grant": null}), "grant"),
            (json!({"token_url": "ftp://id.example"}), "token_url"),
            (json!({"token_url": "https://id:swordfish@id.example/token"}), "token_url"),
            (json!({"client_id": " "}), "client_id"),
            (json!({"client_secret": null}), "client_secret"),
            (json!({"client_auth": "jwt"}), "client_auth"),
            (json!({"refresh_token": "r"}), "refresh_token"),
            (json!({"account_id": "a"}), "account_id"),
            (json!({"grant": "refresh_token"}), "refresh_token"),
            (json!({"grant": "refresh_token", "refresh_token": ""}), "refresh_token"),
            (json!({"grant": "refresh_token", "refresh_token": "r", "account_id": "a"}), "account_id"),
            (json!({"grant": "account_credentials"}), "account_id"),
            (
                json!({"grant": "account_credentials", "account_id": "a", "client_auth": "body"}),
                "client_auth",
            ),
            (json!({"grant": "account_credentials", "account_id": "a", "audience": "x"}), "audience"),
            (json!({"grant": "account_credentials", "account_id": "a", "resource": "x"}), "resource"),
            (json!({"scopes": "read"}), "scopes"),
            (json!({"scopes": ["read", ""]}), "scopes[1]"),
            (json!({"extra_params": {"client_id": "x"}}), "extra_params.client_id"),
            (json!({"extra_params": {"k": []}}), "extra_params.k"),
            (json!({"refresh_margin_secs": 3601}), "refresh_margin_secs"),
            (json!({"refresh_margin_secs": -1}), "refresh_margin_secs"),
            (json!({"scope": "read"}), "scope"),
        ] {
            assert_eq!(parse_settings(more.clone()).unwrap_err(), place, "{more}");
        }
    }

    #[test]
    fn unresolved_references_are_not_checked() {
        for more in [
            json!({"grant": "${GRANT}", "account_id": "a", "client_auth": "env://HOW", "token_url": "env://URL"}),
            json!({"grant": "refresh_token", "refresh_token": "env://SEED", "client_secret": "vault://kv#s"}),
            json!({"grant": "account_credentials", "account_id": "a", "client_auth": "${HOW}"}),
        ] {
            assert!(parse_settings(more.clone()).is_ok(), "{more}");
        }
    }

    #[test]
    fn the_fingerprint_changes_with_anything_but_the_order_of_keys() {
        let of = |more| parse_settings(more).unwrap().fingerprint;
        assert_eq!(
            of(json!({"audience": "a", "resource": "r"})),
            of(json!({"resource": "r", "audience": "a"}))
        );
        for more in
            [json!({"client_secret": "other"}), json!({"scopes": ["a"]}), json!({"refresh_margin_secs": 1})]
        {
            assert_ne!(of(more), of(json!({})));
        }
    }

    #[test]
    fn the_token_endpoint_is_a_place_connections_go_to() {
        let config = ConnectorConfig::parse(ConnectorType::Http, &config(json!({}))).unwrap();
        let places = config.connection_targets();
        let token =
            ("connector.config.auth.token_url".to_owned(), ConnectionTarget::Url("https://id.example/token"));
        assert_eq!(places.len(), 2);
        assert_eq!(places[1], token);
    }
}
