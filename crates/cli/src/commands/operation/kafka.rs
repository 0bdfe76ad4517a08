//! `kafka`: the partitions that a node reads.

use std::time::Duration;

use clap::Subcommand;
use serde_json::{Value, json};
use svc_client::{ApiRequest, admin_path};

use crate::commands::entity::rows;
use crate::context::CommandContext;
use crate::error::CliError;
use crate::output::{CellKind, TableColumn, TableLayout, plain};
use crate::watch::{WatchArgs, WatchFrame};

/// Longest wait for the answer to a skip: the server searches and writes before it answers.
const SKIPPING: Duration = Duration::from_secs(60);

const PARTITIONS: TableLayout = TableLayout {
    id: "name",
    columns: &[
        TableColumn::new("TOPIC", "topic", CellKind::Id),
        TableColumn::new("PARTITION", "partition", CellKind::Number),
        TableColumn::new("CHANNEL", "channel", CellKind::Text).optional(2),
        TableColumn::new("STATE", "state", CellKind::State),
        TableColumn::new("OFFSET", "offset", CellKind::Number),
        TableColumn::new("COMMITTED", "committed_offset", CellKind::Number).optional(4),
        TableColumn::new("LAG", "lag", CellKind::Number),
        TableColumn::new("WAITING", "waiting_records", CellKind::Number).optional(5),
        TableColumn::new("ATTEMPTS", "attempts", CellKind::Number).optional(6),
        TableColumn::new("ERROR", "last_error", CellKind::Text).optional(3).movable(),
    ],
};

/// The commands of partitions.
#[derive(Debug, Subcommand)]
pub(crate) enum KafkaCommand {
    /// List the partitions assigned to this node
    Partitions {
        #[command(flatten)]
        watch: WatchArgs,
    },
    /// Write the record that a partition holds back to the dead letters, and go on
    Skip {
        /// The topic
        topic: String,
        /// The number of the partition
        partition: u32,
        /// Skip the record at this offset alone
        #[arg(long)]
        offset: Option<u64>,
        /// Skip also the records before this offset at which an attempt fails
        #[arg(long, value_name = "OFFSET")]
        until_offset: Option<u64>,
        /// Id of the node that it is for; another one refuses it
        #[arg(long, value_name = "ID")]
        node: Option<String>,
    },
}

/// Runs a command of partitions.
pub(crate) async fn run(command: KafkaCommand, context: &CommandContext) -> Result<u8, CliError> {
    match command {
        KafkaCommand::Partitions { watch } => watch.show(context, async || partitions(context).await).await,
        KafkaCommand::Skip { topic, partition, offset, until_offset, node } => {
            let number = partition.to_string();
            let records = match until_offset {
                Some(until) => format!(
                    "the record that partition {number} of '{topic}' holds back, and those before offset {until} that fail"
                ),
                None => format!("the record that partition {number} of '{topic}' holds back"),
            };
            context.confirm(&format!("Skip {records}?"))?;
            let path = admin_path(&["kafka", "partitions", &topic, &number, "skip"]);
            let request = ApiRequest::post(path);
            let request = request
                .optional("node", node)
                .optional("offset", offset)
                .optional("until_offset", until_offset);
            let answer = context.fetch(&request.timeout(SKIPPING)).await?;
            let skipped = plain(&answer["data"]["skipped_offset"]);
            let next = plain(&answer["data"]["next_offset"]);
            let sentence = match answer["data"]["dead_letters"].as_u64() {
                None => format!(
                    "Skipped offset {skipped} of partition {number} of '{topic}', which goes on at {next}."
                ),
                Some(letters) => format!(
                    "Partition {number} of '{topic}' goes on at {next}; dead letters written: {letters}."
                ),
            };
            context.output.print(&context.output.change(Some(&answer), &skipped, &sentence)?)?;
            Ok(0)
        }
    }
}

async fn partitions(context: &CommandContext) -> Result<WatchFrame, CliError> {
    let answer = context.fetch(&ApiRequest::get(admin_path(&["kafka", "partitions"]))).await?;
    let rows: Vec<Value> = rows(&answer).into_iter().map(add_name).collect();
    WatchFrame::list(context, &answer, &rows, &PARTITIONS, "partitions")
}

/// Adds the name that a partition is known by.
fn add_name(mut row: Value) -> Value {
    row["name"] = json!(format!("{}/{}", plain(&row["topic"]), plain(&row["partition"])));
    row
}
