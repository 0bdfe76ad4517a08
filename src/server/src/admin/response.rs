//! The envelopes of the admin API.

use actix_web::HttpResponse;
use actix_web::http::header;
use serde::Serialize;
use serde_json::{Value, json};
use svc_model::{EntityTag, PageOf};

/// `{"data": …}`.
pub(super) fn data_response(value: impl Serialize) -> HttpResponse {
    HttpResponse::Ok().json(json!({ "data": value }))
}

/// An envelope with the tag of the state it shows.
pub(super) fn tagged_response(tag: EntityTag, envelope: Value) -> HttpResponse {
    HttpResponse::Ok().insert_header((header::ETAG, tag.to_string())).json(envelope)
}

/// `{"data": …}` with 201.
pub(super) fn created_response(value: Value) -> HttpResponse {
    HttpResponse::Created().json(json!({ "data": value }))
}

/// `{"data": […], "total", "limit", "offset"}`.
pub(super) fn page_response(page: PageOf<Value>) -> HttpResponse {
    HttpResponse::Ok().json(page)
}
