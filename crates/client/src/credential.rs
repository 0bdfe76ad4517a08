//! The key of an admin, as it is sent.

use std::fmt;

use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};

use crate::error::ClientError;

/// An admin key and the header that carries it. Never printed.
#[derive(Clone)]
pub struct ApiKey {
    header: HeaderName,
    value: HeaderValue,
}

impl ApiKey {
    /// Makes a credential of a key. It is sent as `Authorization: Bearer`, or as it is in the header that is named.
    ///
    /// # Errors
    /// [`ClientError::HeaderName`] when the name is none; [`ClientError::HeaderText`] when the key cannot be sent in a
    /// header.
    pub fn new(key: &str, header: Option<&str>) -> Result<Self, ClientError> {
        let name = header.map_or(Ok(AUTHORIZATION), |name| {
            HeaderName::try_from(name)
                .map_err(|_| ClientError::HeaderName { item: "the name of the key's header" })
        })?;
        let text = if name == AUTHORIZATION { format!("Bearer {key}") } else { key.to_owned() };
        let value = HeaderValue::try_from(text).map_err(|_| ClientError::HeaderText { item: "key" });
        let mut value = value?;
        value.set_sensitive(true);
        Ok(Self { header: name, value })
    }

    pub(crate) fn add_to(&self, headers: &mut HeaderMap) {
        headers.insert(self.header.clone(), self.value.clone());
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiKey").field("header", &self.header).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent_headers(key: &ApiKey) -> Vec<(String, String)> {
        let mut headers = HeaderMap::new();
        key.add_to(&mut headers);
        headers.iter().map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned())).collect()
    }

    #[test]
    fn key_is_bearer_token_unless_header_is_named() {
        let pair = |name: &str, value: &str| vec![(name.to_owned(), value.to_owned())];
        assert_eq!(sent_headers(&ApiKey::new("k1", None).unwrap()), pair("authorization", "Bearer k1"));
        assert_eq!(
            sent_headers(&ApiKey::new("k1", Some("Authorization")).unwrap()),
            pair("authorization", "Bearer k1")
        );
        assert_eq!(sent_headers(&ApiKey::new("k1", Some("X-API-Key")).unwrap()), pair("x-api-key", "k1"));
    }

    #[test]
    fn key_is_not_printed() {
        let key = ApiKey::new("very-secret", Some("x-api-key")).unwrap();
        let mut headers = HeaderMap::new();
        key.add_to(&mut headers);
        let error = ApiKey::new("very-secret\n", None).unwrap_err();
        for text in [format!("{key:?}"), format!("{headers:?}"), format!("{error} {error:?}")] {
            assert!(!text.contains("secret"), "{text}");
        }
    }
}
