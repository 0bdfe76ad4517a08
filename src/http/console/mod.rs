//! The page of the console and the files that it loads, all of them embedded.
//!
//! Every path below the console that names no file is a view of the page. The page learns its mount path from the server,
//! which puts it in the place of a placeholder; nothing else in it depends on the request.

mod files;

use actix_web::http::StatusCode;
use actix_web::http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, ETAG, HeaderName, IF_NONE_MATCH, VARY,
};
use actix_web::web::{Bytes, Data};
use actix_web::{HttpRequest, HttpResponse, HttpResponseBuilder};
use svc_model::{ServiceError, escape_markup};

use super::{Error, RequestContext};
use crate::state::AppState;
use files::{ConsoleFile, HASHED, PAGE, content_tag, find_file};

/// The placeholder of the mount path in the page.
const BASE: &str = "__BASE__";

/// The page of a build before which the console was not built.
const UNBUILT: &str = "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
    <meta name=\"color-scheme\" content=\"light dark\">\n<title>svc console</title>\n</head>\n<body>\n\
    <h1>This build has no console</h1>\n<p>Its files did not exist when the service was compiled. Run</p>\n\
    <pre>make console</pre>\n<p>and compile the service again. Everything that the console shows is in the admin API and in \
    <code>svc-cli</code>.</p>\n</body>\n</html>\n";

/// A client keeps what it has, and asks each time if it is still current.
const REVALIDATED: &str = "no-cache";
/// A client never asks again.
const IMMUTABLE: &str = "public, max-age=31536000, immutable";

/// `GET {server.console.path}`.
pub(crate) async fn page(
    request: HttpRequest,
    state: Data<AppState>,
    context: RequestContext,
) -> Result<HttpResponse, Error> {
    let text = match find_file(PAGE) {
        Some((page, _)) => std::str::from_utf8(page.content)
            .map_err(|_| ServiceError::internal_error("the page of the console is no text"))?,
        None => UNBUILT,
    };
    let prefix = request.path().get(..context.host_length).unwrap_or_default();
    let text = fill_in_base(text, prefix, &state.config.server.console.path);
    let tag = weak_tag(&content_tag(text.as_bytes()));
    let mut response = begin_response(&request, &tag);
    response.insert_header((CACHE_CONTROL, REVALIDATED));
    response.insert_header((CONTENT_TYPE, "text/html; charset=utf-8"));
    Ok(end_response(response, Bytes::from(text)))
}

/// `GET {server.console.path}/{file}`: a file, or the page for a path that can be no file.
pub(crate) async fn file(
    request: HttpRequest,
    state: Data<AppState>,
    context: RequestContext,
) -> Result<HttpResponse, Error> {
    let name = request.match_info().get("file").unwrap_or_default();
    match find_file(name).filter(|(file, _)| file.path != PAGE) {
        Some((file, tag)) => Ok(file_response(&request, file, tag)),
        None if name == PAGE || !names_file(name) => page(request.clone(), state, context).await,
        None => Err(ServiceError::not_found("The console has no such file").into()),
    }
}

/// Returns `true` for a path that can be that of a file. The ids in the paths of views may have dots.
fn names_file(path: &str) -> bool {
    path.starts_with(HASHED) || (!path.contains('/') && path.contains('.'))
}

fn file_response(request: &HttpRequest, file: &'static ConsoleFile, tag: &str) -> HttpResponse {
    let (form, encoding) = file.select_form(header(request, &ACCEPT_ENCODING));
    // Each form is a representation of its own.
    let tag = encoding.map_or_else(|| weak_tag(tag), |encoding| format!("\"{tag}-{encoding}\""));
    let mut response = begin_response(request, &tag);
    response.insert_header((CACHE_CONTROL, if file.is_immutable() { IMMUTABLE } else { REVALIDATED }));
    response.insert_header((CONTENT_TYPE, file.media_type()));
    response.insert_header((VARY, "accept-encoding"));
    if let Some(encoding) = encoding {
        response.insert_header((CONTENT_ENCODING, encoding));
    }
    end_response(response, Bytes::from_static(form))
}

/// Returns the tag of a content that `server.compression` may still encode, so that its bytes are not always the same (RFC
/// 9110, section 8.8.1).
fn weak_tag(tag: &str) -> String {
    format!("W/\"{tag}\"")
}

/// Begins the response: 304 if the client has this representation.
fn begin_response(request: &HttpRequest, tag: &str) -> HttpResponseBuilder {
    let known = header(request, &IF_NONE_MATCH);
    let opaque = |tag: &str| tag.trim_start_matches("W/").to_owned();
    let is_known = known.split(',').map(str::trim).any(|known| known == "*" || opaque(known) == opaque(tag));
    let status = if is_known { StatusCode::NOT_MODIFIED } else { StatusCode::OK };
    let mut response = HttpResponse::build(status);
    response.insert_header((ETAG, tag));
    response
}

/// Ends the response with its body, which a 304 has not.
fn end_response(mut response: HttpResponseBuilder, body: Bytes) -> HttpResponse {
    let mut response = response.body(body);
    if response.status() == StatusCode::NOT_MODIFIED {
        let _encoding = response.headers_mut().remove(CONTENT_ENCODING);
        return response.drop_body().map_into_boxed_body();
    }
    response
}

/// Returns the value of a header; empty if there is none or it is no text.
fn header<'r>(request: &'r HttpRequest, name: &HeaderName) -> &'r str {
    request.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// Puts the mount path into the page, and next to it, as `data-api`, the prefix below which the API lies. A host application
/// chooses the prefix, and a client its spelling.
fn fill_in_base(page: &str, prefix: &str, path: &str) -> String {
    let prefix = escape_markup(prefix);
    let base = format!("{prefix}{}", escape_markup(path));
    let attribute = format!("data-base=\"{BASE}\"");
    page.replace(&attribute, &format!("data-base=\"{base}\" data-api=\"{prefix}\"")).replace(BASE, &base)
}

#[cfg(test)]
mod tests {
    use actix_web::body::to_bytes;
    use actix_web::test::TestRequest;

    use super::*;

    const SCRIPT: ConsoleFile = ConsoleFile {
        path: "assets/main-4F2K7Q1A.js",
        content: b"console.log(1)",
        brotli: Some(b"br"),
        gzip: Some(b"gz"),
    };

    #[test]
    fn base_is_escaped_wherever_the_page_names_it() {
        let page = "<html data-base=\"__BASE__\"><script src=\"__BASE__/a.js\">";
        let page = fill_in_base(page, "/x\"><script>&'", "/console");
        let prefix = "/x&quot;&gt;&lt;script&gt;&amp;&#39;";
        let base = format!("{prefix}/console");
        let head = format!("<html data-base=\"{base}\" data-api=\"{prefix}\">");
        assert_eq!(page, format!("{head}<script src=\"{base}/a.js\">"));
        assert!(UNBUILT.contains("make console") && !UNBUILT.contains("style"));
    }

    /// Returns the body of a response.
    fn read_body(response: HttpResponse) -> Bytes {
        let body = to_bytes(response.into_body());
        actix_rt::System::new().block_on(body).unwrap()
    }

    #[test]
    fn file_is_sent_once_per_encoding() {
        for (accepted, tag, body) in
            [("", "W/\"t\"", "console.log(1)"), ("gzip", "\"t-gzip\"", "gz"), ("br, gzip", "\"t-br\"", "br")]
        {
            let request = TestRequest::get().insert_header((ACCEPT_ENCODING, accepted)).to_http_request();
            let response = file_response(&request, &SCRIPT, "t");
            assert_eq!(response.status(), StatusCode::OK, "{accepted}");
            let headers = response.headers();
            for (name, value) in [
                (ETAG, tag),
                (CACHE_CONTROL, IMMUTABLE),
                (CONTENT_TYPE, "text/javascript; charset=utf-8"),
                (VARY, "accept-encoding"),
            ] {
                assert_eq!(headers.get(name).unwrap(), value, "{accepted}");
            }
            assert_eq!(headers.contains_key(CONTENT_ENCODING), !accepted.is_empty());
            assert_eq!(read_body(response), body);
            let again = TestRequest::get()
                .insert_header((ACCEPT_ENCODING, accepted))
                .insert_header((IF_NONE_MATCH, format!("\"other\", W/{}", tag.trim_start_matches("W/"))))
                .to_http_request();
            let response = file_response(&again, &SCRIPT, "t");
            assert_eq!(response.status(), StatusCode::NOT_MODIFIED, "{accepted}");
            assert_eq!(response.headers().get(ETAG).unwrap(), tag);
            assert!(!response.headers().contains_key(CONTENT_ENCODING));
            assert!(read_body(response).is_empty());
        }
    }

    #[test]
    fn id_with_dots_is_no_file() {
        for (path, expected) in [
            ("", false),
            ("runs/0199-a", false),
            ("channels/orders.v2", false),
            ("packages/shop.json", false),
            ("main.js", true),
            ("assets/b.css", true),
            ("assets/absent", true),
        ] {
            assert_eq!(names_file(path), expected, "{path}");
        }
    }
}
