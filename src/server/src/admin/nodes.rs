//! The nodes that share the database.

use actix_web::HttpResponse;
use actix_web::web::Data;
use serde_json::{Value, json};
use svc_store::NodeRow;

use super::response::data_response;
use crate::http::Error;
use crate::state::AppState;

/// `GET /nodes`, the youngest first: those that live, and for a day those that are gone.
pub(super) async fn list(state: Data<AppState>) -> Result<HttpResponse, Error> {
    let this = state.nodes.id();
    let rows = state.store.nodes().list().await?;
    Ok(data_response(rows.iter().map(|row| to_response(row, &this)).collect::<Vec<_>>()))
}

/// A row, and whether it is the node that answers.
fn to_response(row: &NodeRow, this: &str) -> Value {
    let mut shown = json!(row);
    shown["is_this"] = (row.id == this).into();
    shown
}
