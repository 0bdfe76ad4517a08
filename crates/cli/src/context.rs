//! The surroundings of a running command: the client, the output, the questions.

use serde_json::Value;
use svc_client::{ADMIN_BASE, ApiRequest, ApiResponse, Client, ClientError};
use tokio::time::Instant;

use crate::confirmation;
use crate::error::CliError;
use crate::output::{Output, printable};
use crate::settings::Settings;

/// The client of a command, and its output.
pub(crate) struct CommandContext {
    pub(crate) client: Client,
    pub(crate) output: Output,
    /// Set when a key is sent.
    pub(crate) has_key: bool,
    yes: bool,
}

impl CommandContext {
    pub(crate) fn new(settings: Settings) -> Result<Self, CliError> {
        let output = Output::new(&settings.output);
        settings.warnings.iter().for_each(|warning| output.warn(warning));
        let has_key = settings.client.key.is_some();
        Ok(Self { client: Client::new(settings.client)?, output, has_key, yes: settings.yes })
    }

    /// Sends a request; anything but success is an error.
    pub(crate) async fn send(&self, request: &ApiRequest) -> Result<ApiResponse, CliError> {
        let started = Instant::now();
        let result = self.client.send(request).await;
        self.tell(request, &result, started);
        Ok(result?)
    }

    /// Sends a request and parses its answer, which has a member `data` if it is one of the admin API.
    pub(crate) async fn fetch(&self, request: &ApiRequest) -> Result<Value, CliError> {
        let response = self.send(request).await?;
        let answer: Value = response.json()?;
        if request.to_string().contains(ADMIN_BASE) && answer.get("data").is_none() {
            // JSON of another program: the error names what is missing.
            response.data::<Value>()?;
        }
        Ok(answer)
    }

    /// Sends a request once and returns its answer, whatever its status.
    pub(crate) async fn exchange(&self, request: &ApiRequest) -> Result<ApiResponse, CliError> {
        let started = Instant::now();
        let result = self.client.exchange(request).await;
        self.tell(request, &result, started);
        Ok(result?)
    }

    fn tell(&self, request: &ApiRequest, result: &Result<ApiResponse, ClientError>, started: Instant) {
        if !self.output.is_verbose {
            return;
        }
        let status = match result {
            Ok(response) => response.status.to_string(),
            Err(error) => error.status().map_or_else(|| "no answer".to_owned(), |status| status.to_string()),
        };
        let id = result.as_ref().ok().and_then(|response| response.header("x-request-id"));
        let id = id.map(|id| format!(", request id {}", printable(id))).unwrap_or_default();
        let millis = started.elapsed().as_millis();
        self.output.tell(&format!("{request} at {}: {status}, {millis} ms{id}", self.client.server()));
    }

    /// Asks before something is destroyed; `--yes` does not.
    ///
    /// # Errors
    /// [`CliError::Declined`] unless the answer is yes.
    pub(crate) fn confirm(&self, question: &str) -> Result<(), CliError> {
        if self.yes { Ok(()) } else { confirmation::ask(question) }
    }
}
