//! The credential of a request.

/// A request as far as authentication reads it.
#[derive(Clone, Copy, Debug)]
pub struct PresentedRequest<'r> {
    /// Header names in lower case with their raw values; the values of one name in the order received.
    pub headers: &'r [(String, Vec<u8>)],
    /// The body as received.
    pub body: &'r [u8],
    /// Now, in seconds of the Unix time.
    pub now: i64,
}

impl<'r> PresentedRequest<'r> {
    /// The first value of a header, by its name in lower case. Repetitions say nothing: whoever could append one must not
    /// be able to change what was verified.
    pub fn header(&self, name: &str) -> Option<&'r [u8]> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_slice())
    }
}
