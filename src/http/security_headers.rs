//! The security headers of every response, and the writer of headers that the edge adds.

use actix_web::http::header::{
    self, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};

use super::error::X_TRACE_ID;

/// The policy of the documentation page: its own files, its own origin, and nothing else.
pub(crate) const DOCS_POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
     base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
);

/// The policy of the console: its own files, its own origin, and no text that becomes a script but through its one policy
/// of Trusted Types.
pub(crate) const CONSOLE_POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
     font-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'; \
     require-trusted-types-for 'script'; trusted-types svc-console",
);

/// The referrer policy of the console: its paths name runs and channels.
pub(crate) const CONSOLE_REFERRER: HeaderValue = HeaderValue::from_static("no-referrer");

/// Headers that every response carries.
pub(crate) const SECURITY_HEADERS: [(HeaderName, HeaderValue); 5] = [
    (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
    (CONTENT_SECURITY_POLICY, HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'")),
    (REFERRER_POLICY, HeaderValue::from_static("strict-origin-when-cross-origin")),
    (
        HeaderName::from_static("permissions-policy"),
        HeaderValue::from_static("camera=(), microphone=(), geolocation=()"),
    ),
];

/// The header of responses within TLS (HSTS): browsers shall not use plain HTTP for two years.
pub(crate) const STRICT_TRANSPORT_SECURITY: (HeaderName, HeaderValue) =
    (header::STRICT_TRANSPORT_SECURITY, HeaderValue::from_static("max-age=63072000; includeSubDomains"));

/// Writes the headers that the edge adds to a response over those that its handler set.
///
/// Most responses have no header yet but their content type and the id of their trace. Nothing is replaced in them, and
/// to append a header costs half of what it costs to replace one.
pub(crate) struct HeaderWriter<'h> {
    headers: &'h mut HeaderMap,
    /// `true` if the handler set none of the headers that the edge adds.
    is_plain: bool,
}

impl<'h> HeaderWriter<'h> {
    pub(crate) fn new(headers: &'h mut HeaderMap) -> Self {
        let is_of_handlers = |name: &HeaderName| *name == CONTENT_TYPE || *name == X_TRACE_ID;
        let is_plain = headers.len() <= 2 && headers.keys().all(is_of_handlers);
        Self { headers, is_plain }
    }

    /// Sets a header that this writer has not set before; it is not the content type or the id of a trace.
    pub(crate) fn set(&mut self, name: HeaderName, value: HeaderValue) {
        match self.is_plain {
            true => self.headers.append(name, value),
            false => drop(self.headers.insert(name, value)),
        }
    }

    /// Replaces a header that this writer may have set before.
    pub(crate) fn replace(&mut self, name: HeaderName, value: HeaderValue) {
        self.headers.insert(name, value);
    }

    /// Adds a value to those that a header has.
    pub(crate) fn append(&mut self, name: HeaderName, value: HeaderValue) {
        self.headers.append(name, value);
    }
}

#[cfg(test)]
mod tests {
    use actix_web::http::header::{CACHE_CONTROL, VARY};

    use super::*;

    fn write(mut headers: HeaderMap) -> HeaderMap {
        let mut writer = HeaderWriter::new(&mut headers);
        writer.set(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        writer.set(REFERRER_POLICY, HeaderValue::from_static("origin"));
        writer.replace(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
        writer.append(VARY, HeaderValue::from_static("origin"));
        headers
    }

    #[test]
    fn header_of_the_edge_is_the_only_one() {
        let json = (CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let cached = (CACHE_CONTROL, HeaderValue::from_static("max-age=60"));
        let trace = (X_TRACE_ID, HeaderValue::from_static("7"));
        let shown = [json.clone(), trace.clone()];
        for set in [vec![], shown.to_vec(), vec![cached.clone(), json.clone()], vec![json, trace, cached]] {
            let written = write(set.iter().cloned().collect());
            for (name, value) in
                [(CACHE_CONTROL, "no-store"), (REFERRER_POLICY, "no-referrer"), (VARY, "origin")]
            {
                let values: Vec<_> = written.get_all(&name).collect();
                assert_eq!(values, [value], "{name} over {set:?}");
            }
        }
    }

    #[test]
    fn appended_value_joins_those_of_the_handler() {
        let accepts = (VARY, HeaderValue::from_static("accept"));
        let written = write([accepts].into_iter().collect());
        assert_eq!(written.get_all(VARY).collect::<Vec<_>>(), ["accept", "origin"]);
    }
}
