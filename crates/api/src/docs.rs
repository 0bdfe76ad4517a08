//! The page that shows the OpenAPI document, with every file it loads: none comes from outside. Its links are relative,
//! so that it works below the prefix of a larger application. A build without the feature `docs` has no page.

/// Path of the page.
pub const DOCS: &str = "/docs";

/// Path of the OpenAPI document.
pub const OPENAPI: &str = "/api/v1/openapi.json";

/// A file of the page.
#[cfg(feature = "docs")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DocsFile {
    /// Its name below [`DOCS`].
    pub name: &'static str,
    /// Its media type.
    pub media_type: &'static str,
    /// Its content.
    pub content: &'static [u8],
}

/// The page itself.
#[cfg(feature = "docs")]
pub const PAGE: &str = include_str!("docs/index.html");

#[cfg(feature = "docs")]
const FILES: [DocsFile; 4] = [
    DocsFile {
        name: "page.js",
        media_type: "text/javascript; charset=utf-8",
        content: include_bytes!("docs/page.js"),
    },
    DocsFile {
        name: "swagger-ui-bundle.js",
        media_type: "text/javascript; charset=utf-8",
        content: include_bytes!(concat!(env!("OUT_DIR"), "/swagger-ui-bundle.js")),
    },
    DocsFile {
        name: "swagger-ui.css",
        media_type: "text/css; charset=utf-8",
        content: include_bytes!(concat!(env!("OUT_DIR"), "/swagger-ui.css")),
    },
    DocsFile {
        name: "favicon-32x32.png",
        media_type: "image/png",
        content: include_bytes!(concat!(env!("OUT_DIR"), "/favicon-32x32.png")),
    },
];

/// Returns the file of this name.
#[cfg(feature = "docs")]
pub fn find_file(name: &str) -> Option<&'static DocsFile> {
    FILES.iter().find(|file| file.name == name)
}

#[cfg(all(test, feature = "docs"))]
mod tests {
    use super::*;

    #[test]
    fn page_loads_only_own_files_below_any_prefix() {
        let loaded =
            PAGE.split("href=\"").chain(PAGE.split("src=\"")).filter_map(|text| text.split_once('"'));
        let loaded = loaded.map(|(path, _)| path).filter(|path| path.contains('/'));
        let mut count = 0;
        for path in loaded.filter(|path| !path.contains(['<', '>'])) {
            let name =
                path.strip_prefix("docs/").unwrap_or_else(|| panic!("{path} is not relative to {DOCS}"));
            assert!(find_file(name).is_some_and(|file| !file.content.is_empty()), "{name}");
            count += 1;
        }
        assert_eq!(count, FILES.len());
        assert!(!PAGE.contains("http") && !PAGE.contains("<style") && !PAGE.contains("onload"), "{PAGE}");
        let script = std::str::from_utf8(find_file("page.js").unwrap().content).unwrap();
        let document = format!("\"{}\"", OPENAPI.trim_start_matches('/'));
        assert!(script.contains(&document) && !script.contains("http"), "{script}");
    }
}
