//! The `auth` block of type `oauth2`: access tokens that the service obtains itself.

use super::fields;
use super::unresolved::is_unresolved;
use crate::config::SecretText;
use crate::config::block::ConfigBlock;
use crate::config::declare::{Choice, block, choice};
use crate::content_hash;
use crate::field::FieldError;

/// Maximum refresh margin, in seconds.
const MAX_MARGIN: u64 = 3600;
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

choice! {
    /// The client authentication method (RFC 6749, section 2.3.1).
    pub enum OAuth2ClientAuth {
        /// HTTP Basic authentication.
        Basic = "basic",
        /// Parameters in the form body.
        Body = "body",
    }
}

choice! {
    /// The word for a grant type.
    enum GrantName {
        /// Client credentials.
        ClientCredentials = "client_credentials",
        /// A refresh token.
        RefreshToken = "refresh_token",
        /// Account credentials.
        AccountCredentials = "account_credentials",
    }
}

block! {
    form "type" = "oauth2", "access tokens that the service obtains itself";
    /// The keys of type `oauth2`, as they are written. A choice that is still a placeholder or reference is `None`.
    pub(super) struct OAuth2Keys {
        /// the grant type
        grant: Option<GrantName> => "client_credentials", required(), by(grant);
        /// the token endpoint, http or https
        token_url: String => "https://id.example/token", by(token_url);
        /// the client id
        client_id: String => "svc", by(fields::text);
        /// the client secret
        client_secret: SecretText => "env://CLIENT_SECRET", secret();
        /// the way the client proves its identity
        client_auth: Option<OAuth2ClientAuth> => "body", default("\"basic\""), by(settled_choice);
        /// the first refresh token, for that grant
        refresh_token: Option<String> => "env://REFRESH_TOKEN", secret();
        /// the account, for `account_credentials`
        account_id: Option<String> => "a1";
        /// the scopes that are asked for
        scopes: Vec<String> = _ => ["orders.read"], by(scopes);
        /// the form parameter `audience`
        audience: Option<String> => "https://api.example";
        /// the form parameter `resource`
        resource: Option<String> => "https://api.example";
        /// further form parameters
        extra_params: Vec<(String, SecretText)> = _ => {"tenant": "t1"}, by(extra_params), secret();
        /// seconds before its expiry at which a token is renewed
        refresh_margin_secs: u64 = 60 => 30, by(margin);
    }
}

type Read<T> = Result<Option<T>, FieldError>;

/// Reads the rest of a block after its type.
pub(super) fn parse(block: &mut ConfigBlock<'_>) -> Result<OAuth2, FieldError> {
    let keys = OAuth2Keys::read(block)?;
    let grant = read_grant(block, &keys)?;
    if keys.grant == Some(GrantName::AccountCredentials) {
        for (name, given) in [("audience", &keys.audience), ("resource", &keys.resource)] {
            if given.is_some() {
                return Err(block.invalid(name, "the grant account_credentials has no such parameter"));
            }
        }
    }
    Ok(OAuth2 {
        grant,
        token_url: keys.token_url,
        client_id: keys.client_id,
        client_secret: keys.client_secret,
        client_auth: keys.client_auth.unwrap_or(OAuth2ClientAuth::Basic),
        scopes: keys.scopes,
        audience: keys.audience,
        resource: keys.resource,
        extra_params: keys.extra_params,
        refresh_margin_secs: keys.refresh_margin_secs,
        fingerprint: content_hash(&block.value()),
    })
}

fn grant(block: &mut ConfigBlock<'_>, name: &'static str) -> Read<GrantName> {
    block.required_string(name)?;
    settled_choice(block, name)
}

/// Reads one of a set of names; returns `None` if it is absent, or a placeholder or reference.
fn settled_choice<T: Choice>(block: &mut ConfigBlock<'_>, name: &'static str) -> Read<T> {
    if block.string(name)?.is_some_and(|text| is_unresolved(&text)) {
        Ok(None)
    } else {
        block.choice(name, T::WORDS)
    }
}

fn token_url(block: &mut ConfigBlock<'_>, name: &'static str) -> Read<String> {
    let url = fields::http_url(block, name)?;
    if url.as_deref().is_some_and(fields::has_credentials) {
        return Err(block.invalid(name, "credentials belong in client_id and client_secret"));
    }
    Ok(url)
}

/// Takes the keys of the grant, and refuses those of other grants. A placeholder accepts the keys of all.
fn read_grant(block: &mut ConfigBlock<'_>, keys: &OAuth2Keys) -> Result<OAuth2Grant, FieldError> {
    let Some(grant) = keys.grant else { return Ok(OAuth2Grant::ClientCredentials) };
    let foreign = |field: &str| block.invalid(field, format!("the grant {} takes no {field}", grant.word()));
    if keys.refresh_token.is_some() && grant != GrantName::RefreshToken {
        return Err(foreign("refresh_token"));
    }
    if keys.account_id.is_some() && grant != GrantName::AccountCredentials {
        return Err(foreign("account_id"));
    }
    match grant {
        GrantName::ClientCredentials => Ok(OAuth2Grant::ClientCredentials),
        GrantName::RefreshToken => {
            let seed = SecretText::new(fields::required_text(block, "refresh_token")?);
            Ok(OAuth2Grant::RefreshToken { seed })
        }
        GrantName::AccountCredentials if keys.client_auth == Some(OAuth2ClientAuth::Body) => {
            Err(block.invalid("client_auth", "the grant account_credentials takes basic alone"))
        }
        GrantName::AccountCredentials => {
            Ok(OAuth2Grant::AccountCredentials { account_id: fields::required_text(block, "account_id")? })
        }
    }
}

fn scopes(block: &mut ConfigBlock<'_>, name: &'static str) -> Read<Vec<String>> {
    let scopes = block.strings(name)?.unwrap_or_default();
    match scopes.iter().position(|scope| scope.trim().is_empty()) {
        Some(index) => Err(block.invalid(&format!("{name}[{index}]"), "must not be empty")),
        None => Ok(Some(scopes)),
    }
}

fn extra_params(block: &mut ConfigBlock<'_>, name: &'static str) -> Read<Vec<(String, SecretText)>> {
    fields::scalars(block, name, |param| {
        if RESERVED.contains(&param) { Err("the service writes this parameter") } else { Ok(()) }
    })
}

fn margin(block: &mut ConfigBlock<'_>, name: &'static str) -> Read<u64> {
    match block.unsigned(name)? {
        Some(margin) if margin > MAX_MARGIN => {
            Err(block.invalid(name, format!("must be {MAX_MARGIN} or less")))
        }
        margin => Ok(margin),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

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
    fn smallest_block_has_defaults_and_prints_no_secret() {
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
    fn fingerprint_ignores_only_the_order_of_keys() {
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
    fn token_endpoint_is_among_the_dialled_places() {
        let config = ConnectorConfig::parse(ConnectorType::Http, &config(json!({}))).unwrap();
        let places = config.connection_targets();
        let token =
            ("connector.config.auth.token_url".to_owned(), ConnectionTarget::Url("https://id.example/token"));
        assert_eq!(places.len(), 2);
        assert_eq!(places[1], token);
    }
}
