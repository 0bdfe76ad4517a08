//! Commands about several things.

use clap::Args;

use crate::context::CommandContext;
use crate::error::CliError;

/// The ids of a command.
#[derive(Args, Debug)]
pub(crate) struct IdsArgs {
    /// Ids, one or several
    #[arg(required = true, value_name = "ID")]
    pub(super) ids: Vec<String>,
}

impl IdsArgs {
    /// Returns the ids as a question names them.
    pub(super) fn quoted(&self) -> String {
        self.ids.iter().map(|id| format!("'{id}'")).collect::<Vec<_>>().join(", ")
    }

    /// Runs a command for each id, whatever happens to the others, and returns the worst exit code.
    ///
    /// # Errors
    /// The error itself if there is one id; otherwise each is printed with its fields and its remedy, and
    /// [`CliError::Partial`] counts them. An output that cannot be written ends nothing.
    pub(super) async fn for_each(
        &self,
        context: &CommandContext,
        mut command: impl AsyncFnMut(&str) -> Result<u8, CliError>,
    ) -> Result<u8, CliError> {
        if let [id] = self.ids.as_slice() {
            return command(id).await;
        }
        let (mut failed, mut worst, mut unwritten) = (0, 0, None);
        for id in &self.ids {
            match command(id).await {
                Ok(code) => worst = worst.max(code),
                // The others are done though nobody reads of it.
                Err(error @ CliError::Output { .. }) => unwritten = Some(error),
                Err(error) => {
                    failed += 1;
                    let is_verbose = context.output.is_verbose;
                    context.output.tell(&format!("{id}: {}", error.describe(is_verbose)));
                }
            }
        }
        match (failed, unwritten) {
            (0, Some(error)) if error.exit_code() >= worst => Err(error),
            (0, _) => Ok(worst),
            _ => Err(CliError::Partial(format!("{failed} of {} failed", self.ids.len()))),
        }
    }
}
