//! URLs that carry their permission: signature version 4 in the query. Pure but for the clock the signature names.

use std::time::Duration;

use rusty_s3::S3Action;
use svc_outbound::Url;

use super::settings::StorageSettings;

/// How long a URL that the service asks for itself is good.
const OWN: Duration = Duration::from_secs(300);

/// What a URL is good for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// To read the object. The store answers with these headers instead of its own.
    Get { content_type: Option<String>, content_disposition: Option<String> },
    /// To write it. The request must have this type, if one is named.
    Put { content_type: Option<String> },
}

/// A permission to be written into a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Grant {
    /// The object.
    pub(crate) key: String,
    /// What for.
    pub(crate) to: Use,
    /// From now on.
    pub(crate) expires_in: Duration,
}

/// Refuses keys that a URL cannot name: readers of URLs resolve the segments `.` and `..`, and would come to another object,
/// or to another bucket.
///
/// # Errors
/// What is wrong.
pub(crate) fn check_key(key: &str) -> Result<(), &'static str> {
    if key.is_empty() {
        return Err("must not be empty");
    }
    if key.split('/').any(|segment| matches!(segment, "." | "..")) {
        return Err("'.' and '..' cannot stand between slashes: no URL can name such an object");
    }
    Ok(())
}

impl StorageSettings {
    /// The URL of a grant. Its key must have been [checked](check_key).
    pub(crate) fn sign(&self, grant: &Grant) -> Url {
        let Grant { key, to, expires_in } = grant;
        match to {
            Use::Get { content_type, content_disposition } => {
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
            Use::Put { content_type } => {
                let mut action = self.bucket.put_object(Some(&self.credentials), key);
                if let Some(content_type) = content_type {
                    action.headers_mut().insert("content-type", content_type.as_str());
                }
                action.sign(*expires_in)
            }
        }
    }

    /// Where to ask what is known of an object.
    pub(super) fn object(&self, key: &str) -> Url {
        self.bucket.head_object(Some(&self.credentials), key).sign(OWN)
    }

    /// Where to ask whether the bucket is there.
    pub(super) fn bucket(&self) -> Url {
        self.bucket.head_bucket(Some(&self.credentials)).sign(OWN)
    }
}
