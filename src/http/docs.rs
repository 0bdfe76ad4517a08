//! The OpenAPI document, and the page that shows it.

use std::sync::LazyLock;

use actix_web::web::Bytes;
#[cfg(feature = "docs")]
use actix_web::web::Path;
use actix_web::{HttpRequest, HttpResponse, http::header::ContentType};
use serde_json::json;
#[cfg(feature = "docs")]
use svc_api::docs;
use svc_api::openapi;
use svc_model::ServiceError;

use super::{Error, RequestContext};

/// The document as it is sent. It is the same in every process of this version.
static DOCUMENT: LazyLock<Option<Bytes>> =
    LazyLock::new(|| serde_json::to_vec(&openapi::document(crate::VERSION)).ok().map(Bytes::from));

/// `GET /api/v1/openapi.json`.
pub(crate) async fn openapi(request: HttpRequest, context: RequestContext) -> Result<HttpResponse, Error> {
    let prefix = request.path().get(..context.host_length).unwrap_or_default();
    let document = if prefix.is_empty() { DOCUMENT.clone() } else { document_below(prefix) };
    let document = document.ok_or_else(|| ServiceError::internal_error("the document is no JSON"))?;
    Ok(HttpResponse::Ok().content_type(ContentType::json()).body(document))
}

/// Returns the document of a service that a larger application has mounted below a prefix.
fn document_below(prefix: &str) -> Option<Bytes> {
    let mut document = serde_json::to_value(openapi::document(crate::VERSION)).ok()?;
    document["servers"] = json!([{ "url": prefix }]);
    serde_json::to_vec(&document).ok().map(Bytes::from)
}

/// `GET /docs`.
#[cfg(feature = "docs")]
pub(crate) async fn page() -> HttpResponse {
    HttpResponse::Ok().content_type(ContentType::html()).body(docs::PAGE)
}

/// `GET /docs/{file}`.
#[cfg(feature = "docs")]
pub(crate) async fn file(name: Path<String>) -> Result<HttpResponse, Error> {
    let file = docs::find_file(&name).ok_or_else(|| ServiceError::not_found("No such path"))?;
    Ok(HttpResponse::Ok().content_type(file.media_type).body(Bytes::from_static(file.content)))
}
