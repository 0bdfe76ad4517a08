//! Which pages may call.

use svc_model::ServiceError;

use crate::request::DataRequest;

/// The values of `Origin` a channel lets in.
pub(crate) struct Origins(Vec<String>);

impl Origins {
    pub(super) fn new(listed: Vec<String>) -> Self {
        Self(listed)
    }

    /// A present `Origin` must be listed, byte for byte; `*` lists all.
    pub(super) fn check(&self, request: &DataRequest) -> Result<(), ServiceError> {
        let Some((_, origin)) = request.headers.iter().find(|(name, _)| name == "origin") else {
            return Ok(());
        };
        if self.0.iter().any(|listed| listed == "*" || listed.as_bytes() == origin) {
            return Ok(());
        }
        Err(ServiceError::forbidden("Origin not allowed"))
    }
}
