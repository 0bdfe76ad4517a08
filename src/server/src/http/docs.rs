//! The OpenAPI document, and the page that shows it.

use std::sync::LazyLock;

use actix_web::web::{Bytes, Path};
use actix_web::{HttpResponse, http::header::ContentType};
use svc_api::{docs, openapi};
use svc_model::ServiceError;

use super::Error;

/// The document as it is sent. It is the same in every process of this version.
static DOCUMENT: LazyLock<Option<Bytes>> =
    LazyLock::new(|| serde_json::to_vec(&openapi::document(crate::VERSION)).ok().map(Bytes::from));

/// `GET /api/v1/openapi.json`.
pub(crate) async fn openapi() -> Result<HttpResponse, Error> {
    let document = DOCUMENT.clone().ok_or_else(|| ServiceError::internal_error("the document is no JSON"))?;
    Ok(HttpResponse::Ok().content_type(ContentType::json()).body(document))
}

/// `GET /docs`.
pub(crate) async fn page() -> HttpResponse {
    HttpResponse::Ok().content_type(ContentType::html()).body(docs::PAGE)
}

/// `GET /docs/{file}`.
pub(crate) async fn file(name: Path<String>) -> Result<HttpResponse, Error> {
    let file = docs::find_file(&name).ok_or_else(|| ServiceError::not_found("No such path"))?;
    Ok(HttpResponse::Ok().content_type(file.media_type).body(Bytes::from_static(file.content)))
}
