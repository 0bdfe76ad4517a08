//! The parameters of a connection string, which follow its `?`.

use percent_encoding::percent_decode_str;

/// One parameter; the value is decoded.
pub(super) struct Parameter<'t> {
    pub(super) name: &'t str,
    pub(super) value: String,
    /// The parameter as written.
    pub(super) raw: &'t str,
}

/// Splits a connection string into the part before its parameters, and the parameters.
pub(super) fn split_parameters(text: &str) -> (&str, Vec<Parameter<'_>>) {
    let Some((base, query)) = text.split_once('?') else { return (text, Vec::new()) };
    let parameters = query.split('&').filter(|pair| !pair.is_empty()).map(|raw| {
        let (name, value) = raw.split_once('=').unwrap_or((raw, ""));
        Parameter { name, value: decode_percent(value), raw }
    });
    (base, parameters.collect())
}

/// Decodes a percent-encoded text.
pub(super) fn decode_percent(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

/// Returns the refusal of a parameter that nothing reads: a misspelt `sslmode` would have no effect.
pub(super) fn unknown(name: &str) -> String {
    format!("connection_string: the parameter '{name}' is not known")
}
