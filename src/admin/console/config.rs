//! The configuration in effect.

use actix_web::HttpResponse;
use actix_web::web::Data;

use crate::admin::response::data_response;
use crate::state::AppState;

/// `GET /config`.
pub(in crate::admin) async fn show(state: Data<AppState>) -> HttpResponse {
    data_response(state.process.settings.describe())
}
