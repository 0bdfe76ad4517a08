//! The documents of the channels that this node serves, for their callers: OpenAPI at `/api/v1/data/openapi.json`, and
//! a page at `/api/v1/data/docs`. A channel of such a path wins.

use actix_web::http::Method;
use actix_web::http::header::ContentType;
use actix_web::{HttpRequest, HttpResponse};
use serde_json::{Map, Value};
use svc_model::ServiceError;

use super::served_channels::RequestedDocument;
use crate::http::error::refuse_method;
use crate::http::{DATA_PREFIX, Error};
use crate::state::AppState;

/// The methods of a document.
const READS: &str = "GET, HEAD";
/// The one parameter of a request for a document.
const TAG: &str = "tag";

/// Answers a request for a document, whose path no channel has taken; `None` for any other request. The path of the
/// channel begins at `channel_path_start`.
pub(super) fn answer_document(
    request: &HttpRequest,
    channel_path_start: usize,
    query: &Map<String, Value>,
    state: &AppState,
) -> Option<Result<HttpResponse, Error>> {
    if !state.config.server.data_docs.enabled {
        return None;
    }
    let (base, path) = request.uri().path().split_at_checked(channel_path_start)?;
    let is_page = match path {
        "/openapi.json" => false,
        "/docs" => true,
        _ => return None,
    };
    if !base.ends_with(DATA_PREFIX) {
        return None;
    }
    if ![Method::GET, Method::HEAD].contains(request.method()) {
        return Some(Err(refuse_method(request.method(), READS).into()));
    }
    if let Some(name) = query.keys().find(|name| *name != TAG) {
        let refused = ServiceError::validation(format!("{name}: unknown parameter, known: {TAG}"));
        return Some(Err(refused.into()));
    }
    let tag = query.get(TAG).and_then(Value::as_str).filter(|tag| !tag.is_empty());
    let document = RequestedDocument { base: base.to_owned(), tag: tag.map(str::to_owned), is_page };
    let snapshot = state.serving.registry.snapshot();
    let text = state.edge.documents.render(&snapshot, &state.config.vars.0, document);
    let content_type = if is_page { ContentType::html() } else { ContentType::json() };
    Some(Ok(HttpResponse::Ok().content_type(content_type).body(text)))
}
