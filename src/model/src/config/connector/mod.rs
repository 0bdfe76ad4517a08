//! The settings of connectors, by type.
//!
//! One reader serves authors and loads: an author's text may still hold placeholders (`${VAR}`) and references, whose form
//! is not judged; a load hands in what they stand for. Unknown keys are passed over, but for the blocks `operations`,
//! `retry`, `dialect` and `auth`, which are strict. Problems name fields, never values: values may be secrets.

mod auth;
mod http;
mod masking;

use serde_json::Value;

use crate::config::block::Block;
use crate::entity::ConnectorType;
use crate::field::FieldError;
use crate::mask::{is_reserved_reference, is_secret_reference};

pub use auth::HttpAuth;
pub use http::{HttpConfig, check_header};
pub use masking::mask_connector_config;

/// Where the config stands in a connector document.
pub(crate) const ROOT: &str = "connector.config";

/// The settings of a connector, as far as this version reads them.
#[derive(Clone, Debug)]
pub enum ConnectorConfig {
    /// Of an HTTP API.
    Http(Box<HttpConfig>),
    /// Of a type whose settings are not looked into.
    Other(ConnectorType),
}

impl ConnectorConfig {
    /// Reads a config, as written or with its placeholders and references replaced.
    ///
    /// # Errors
    /// At least one problem, each at its field.
    pub fn parse(kind: ConnectorType, config: &Value) -> Result<Self, Vec<FieldError>> {
        match kind {
            ConnectorType::Http => http::parse(config).map(|http| Self::Http(Box::new(http))),
            other if config.is_object() => Ok(Self::Other(other)),
            _ => Err(vec![FieldError::type_mismatch(ROOT, "object", config)]),
        }
    }
}

/// Whether a text is not yet what will be used: it holds a placeholder, or is a reference.
pub fn is_open(text: &str) -> bool {
    text.contains("${") || is_secret_reference(text) || is_reserved_reference(text)
}

fn root(config: &Value) -> Result<Block<'_>, FieldError> {
    Block::open("connector", ROOT.to_owned(), config)
}

#[cfg(test)]
mod tests;
