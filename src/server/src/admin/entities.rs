//! Create, read, list, update, delete, versions, export and validation: the same for every versioned kind.

use actix_web::HttpResponse;
use actix_web::web::{Data, Path};
use svc_model::{PageOf, ServiceError};
use svc_store::{Filter, Mutation};

use super::authored::Authored;
use super::query::Query;
use super::{created, data, page, serve};
use crate::http::{Caller, Error, JsonBody};
use crate::state::AppState;

type Answer = Result<HttpResponse, Error>;

/// The circumstances of a change to an entity that does not change what is served.
pub(super) fn authoring<V: Authored>(caller: &Caller, action: &str, id: &str) -> Mutation {
    Mutation { audit: caller.audit(action, V::KIND.name(), id), epoch: false, dry_run: false }
}

fn filter(query: &Query) -> Filter {
    Filter {
        status: query.text("status"),
        tag: query.text("tag"),
        channel_type: query.text("channel_type"),
        protocol: query.text("protocol"),
        sort_by: query.text("sort_by"),
        sort_order: query.text("sort_order"),
    }
}

pub(super) async fn list<V: Authored>(state: Data<AppState>, query: Query) -> Answer {
    let asked = query.page()?;
    let (rows, total) = V::stored(&state).list(filter(&query), asked).await?;
    Ok(page(PageOf::new(rows, total, asked).map(|row| row.to_json())))
}

pub(super) async fn export<V: Authored>(state: Data<AppState>, query: Query) -> Answer {
    let rows = V::stored(&state).export(filter(&query)).await?;
    Ok(data(rows.iter().map(V::to_json).collect::<Vec<_>>()))
}

pub(super) async fn create<V: Authored>(state: Data<AppState>, caller: Caller, body: JsonBody) -> Answer {
    let (id, content) = V::parse(&state, &body.0)?;
    let mutation = authoring::<V>(&caller, "create", "");
    let entity = V::stored(&state).create(id, content, mutation).await?;
    state.metrics.audited("create", V::KIND.name());
    Ok(created(entity.to_json()))
}

pub(super) async fn read<V: Authored>(state: Data<AppState>, id: Path<String>) -> Answer {
    let entity = V::stored(&state).latest(&id).await?;
    Ok(data(entity.ok_or_else(|| absent::<V>(&id))?.to_json()))
}

pub(super) async fn update<V: Authored>(
    state: Data<AppState>,
    caller: Caller,
    id: Path<String>,
    body: JsonBody,
) -> Answer {
    let mutation = authoring::<V>(&caller, "update", &id);
    let entity = V::stored(&state).update(&id, V::merge(&state, body.0), mutation).await?;
    state.metrics.audited("update", V::KIND.name());
    Ok(data(entity.to_json()))
}

pub(super) async fn delete<V: Authored>(state: Data<AppState>, caller: Caller, id: Path<String>) -> Answer {
    let mutation = Mutation { epoch: true, ..authoring::<V>(&caller, "delete", &id) };
    V::stored(&state).delete(&id, mutation).await?;
    state.metrics.audited("delete", V::KIND.name());
    serve(&state, V::scope(&id)).await;
    Ok(HttpResponse::NoContent().finish())
}

pub(super) async fn versions<V: Authored>(state: Data<AppState>, id: Path<String>, query: Query) -> Answer {
    let asked = query.page()?;
    let (rows, total) = V::stored(&state).versions(&id, asked).await?;
    Ok(page(PageOf::new(rows, total, asked).map(|row| row.to_json())))
}

pub(super) async fn new_version<V: Authored>(
    state: Data<AppState>,
    caller: Caller,
    id: Path<String>,
) -> Answer {
    let mutation = authoring::<V>(&caller, "create_version", &id);
    let entity = V::stored(&state).new_version(&id, mutation).await?;
    state.metrics.audited("create_version", V::KIND.name());
    Ok(created(entity.to_json()))
}

pub(super) async fn validate<V: Authored>(state: Data<AppState>, body: JsonBody) -> Answer {
    Ok(data(V::validate(&state, &body.0).await?))
}

pub(super) fn absent<V: Authored>(id: &str) -> ServiceError {
    ServiceError::not_found(format!("{} '{id}' does not exist", V::KIND))
}
