//! The document by which an issuer describes itself (OpenID Connect Discovery 1.0).

use serde_json::{Map, Value};
use svc_model::without_byte_order_mark;

/// Maximum length of the document, in bytes.
pub const MAX_ISSUER_DOCUMENT: usize = 65_536;

/// The path of the document below its issuer.
const WELL_KNOWN: &str = "/.well-known/openid-configuration";

/// An error in the document of an issuer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DiscoveryError {
    /// The document is not a JSON object.
    #[error("the answer is no discovery document")]
    Malformed,
    /// The document is that of another issuer.
    #[error("the discovery document names another issuer")]
    OtherIssuer,
    /// The document has no such address, or one that is not https.
    #[error("the discovery document has no https address at {0}")]
    NoAddress(&'static str),
}

/// The addresses of an issuer. Those that are absent or not https are `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IssuerDocument {
    /// The page to which browsers are sent.
    pub authorization_endpoint: Option<String>,
    /// The endpoint that gives tokens for codes.
    pub token_endpoint: Option<String>,
    /// The endpoint that describes the holder of a token.
    pub userinfo_endpoint: Option<String>,
    /// The key set.
    pub jwks_uri: Option<String>,
}

impl IssuerDocument {
    /// Returns the address of an issuer's document.
    pub fn address(issuer: &str) -> String {
        format!("{}{WELL_KNOWN}", issuer.trim_end_matches('/'))
    }

    /// Parses the document of `issuer`.
    ///
    /// # Errors
    /// [`DiscoveryError::Malformed`] if it is no object, [`DiscoveryError::OtherIssuer`] if its `issuer` is not exactly
    /// this one.
    pub fn parse(document: &[u8], issuer: &str) -> Result<Self, DiscoveryError> {
        let document: Map<String, Value> = serde_json::from_slice(without_byte_order_mark(document))
            .map_err(|_| DiscoveryError::Malformed)?;
        if document.get("issuer").and_then(Value::as_str) != Some(issuer) {
            return Err(DiscoveryError::OtherIssuer);
        }
        let address = |name: &str| {
            let text = document.get(name)?.as_str()?;
            text.starts_with("https://").then(|| text.to_owned())
        };
        Ok(Self {
            authorization_endpoint: address("authorization_endpoint"),
            token_endpoint: address("token_endpoint"),
            userinfo_endpoint: address("userinfo_endpoint"),
            jwks_uri: address("jwks_uri"),
        })
    }

    /// Returns the address of the key set.
    ///
    /// # Errors
    /// [`DiscoveryError::NoAddress`] if there is none.
    pub fn key_set_address(&self) -> Result<&str, DiscoveryError> {
        self.jwks_uri.as_deref().ok_or(DiscoveryError::NoAddress("jwks_uri"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const ISSUER: &str = "https://id.example/tenant";

    fn parse(document: &Value) -> Result<IssuerDocument, DiscoveryError> {
        IssuerDocument::parse(document.to_string().as_bytes(), ISSUER)
    }

    #[test]
    fn document_lies_below_its_issuer() {
        let expected = "https://id.example/tenant/.well-known/openid-configuration";
        assert_eq!(IssuerDocument::address(ISSUER), expected);
        assert_eq!(IssuerDocument::address("https://id.example/tenant/"), expected);
    }

    #[test]
    fn addresses_over_https_are_taken() {
        let document = parse(&json!({"issuer": ISSUER, "jwks_uri": "https://id.example/keys",
            "token_endpoint": "http://id.example/token", "userinfo_endpoint": 7}))
        .unwrap();
        assert_eq!(document.key_set_address(), Ok("https://id.example/keys"));
        let marked = format!("\u{feff}{}", json!({"issuer": ISSUER}));
        assert!(IssuerDocument::parse(marked.as_bytes(), ISSUER).is_ok());
        let absent = (document.token_endpoint, document.userinfo_endpoint, document.authorization_endpoint);
        assert_eq!(absent, (None, None, None));
    }

    #[test]
    fn document_of_another_issuer_is_refused() {
        for issuer in ["https://id.example", "https://id.example/tenant/", "https://ID.example/tenant"] {
            assert_eq!(parse(&json!({"issuer": issuer})), Err(DiscoveryError::OtherIssuer), "{issuer}");
        }
        assert_eq!(parse(&json!({})), Err(DiscoveryError::OtherIssuer));
        assert_eq!(parse(&json!([])), Err(DiscoveryError::Malformed));
        assert_eq!(IssuerDocument::parse(b"<html>", ISSUER), Err(DiscoveryError::Malformed));
        let keyless = parse(&json!({"issuer": ISSUER})).unwrap();
        assert_eq!(keyless.key_set_address(), Err(DiscoveryError::NoAddress("jwks_uri")));
    }
}
