//! Text within HTML and XML.

/// Escapes the letters to which HTML and XML give a meaning, in text and in quoted values of attributes.
///
/// ```
/// assert_eq!(svc_model::escape_markup("a < b"), "a &lt; b");
/// ```
#[must_use]
pub fn escape_markup(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}
