//! The way in which a body became a value.

/// The way in which the body of a request became the value of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BodyKind {
    /// JSON, which alone can be an envelope.
    #[default]
    Json,
    /// The value of any other format: the fields of a form, a text, rows, XML.
    Whole,
    /// The bytes as text, whatever they say.
    RawText,
    /// The bytes in base64, because they are not UTF-8.
    RawBase64,
}

impl BodyKind {
    /// Returns the encoding of raw bytes, for the metadata.
    pub(crate) fn encoding(self) -> Option<&'static str> {
        match self {
            Self::Json | Self::Whole => None,
            Self::RawText => Some("text"),
            Self::RawBase64 => Some("base64"),
        }
    }
}
