//! The files of the console, which `build.rs` takes from `console/dist`, and the choice of the form that a client takes.

use std::sync::LazyLock;

use sha2::{Digest, Sha256};

/// A file of the console in the forms in which it is sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct ConsoleFile {
    /// Its path below the console.
    pub(super) path: &'static str,
    /// Its content as it is.
    pub(super) content: &'static [u8],
    /// The content compressed by brotli.
    pub(super) brotli: Option<&'static [u8]>,
    /// The content compressed by gzip.
    pub(super) gzip: Option<&'static [u8]>,
}

/// The embedded files by their paths; none in a build before which the console was not built.
const FILES: &[ConsoleFile] = include!(concat!(env!("OUT_DIR"), "/console_files.rs"));

/// The page itself; its path below the console.
pub(super) const PAGE: &str = "index.html";

/// The folder of the files whose names change with their content.
const HASHED: &str = "assets/";

/// The tags of the embedded files, in their order.
static TAGS: LazyLock<Vec<String>> =
    LazyLock::new(|| FILES.iter().map(|file| content_tag(file.content)).collect());

/// Returns an embedded file, with the tag of its content.
pub(super) fn find_file(path: &str) -> Option<(&'static ConsoleFile, &'static str)> {
    let place = FILES.binary_search_by(|file| file.path.cmp(path)).ok()?;
    Some((FILES.get(place)?, TAGS.get(place)?))
}

/// Returns a short digest of a content.
pub(super) fn content_tag(content: &[u8]) -> String {
    let digest = Sha256::digest(content);
    hex::encode(digest.get(..8).unwrap_or_default())
}

impl ConsoleFile {
    /// Returns `true` if another content has another path, so that a client need never ask again.
    pub(super) fn is_immutable(&self) -> bool {
        self.path.starts_with(HASHED)
    }

    /// Returns the media type, by the extension of the path.
    pub(super) fn media_type(&self) -> &'static str {
        match self.path.rsplit_once('.').map(|(_, extension)| extension) {
            Some("js") => "text/javascript; charset=utf-8",
            Some("css") => "text/css; charset=utf-8",
            Some("html") => "text/html; charset=utf-8",
            Some("txt") => "text/plain; charset=utf-8",
            Some("json" | "map") => "application/json",
            Some("svg") => "image/svg+xml",
            Some("png") => "image/png",
            Some("ico") => "image/x-icon",
            Some("woff2") => "font/woff2",
            Some("wasm") => "application/wasm",
            _ => "application/octet-stream",
        }
    }

    /// Returns the shortest form that a client takes, with the name of its encoding; `accepted` is its `Accept-Encoding`.
    pub(super) fn select_form(&self, accepted: &str) -> (&'static [u8], Option<&'static str>) {
        let forms = [("br", self.brotli), ("gzip", self.gzip)];
        let taken = forms.into_iter().find_map(|(name, form)| {
            form.filter(|_| accepts_encoding(accepted, name)).map(|form| (form, Some(name)))
        });
        taken.unwrap_or((self.content, None))
    }
}

/// Returns `true` if a list of encodings names this one, or any, and does not exclude it (RFC 9110, section 12.5.3).
fn accepts_encoding(accepted: &str, name: &str) -> bool {
    let quality_of = |wanted: &str| {
        accepted.split(',').find_map(|item| {
            let mut parts = item.split(';').map(str::trim);
            let is_wanted = parts.next().is_some_and(|encoding| encoding.eq_ignore_ascii_case(wanted));
            let quality = parts.find_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")));
            let quality = quality.map_or(1.0, |quality| quality.trim().parse().unwrap_or(0.0));
            is_wanted.then_some(quality)
        })
    };
    quality_of(name).or_else(|| quality_of("*")).is_some_and(|quality: f64| quality > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCRIPT: ConsoleFile = ConsoleFile {
        path: "assets/main-4F2K7Q1A.js",
        content: b"plain",
        brotli: Some(b"br"),
        gzip: Some(b"gz"),
    };

    #[test]
    fn shortest_accepted_form_is_sent() {
        for (accepted, expected) in [
            ("", None),
            ("gzip", Some("gzip")),
            ("gzip, deflate, br, zstd", Some("br")),
            ("GZIP;q=0.5", Some("gzip")),
            ("br;q=0, gzip", Some("gzip")),
            ("br; q=0.000", None),
            ("*", Some("br")),
            ("*;q=0, gzip", Some("gzip")),
            ("identity", None),
            ("br;q=x", None),
        ] {
            let (form, encoding) = SCRIPT.select_form(accepted);
            assert_eq!(encoding, expected, "{accepted}");
            assert_eq!(form.len(), if expected.is_some() { 2 } else { 5 }, "{accepted}");
        }
        let plain = ConsoleFile { brotli: None, gzip: None, ..SCRIPT };
        assert_eq!(plain.select_form("br, gzip"), (SCRIPT.content, None));
    }

    #[test]
    fn only_files_with_hashed_names_are_immutable() {
        assert!(SCRIPT.is_immutable());
        for path in [PAGE, "LICENSES.txt", "assets-of-old.js"] {
            assert!(!ConsoleFile { path, ..SCRIPT }.is_immutable(), "{path}");
        }
    }

    #[test]
    fn every_embedded_file_is_found_with_media_type() {
        for file in FILES {
            let (found, tag) = find_file(file.path).unwrap();
            assert_eq!((found.path, tag), (file.path, content_tag(file.content).as_str()));
            assert_ne!(file.media_type(), "application/octet-stream", "{}", file.path);
            assert!(!file.content.is_empty(), "{}", file.path);
        }
        assert!(find_file("assets/absent.js").is_none());
    }
}
