//! A copy of something large into an object store, in parts of a bounded size, so that no more than one part is in memory.

use std::sync::Arc;
use std::time::Duration;

use rusty_s3::S3Action;
use rusty_s3::actions::{CompleteMultipartUploadResponse, CreateMultipartUpload};
use svc_outbound::header::{ETAG, HeaderMap};
use svc_outbound::{Method, Outbound, OutboundResponse, PeerClient, PeerRequest, RequestBody, Url};

use super::settings::StorageSettings;

/// Lifetime of the URL of a request.
const URL_LIFE: Duration = Duration::from_secs(3600);
/// Time that a part has at least: the limit of a connector is meant for small requests.
const PART_TIME: Duration = Duration::from_secs(120);
/// Bytes of an answer that names an upload or an object.
const CAP: usize = 64 * 1024;
/// Most parts of an object.
const MOST_PARTS: usize = 10_000;

/// An object that is being written. It exists once it is complete.
pub(crate) struct MultipartUpload {
    settings: Arc<StorageSettings>,
    peer: PeerClient,
    key: String,
    /// The name that the store gave to the upload.
    id: String,
    /// The tags of the parts that the store has.
    tags: Vec<String>,
}

impl MultipartUpload {
    /// Begins an object.
    ///
    /// # Errors
    /// The reason, which names the store at most.
    pub(crate) async fn begin(
        settings: Arc<StorageSettings>,
        outbound: &Outbound,
        key: &str,
    ) -> Result<Self, String> {
        let peer = settings.peer(outbound).map_err(|error| error.to_string())?;
        let mut upload = Self { settings, peer, key: key.to_owned(), id: String::new(), tags: Vec::new() };
        let url = upload.settings.bucket.create_multipart_upload(Some(&upload.settings.credentials), key);
        let url = url.sign(URL_LIFE);
        let answer = upload.send(Method::POST, url, None).await?;
        let begun = CreateMultipartUpload::parse_response(&String::from_utf8_lossy(&answer.body));
        let begun = begun.map_err(|_| "the answer of the object store names no upload".to_owned())?;
        upload.id = begun.upload_id().to_owned();
        Ok(upload)
    }

    /// Writes the next part. All but the last must have 5 MiB or more.
    ///
    /// # Errors
    /// The reason; there may be too many parts.
    pub(crate) async fn send_part(&mut self, part: Vec<u8>) -> Result<(), String> {
        if self.tags.len() >= MOST_PARTS {
            return Err(format!("an object has at most {MOST_PARTS} parts"));
        }
        let number = u16::try_from(self.tags.len() + 1).map_err(|error| error.to_string())?;
        let StorageSettings { bucket, credentials, .. } = &*self.settings;
        let url = bucket.upload_part(Some(credentials), &self.key, number, &self.id).sign(URL_LIFE);
        let body = RequestBody { content_type: "application/octet-stream", bytes: part.into() };
        let answer = self.send(Method::PUT, url, Some(body)).await?;
        let tag = answer.headers.get(ETAG).and_then(|tag| tag.to_str().ok());
        let tag = tag.ok_or_else(|| "the object store sent no tag of a part".to_owned())?;
        self.tags.push(tag.to_owned());
        Ok(())
    }

    /// Makes the object of its parts.
    ///
    /// # Errors
    /// The reason; a store may refuse after a status of success.
    pub(crate) async fn complete(&self) -> Result<(), String> {
        let (url, body) = {
            let StorageSettings { bucket, credentials, .. } = &*self.settings;
            let tags = self.tags.iter().map(String::as_str);
            let action = bucket.complete_multipart_upload(Some(credentials), &self.key, &self.id, tags);
            (action.sign(URL_LIFE), action.body())
        };
        let body = RequestBody { content_type: "application/xml", bytes: body.into() };
        let answer = self.send(Method::POST, url, Some(body)).await?;
        let completed = CompleteMultipartUploadResponse::parse(&String::from_utf8_lossy(&answer.body));
        completed.map(drop).map_err(|_| "the object store did not put the parts together".to_owned())
    }

    /// Removes the parts.
    ///
    /// # Errors
    /// The reason; the store keeps the parts then.
    pub(crate) async fn abort(&self) -> Result<(), String> {
        let StorageSettings { bucket, credentials, .. } = &*self.settings;
        let url = bucket.abort_multipart_upload(Some(credentials), &self.key, &self.id).sign(URL_LIFE);
        self.send(Method::DELETE, url, None).await.map(drop)
    }

    async fn send(
        &self,
        method: Method,
        url: Url,
        body: Option<RequestBody>,
    ) -> Result<OutboundResponse, String> {
        let request = PeerRequest {
            method,
            url,
            headers: HeaderMap::new(),
            params: Vec::new(),
            body,
            timeout: self.settings.timeout.max(PART_TIME),
            cap: CAP,
            follow: false,
        };
        let answer = self.peer.send(request).await.map_err(|error| error.to_string())?;
        if answer.status.is_success() {
            return Ok(answer);
        }
        Err(format!("the object store answered with the status {}", answer.status.as_u16()))
    }
}
