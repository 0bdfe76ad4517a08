//! Copies of files of the service itself into the object store of a connector.

#[cfg(not(feature = "storage"))]
use std::convert::Infallible;

use svc_outbound::Outbound;

use crate::directory::ConnectorDirectory;
#[cfg(feature = "storage")]
use {
    crate::driver::Driver,
    crate::drivers::storage::{MultipartUpload, StorageDriver},
    std::sync::Arc,
};

/// An object that is being written in parts. It exists once it is complete; what was sent before is removed by
/// [`abort`](Self::abort).
pub struct ObjectUpload {
    #[cfg(feature = "storage")]
    parts: MultipartUpload,
    #[cfg(not(feature = "storage"))]
    never: Infallible,
}

impl ObjectUpload {
    /// Bytes of a part; the last one may have less.
    pub const PART_BYTES: usize = 8 << 20;
}

#[cfg(feature = "storage")]
impl ObjectUpload {
    /// Begins an object in the store of a connector that is in use.
    ///
    /// # Errors
    /// The reason: the connector is not in use, is none of an object store, or the store refuses.
    pub async fn begin(
        directory: &ConnectorDirectory,
        connector: &str,
        key: &str,
        outbound: &Outbound,
    ) -> Result<Self, String> {
        let settings = {
            let loaded = directory.find(connector).map_err(|error| error.to_string())?;
            let driver = loaded.driver::<StorageDriver>();
            let driver = driver
                .ok_or_else(|| format!("connector '{connector}' is not {}", StorageDriver::REQUIREMENT))?;
            Arc::clone(&driver.settings)
        };
        Ok(Self { parts: MultipartUpload::begin(settings, outbound, key).await? })
    }

    /// Writes the next part.
    ///
    /// # Errors
    /// The reason.
    pub async fn send_part(&mut self, part: Vec<u8>) -> Result<(), String> {
        self.parts.send_part(part).await
    }

    /// Makes the object of its parts.
    ///
    /// # Errors
    /// The reason.
    pub async fn complete(&self) -> Result<(), String> {
        self.parts.complete().await
    }

    /// Removes the parts.
    ///
    /// # Errors
    /// The reason; the store keeps the parts then.
    pub async fn abort(&self) -> Result<(), String> {
        self.parts.abort().await
    }
}

#[cfg(not(feature = "storage"))]
impl ObjectUpload {
    /// Fails: this build has no driver for object stores.
    ///
    /// # Errors
    /// Always.
    pub async fn begin(
        _directory: &ConnectorDirectory,
        _connector: &str,
        _key: &str,
        _outbound: &Outbound,
    ) -> Result<Self, String> {
        Err("this build has no driver for object stores: it was compiled without the feature 'storage'"
            .to_owned())
    }

    /// Is never called.
    ///
    /// # Errors
    /// None.
    pub async fn send_part(&mut self, _: Vec<u8>) -> Result<(), String> {
        match self.never {}
    }

    /// Is never called.
    ///
    /// # Errors
    /// None.
    pub async fn complete(&self) -> Result<(), String> {
        match self.never {}
    }

    /// Is never called.
    ///
    /// # Errors
    /// None.
    pub async fn abort(&self) -> Result<(), String> {
        match self.never {}
    }
}
