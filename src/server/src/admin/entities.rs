//! Create, read, list, update, delete, versions, export and validation: the same for every versioned kind.

use actix_web::HttpResponse;
use actix_web::web::{Data, Path};
use serde_json::{Value, json};
use svc_model::{Issue, PageOf, ServiceError, lifecycle};
use svc_store::{Filter, Mutation};

use super::admin_entity::AdminEntity;
use super::mutation_request::{MutationRequest, report, version};
use super::query::QueryParameters;
use super::references::references;
use super::{created, data, page, serve, tagged};
use crate::http::{Error, JsonBody, OptionalJsonBody};
use crate::state::AppState;

type Answer = Result<HttpResponse, Error>;

fn filter(query: &QueryParameters) -> Filter {
    Filter {
        status: query.text("status"),
        tag: query.text("tag"),
        channel_type: query.text("channel_type"),
        protocol: query.text("protocol"),
        sort_by: query.text("sort_by"),
        sort_order: query.text("sort_order"),
    }
}

pub(super) async fn list<V: AdminEntity>(state: Data<AppState>, query: QueryParameters) -> Answer {
    let asked = query.page()?;
    let (rows, total) = V::stored(&state).list(filter(&query), asked).await?;
    Ok(page(PageOf::new(rows, total, asked).map(|row| row.to_json())))
}

pub(super) async fn export<V: AdminEntity>(state: Data<AppState>, query: QueryParameters) -> Answer {
    let rows = V::stored(&state).export(filter(&query)).await?;
    Ok(data(rows.iter().map(V::to_json).collect::<Vec<_>>()))
}

pub(super) async fn create<V: AdminEntity>(
    state: Data<AppState>,
    change: MutationRequest,
    body: JsonBody,
) -> Answer {
    let mutation = change.mutation("create", V::KIND.name(), "");
    let outcome: Result<V, ServiceError> = async {
        let (id, content) = V::parse(&state, &body.0)?;
        Ok(V::stored(&state).create(id, content, mutation).await?)
    }
    .await;
    if change.is_dry_run() {
        return report(outcome);
    }
    let entity = outcome?;
    state.metrics.audited("create", V::KIND.name());
    let warnings = warnings::<V>(&state, &entity).await;
    Ok(HttpResponse::Created().json(with_warnings(entity.to_json(), &warnings)))
}

/// Lists the warnings of validation. The change is stored: where nothing can be looked up, nothing is told.
pub(super) async fn warnings<V: AdminEntity>(state: &AppState, entity: &V) -> Vec<Issue> {
    V::warnings(state, entity.content()).await.unwrap_or_default()
}

/// `{"data": …}`, with `warnings` beside it where there are any.
pub(super) fn with_warnings(entity: Value, warnings: &[Issue]) -> Value {
    let mut answer = json!({ "data": entity });
    if !warnings.is_empty() {
        answer["warnings"] = json!(warnings);
    }
    answer
}

pub(super) async fn read<V: AdminEntity>(state: Data<AppState>, id: Path<String>) -> Answer {
    let entity = V::stored(&state).latest(&id).await?;
    let entity = entity.ok_or_else(|| absent::<V>(&id))?;
    Ok(tagged(entity.entity_tag(), entity.to_json()))
}

pub(super) async fn update<V: AdminEntity>(
    state: Data<AppState>,
    change: MutationRequest,
    id: Path<String>,
    body: JsonBody,
) -> Answer {
    let mutation = change.mutation("update", V::KIND.name(), &id);
    let outcome = V::stored(&state).update(&id, V::merge(&state, body.0), mutation).await;
    if change.is_dry_run() {
        return report(outcome.map_err(Into::into));
    }
    let entity = outcome?;
    state.metrics.audited("update", V::KIND.name());
    let warnings = warnings::<V>(&state, &entity).await;
    Ok(HttpResponse::Ok().json(with_warnings(entity.to_json(), &warnings)))
}

/// `DELETE /{kind}/{id}`: every version, where no active definition needs it, or with `force=true`.
pub(super) async fn delete<V: AdminEntity>(
    state: Data<AppState>,
    change: MutationRequest,
    id: Path<String>,
) -> Answer {
    let mutation = Mutation { epoch: true, ..change.mutation("delete", V::KIND.name(), &id) };
    let stored = V::stored(&state);
    let outcome = match change.query.flag("force")? {
        true => stored.delete(&id, mutation).await,
        false => stored.delete_unused(&id, references(), mutation).await,
    };
    if change.is_dry_run() {
        return report(outcome.map_err(Into::into));
    }
    outcome?;
    state.metrics.audited("delete", V::KIND.name());
    serve(&state, V::scope(&id)).await;
    Ok(HttpResponse::NoContent().finish())
}

pub(super) async fn versions<V: AdminEntity>(
    state: Data<AppState>,
    id: Path<String>,
    query: QueryParameters,
) -> Answer {
    let asked = query.page()?;
    let (rows, total) = V::stored(&state).versions(&id, asked).await?;
    Ok(page(PageOf::new(rows, total, asked).map(|row| row.to_json())))
}

/// `POST /{kind}/{id}/versions`: copies the latest version, or `from_version`, into a new draft.
pub(super) async fn new_version<V: AdminEntity>(
    state: Data<AppState>,
    change: MutationRequest,
    id: Path<String>,
    body: OptionalJsonBody,
) -> Answer {
    let from_version = version(&body.0, "from_version")?;
    let mutation = change.mutation("create_version", V::KIND.name(), &id);
    let outcome = V::stored(&state).copy_version(&id, from_version, mutation).await;
    if change.is_dry_run() {
        return report(outcome.map_err(Into::into));
    }
    let entity = outcome?;
    state.metrics.audited("create_version", V::KIND.name());
    Ok(created(entity.to_json()))
}

pub(super) async fn validate<V: AdminEntity>(state: Data<AppState>, body: JsonBody) -> Answer {
    Ok(data(V::validate(&state, &body.0).await?))
}

pub(super) fn absent<V: AdminEntity>(id: &str) -> ServiceError {
    lifecycle::absent(V::KIND, id)
}
