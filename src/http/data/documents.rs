//! The documents of the channels that this node serves, for their callers: OpenAPI at `/api/v1/data/openapi.json`, and
//! a page at `/api/v1/data/docs`. A channel of such a path wins.

use actix_web::http::Method;
use actix_web::http::header::ContentType;
use actix_web::{HttpRequest, HttpResponse};
use serde_json::{Map, Value};
use svc_contract::{documents_page, openapi_document};
use svc_model::ServiceError;

use crate::http::{DATA_PREFIX, Error};
use crate::state::AppState;

/// The title of the document.
const TITLE: &str = "Channels";
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
    let reads = *request.method() == Method::GET || *request.method() == Method::HEAD;
    if !state.config.server.data_docs.enabled || !reads {
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
    if let Some(name) = query.keys().find(|name| *name != TAG) {
        let refused = ServiceError::validation(format!("{name}: unknown parameter, known: {TAG}"));
        return Some(Err(refused.into()));
    }
    let tag = query.get(TAG).and_then(Value::as_str).filter(|tag| !tag.is_empty());
    let channels = {
        let snapshot = state.serving.registry.snapshot();
        state.edge.documents.read_channels(&snapshot, &state.config.vars.0)
    };
    let document = openapi_document(TITLE, base, &channels, tag);
    let mut response = HttpResponse::Ok();
    Some(Ok(match is_page {
        true => response.content_type(ContentType::html()).body(documents_page(&document)),
        false => response.content_type(ContentType::json()).body(document.to_string()),
    }))
}
