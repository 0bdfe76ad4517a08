//! The view of a request for authentication.

use crate::consumers::ConsumerTable;

/// The parts of a request that authentication uses.
#[derive(Clone, Copy, Debug)]
pub struct PresentedRequest<'r> {
    /// Header names in lower case with raw values; values of the same name in the order received.
    pub headers: &'r [(String, Vec<u8>)],
    /// The body as received.
    pub body: &'r [u8],
    /// The current Unix time, in seconds.
    pub now: i64,
    /// The consumers of the service; needed for a channel that accepts them alone.
    pub consumers: Option<&'r ConsumerTable>,
}

impl<'r> PresentedRequest<'r> {
    /// Returns the first value of a header; `name` is in lower case. Repeated headers are ignored, so that
    /// appending one cannot change what was verified.
    pub fn header(&self, name: &str) -> Option<&'r [u8]> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_slice())
    }
}
