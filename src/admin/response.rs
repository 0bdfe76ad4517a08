//! The responses of the admin API: an envelope of `svc-api` each.

use actix_web::HttpResponse;
use actix_web::http::header;
use serde::Serialize;
use svc_api::{DataEnvelope, ListEnvelope, WarnedEnvelope};
use svc_model::{EntityTag, Issue};

/// `{"data": …}`.
pub(super) fn data_response(data: impl Serialize) -> HttpResponse {
    HttpResponse::Ok().json(DataEnvelope { data })
}

/// `{"data": […]}`.
pub(super) fn list_response<T: Serialize>(rows: impl IntoIterator<Item = T>) -> HttpResponse {
    HttpResponse::Ok().json(ListEnvelope { data: rows.into_iter().collect() })
}

/// An envelope with the tag of the state it shows.
pub(super) fn tagged_response(tag: EntityTag, envelope: impl Serialize) -> HttpResponse {
    HttpResponse::Ok().insert_header((header::ETAG, tag.to_string())).json(envelope)
}

/// `{"data": …}` with 201.
pub(super) fn created_response(data: impl Serialize) -> HttpResponse {
    HttpResponse::Created().json(DataEnvelope { data })
}

/// `{"data": …}`, with `warnings` if there are any.
pub(super) fn with_warnings<T>(data: T, warnings: Vec<Issue>) -> WarnedEnvelope<T> {
    WarnedEnvelope { data, warnings: warnings.into_iter().map(Into::into).collect() }
}
