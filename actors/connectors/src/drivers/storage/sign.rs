//! Presigned URLs: signature version 4 in the query. Pure but for the time in the signature.

use std::time::Duration;

use rusty_s3::S3Action;
use svc_outbound::Url;

use super::settings::StorageSettings;

/// Lifetime of a URL that the service signs for its own requests.
const OWN: Duration = Duration::from_secs(300);

/// The access that a presigned URL grants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ObjectAccess {
    /// Reading the object. The store answers with these headers instead of its own.
    Get { content_type: Option<String>, content_disposition: Option<String> },
    /// Writing the object. The request must have this content type and number of bytes, if they are named.
    Put { content_type: Option<String>, content_length: Option<u64> },
}

/// A permission to be written into a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PresignGrant {
    /// The object.
    pub(crate) key: String,
    /// The access it grants.
    pub(crate) to: ObjectAccess,
    /// Lifetime from now on.
    pub(crate) expires_in: Duration,
}

impl StorageSettings {
    /// The URL of a grant. Its key must have been [checked](svc_functions::declarations::storage::check_key).
    pub(crate) fn sign(&self, grant: &PresignGrant) -> Url {
        let PresignGrant { key, to, expires_in } = grant;
        match to {
            ObjectAccess::Get { content_type, content_disposition } => {
                let mut action = self.bucket.get_object(Some(&self.credentials), key);
                for (name, value) in [
                    ("response-content-type", content_type),
                    ("response-content-disposition", content_disposition),
                ] {
                    if let Some(value) = value {
                        action.query_mut().insert(name, value.as_str());
                    }
                }
                action.sign(*expires_in)
            }
            ObjectAccess::Put { content_type, content_length } => {
                let mut action = self.bucket.put_object(Some(&self.credentials), key);
                if let Some(content_type) = content_type {
                    action.headers_mut().insert("content-type", content_type.as_str());
                }
                if let Some(length) = content_length {
                    action.headers_mut().insert("content-length", length.to_string());
                }
                action.sign(*expires_in)
            }
        }
    }

    /// Returns the signed URL for the metadata of an object.
    pub(super) fn object(&self, key: &str) -> Url {
        self.bucket.head_object(Some(&self.credentials), key).sign(OWN)
    }

    /// Returns the signed URL of an object that the service reads.
    pub(super) fn object_to_read(&self, key: &str) -> Url {
        self.bucket.get_object(Some(&self.credentials), key).sign(OWN)
    }

    /// Returns the signed URL of an object that the service writes with this content type.
    pub(super) fn object_to_write(&self, key: &str, content_type: &str) -> Url {
        let mut action = self.bucket.put_object(Some(&self.credentials), key);
        action.headers_mut().insert("content-type", content_type);
        action.sign(OWN)
    }

    /// Returns the signed URL for the existence of the bucket.
    pub(super) fn bucket(&self) -> Url {
        self.bucket.head_bucket(Some(&self.credentials)).sign(OWN)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use svc_functions::declarations::storage::check_key;
    use svc_model::ConnectorType;
    use svc_model::config::connector::ConnectorConfig;

    use super::*;

    fn settings(more: Value) -> Result<StorageSettings, String> {
        let mut config = json!({"endpoint": "https://s3.example.com", "region": "eu-west-1", "bucket": "b",
            "access_key": "AK", "secret_key": "swordfish"});
        config.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        match ConnectorConfig::parse(ConnectorType::Storage, &config).unwrap() {
            ConnectorConfig::Storage(config) => StorageSettings::new(&config),
            other => panic!("{other:?}"),
        }
    }

    fn get(settings: &StorageSettings, key: &str) -> Url {
        let to = ObjectAccess::Get { content_type: None, content_disposition: None };
        settings.sign(&PresignGrant { key: key.into(), to, expires_in: Duration::from_secs(60) })
    }

    fn query(url: &Url, name: &str) -> Option<String> {
        url.query_pairs().find(|(known, _)| known == name).map(|(_, value)| value.into_owned())
    }

    #[test]
    fn bucket_is_in_the_host_or_path() {
        let host = settings(json!({})).unwrap();
        assert_eq!(&get(&host, "a/b.txt")[..url::Position::AfterPath], "https://b.s3.example.com/a/b.txt");
        let path =
            settings(json!({"force_path_style": true, "endpoint": "https://s3.example.com:9000/store"}))
                .unwrap();
        assert_eq!(&get(&path, "a")[..url::Position::AfterPath], "https://s3.example.com:9000/store/b/a");
    }

    #[test]
    fn every_key_is_named_by_its_own_url() {
        let settings = settings(json!({"force_path_style": true})).unwrap();
        for (key, path) in [
            ("a b", "/b/a%20b"),
            ("a+b", "/b/a%2Bb"),
            ("a//b", "/b/a//b"),
            ("/a", "/b//a"),
            ("//evil.example/a", "/b///evil.example/a"),
            ("größe/☃", "/b/gr%C3%B6%C3%9Fe/%E2%98%83"),
            ("%2e%2e/a", "/b/%252e%252e/a"),
            ("a?b#c&d=e", "/b/a%3Fb%23c%26d%3De"),
            ("..a/b..", "/b/..a/b.."),
            ("a\\..\\b", "/b/a%5C..%5Cb"),
            ("\u{7f}\t", "/b/%7F%09"),
        ] {
            assert_eq!(check_key(key), Ok(()), "{key}");
            assert_eq!(get(&settings, key).path(), path, "{key}");
        }
        for key in ["", ".", "..", "../a", "a/../b", "a/./b", "a/.."] {
            assert!(check_key(key).is_err(), "{key}");
        }
    }

    #[test]
    fn permitted_use_of_a_url_is_signed() {
        let settings = settings(json!({"session_token": "t/o+k"})).unwrap();
        let to = ObjectAccess::Get {
            content_type: Some("text/csv".into()),
            content_disposition: Some("attachment; filename=\"a b.csv\"".into()),
        };
        let url = settings.sign(&PresignGrant { key: "k".into(), to, expires_in: Duration::from_secs(900) });
        assert_eq!(query(&url, "X-Amz-Expires").as_deref(), Some("900"));
        assert_eq!(query(&url, "X-Amz-Security-Token").as_deref(), Some("t/o+k"));
        assert_eq!(
            query(&url, "response-content-disposition").as_deref(),
            Some("attachment; filename=\"a b.csv\"")
        );
        assert_eq!(query(&url, "response-content-type").as_deref(), Some("text/csv"));
        let to = ObjectAccess::Put { content_type: Some("image/png".into()), content_length: Some(7) };
        let url = settings.sign(&PresignGrant { key: "k".into(), to, expires_in: Duration::from_secs(1) });
        assert_eq!(query(&url, "X-Amz-SignedHeaders").as_deref(), Some("content-length;content-type;host"));
        assert!(!url.as_str().contains("swordfish"));
    }

    #[test]
    fn unusable_setting_is_named_by_its_field() {
        for (more, part) in [
            (json!({"endpoint": "http://10.0.0.1"}), "connector.config.endpoint: SSRF protection:"),
            (
                json!({"endpoint": "https://u:swordfish@s3.example.com"}),
                "connector.config.endpoint: SSRF protection:",
            ),
            (json!({"endpoint": "https://1.1.1.1"}), "connector.config.bucket: "),
            (json!({"bucket": "a/b"}), "connector.config.bucket: "),
        ] {
            let error = settings(more.clone()).err().unwrap();
            assert!(error.starts_with(part) && !error.contains("swordfish"), "{more}: {error}");
        }
    }
}
