//! Versions and states of workflows and channels.

use clap::Args;
use serde_json::{Value, json};
use svc_client::ApiRequest;

use super::validation::show_validation;
use crate::commands::entity::{EntityGroup, show_page};
use crate::commands::several::IdsArgs;
use crate::context::CommandContext;
use crate::error::CliError;
use crate::output::{CellKind, TableColumn, TableLayout};
use crate::paging::PageArgs;

const VERSIONS: TableLayout = TableLayout {
    id: "version",
    columns: &[
        TableColumn::new("VERSION", "version", CellKind::Number),
        TableColumn::new("STATUS", "status", CellKind::State),
        TableColumn::new("ROLLOUT", "rollout_percentage", CellKind::Number).optional(3),
        TableColumn::new("NAME", "name", CellKind::Text),
        TableColumn::new("CREATED", "created_at", CellKind::Time).optional(2),
        TableColumn::new("UPDATED", "updated_at", CellKind::Time).optional(1),
    ],
};

/// The definitions of a change of what is served, and its options.
#[derive(Args, Debug)]
pub(crate) struct ServingArgs {
    #[command(flatten)]
    ids: IdsArgs,
    #[command(flatten)]
    options: ServingOptions,
}

/// The options of a change of what is served.
#[derive(Args, Debug)]
pub(crate) struct ServingOptions {
    /// Only check whether it would succeed
    #[arg(long)]
    dry_run: bool,
    /// Leave what is served as it is until `engine reload`
    #[arg(long)]
    defer_reload: bool,
}

/// The options of a list of versions.
#[derive(Args, Debug)]
pub(crate) struct VersionsArgs {
    /// Id of the definition
    id: String,
    #[command(flatten)]
    page: PageArgs,
}

/// The options of a new version.
#[derive(Args, Debug)]
pub(crate) struct NewVersionArgs {
    /// Id of the definition
    id: String,
    /// Copy this version instead of the latest
    #[arg(long, value_name = "VERSION")]
    from_version: Option<u32>,
}

/// The options of a rollback.
#[derive(Args, Debug)]
pub(crate) struct RollbackArgs {
    /// Id of the definition
    id: String,
    #[command(flatten)]
    options: ServingOptions,
    /// Go back to this version instead of the one before
    #[arg(long, value_name = "VERSION")]
    to_version: Option<u32>,
}

impl EntityGroup {
    /// Changes the state of each definition: `body` is the request, `verb` says what happened.
    pub(super) async fn change_status(
        &self,
        args: &ServingArgs,
        body: &Value,
        verb: &str,
        context: &CommandContext,
    ) -> Result<u8, CliError> {
        args.ids
            .for_each(context, async |id| {
                let request = ApiRequest::patch(self.path(&[id, "status"])).json(body)?;
                self.change_serving(&args.options, request, verb, context).await
            })
            .await
    }

    /// Sends a request that changes what is served.
    async fn change_serving(
        &self,
        options: &ServingOptions,
        mut request: ApiRequest,
        verb: &str,
        context: &CommandContext,
    ) -> Result<u8, CliError> {
        if options.defer_reload {
            request = request.query("reload", "defer");
        }
        if options.dry_run {
            let answer = context.fetch(&request.query("dry_run", true)).await?;
            return show_validation(&answer, context);
        }
        let answer = context.fetch(&request).await?;
        self.show_change(&answer, verb, context)?;
        if options.defer_reload && context.output.is_table() {
            context.output.note("it is served from the next 'svc-cli engine reload' on");
        }
        Ok(0)
    }

    pub(super) async fn rollback(
        &self,
        args: &RollbackArgs,
        context: &CommandContext,
    ) -> Result<u8, CliError> {
        let id = &args.id;
        if !args.options.dry_run {
            context.confirm(&format!("Roll {} '{id}' back?", self.singular))?;
        }
        let body = args.to_version.map_or_else(|| json!({}), |version| json!({"to_version": version}));
        let request = ApiRequest::post(self.path(&[id, "rollback"])).json(&body)?;
        self.change_serving(&args.options, request, "Rolled back", context).await
    }

    pub(super) async fn versions(
        &self,
        args: &VersionsArgs,
        context: &CommandContext,
    ) -> Result<u8, CliError> {
        let request = args.page.add_to(ApiRequest::get(self.path(&[&args.id, "versions"])));
        show_page(request, &VERSIONS, "versions", context).await
    }

    pub(super) async fn new_version(
        &self,
        args: &NewVersionArgs,
        context: &CommandContext,
    ) -> Result<u8, CliError> {
        let body = args.from_version.map_or_else(|| json!({}), |version| json!({"from_version": version}));
        let request = ApiRequest::post(self.path(&[&args.id, "versions"])).json(&body)?;
        let answer = context.fetch(&request).await?;
        self.show_change(&answer, "Drafted", context)
    }
}
