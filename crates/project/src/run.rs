//! Offline runs: a workflow of a file, compiled with stand-ins for connectors, channels and secrets.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use svc_engine::{
    CompileError, CompileSecrets, Engine, Flow, Message, RecordingMode, Redaction, RunOptions, RunOutcome,
    RunRecording, StubCall, Stubs, TraceOptions,
};
use svc_model::{FieldCode, FieldError, LifecycleStatus, Timestamp, Workflow, parse_new_workflow};

use crate::case::workflow_stand_ins;
use crate::finding::Finding;
use crate::outline::WorkflowOutline;
use crate::rules::without_directives;
use crate::source::SourceFile;
use crate::stand_ins::StandIns;

/// Replaces the references to shared definitions in a workflow, and returns the problems of those that it
/// cannot replace.
pub type Expand<'e> = dyn Fn(&mut Value) -> Vec<Finding> + Sync + 'e;

/// A workflow that is ready to run offline. Cheap to share between threads.
pub struct OfflineWorkflow {
    engine: Arc<Engine>,
    flow: Flow,
    redaction: Redaction,
    outline: WorkflowOutline,
    document: Value,
}

/// The input of one offline run.
#[derive(Debug, Default)]
pub struct OfflineInput {
    pub payload: Value,
    /// The metadata, checked by [`offline_metadata`](crate::offline_metadata).
    pub metadata: Map<String, Value>,
    /// The answers of connectors and channels.
    pub stubs: Stubs,
}

/// The records that an offline run keeps in addition to its message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OfflineRecords {
    /// The tasks that ran.
    #[default]
    Tasks,
    /// The tasks that ran, and their writes.
    Changes,
    /// All of these, and the tasks that were skipped. Views of the message are kept only as long as they are few.
    Steps,
    /// All of these, and every step with its view of the message.
    Trace,
}

/// Bytes of the views of the message that a record of the steps may keep. They bound the number of steps, too.
const VIEW_BYTES: usize = 16 << 20;

impl OfflineWorkflow {
    /// Checks a document as the admin API checks a new workflow, and compiles it. `id` names it if it has no
    /// id of its own.
    ///
    /// # Errors
    /// All problems that creating the workflow would report, or else the reason why it cannot be compiled
    /// with these stand-ins.
    pub fn compile(
        engine: &Engine,
        id: &str,
        document: &Value,
        stand_ins: &StandIns,
    ) -> Result<Self, Vec<FieldError>> {
        let (own_id, content) = parse_new_workflow(document, engine)?;
        let workflow = Workflow {
            workflow_id: own_id.unwrap_or_else(|| id.to_owned()),
            version: 1,
            content,
            status: LifecycleStatus::Active,
            rollout_percentage: 100,
            created_at: Timestamp::now(),
            updated_at: Timestamp::now(),
        };
        Self::assemble(engine, &workflow, document.clone(), stand_ins)
    }

    /// Compiles a stored version, with stand-ins for every secret that it reads.
    ///
    /// # Errors
    /// The reason why it cannot be compiled here, such as a function that this engine does not have.
    pub fn from_stored(engine: &Engine, workflow: &Workflow) -> Result<Self, Vec<FieldError>> {
        let content = &workflow.content;
        let document = json!({"tasks": content.tasks, "condition": content.condition, "loop": content.loop_});
        let stand_ins = StandIns::parse(&workflow_stand_ins(&document), "secrets")?;
        Self::assemble(engine, workflow, document, &stand_ins)
    }

    fn assemble(
        engine: &Engine,
        workflow: &Workflow,
        document: Value,
        stand_ins: &StandIns,
    ) -> Result<Self, Vec<FieldError>> {
        let engine = engine.with_secrets(stand_ins.declared_secrets());
        let material = CompileSecrets { references: stand_ins, declared: &engine.declared_secrets() };
        let compiled = engine.compile_stubbed(workflow, material).map_err(|error| vec![problem(error)])?;
        let (flow, redaction) = (Flow::single(compiled), stand_ins.redaction());
        let outline = WorkflowOutline::read(&document);
        Ok(Self { engine: Arc::new(engine), flow, redaction, outline, document })
    }

    /// Expands, checks and compiles the workflow of a file.
    ///
    /// # Errors
    /// Every problem, a line each.
    pub fn prepare(
        engine: &Engine,
        source: &SourceFile,
        expand: Option<&Expand<'_>>,
        stand_ins: &StandIns,
    ) -> Result<Self, Vec<String>> {
        let mut document = source.value.clone();
        let findings = expand.map(|expand| expand(&mut document)).unwrap_or_default();
        if !findings.is_empty() {
            return Err(findings.iter().map(|one| format!("[{}] {}", one.check, one.message)).collect());
        }
        let id = Path::new(&source.name).file_stem().and_then(|stem| stem.to_str()).unwrap_or("workflow");
        // Of a package they direct the activation, not the run.
        let document = without_directives(&document);
        let compiled = Self::compile(engine, id, &document, stand_ins);
        compiled.map_err(|errors| errors.iter().map(describe_problem).collect())
    }

    /// Runs a message through the workflow.
    pub async fn run(&self, input: OfflineInput, records: OfflineRecords) -> OfflineRun {
        let snapshot_bytes = match records {
            OfflineRecords::Tasks | OfflineRecords::Changes => None,
            OfflineRecords::Steps => Some(VIEW_BYTES),
            OfflineRecords::Trace => Some(usize::MAX),
        };
        let options = RunOptions {
            trace: snapshot_bytes.map(|snapshot_bytes| TraceOptions { snapshot_bytes, input: false }),
            capture_changes: records != OfflineRecords::Tasks,
            stubs: input.stubs,
            ..RunOptions::default()
        };
        let message = Message::new(input.payload, input.metadata);
        OfflineRun(self.engine.run(&self.flow, message, options).await)
    }

    /// Runs the workflow over a recorded run: with its message, at its instant, with its random values and answers.
    pub(crate) async fn replay(&self, recording: Arc<RunRecording>) -> OfflineRun {
        let message = Message::new(recording.payload.clone(), recording.metadata.clone());
        let options =
            RunOptions { recording: Some(RecordingMode::Replay(recording)), ..RunOptions::default() };
        OfflineRun(self.engine.run(&self.flow, message, options).await)
    }

    /// Returns the id of the workflow.
    pub(crate) fn id(&self) -> &str {
        self.flow.versions.first().map_or("", |(workflow, _)| workflow.id())
    }

    /// Returns the parts that runs go through.
    pub(crate) fn outline(&self) -> &WorkflowOutline {
        &self.outline
    }

    /// Returns its definition.
    pub(crate) const fn document(&self) -> &Value {
        &self.document
    }

    /// Returns the engine that it was compiled by.
    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Returns what masks the stand-ins of secrets.
    pub fn redaction(&self) -> &Redaction {
        &self.redaction
    }
}

/// Returns the problem of a workflow that does not compile.
fn problem(error: CompileError) -> FieldError {
    match error {
        CompileError::Invalid { at, message, .. } => FieldError::invalid(at, message),
        CompileError::DuplicateTaskId { .. } => {
            FieldError::new("tasks", FieldCode::DuplicateTaskId, error.to_string())
        }
        CompileError::Undispatchable { .. } => {
            FieldError::new("tasks", FieldCode::UnknownFunction, error.to_string())
        }
    }
}

/// An offline run that has ended.
#[derive(Debug)]
pub struct OfflineRun(RunOutcome);

impl OfflineRun {
    /// Returns the run.
    pub fn outcome(&self) -> &RunOutcome {
        &self.0
    }

    /// Returns `true` if a task stopped the run with an error.
    pub fn has_failed(&self) -> bool {
        self.0.failure.is_some()
    }

    /// Returns one root of the run document: `data`, `metadata`, `temp_data`, `calls` or `audit_trail`.
    pub fn root(&self, name: &str) -> Value {
        match name {
            "data" => self.0.message.data.clone(),
            "metadata" => Value::Object(self.0.message.metadata.clone()),
            "temp_data" => self.0.message.temp_data.clone(),
            "calls" => StubCall::by_function(&self.0.calls),
            "audit_trail" => json!(self.0.audit_trail),
            _ => Value::Null,
        }
    }

    /// Returns the whole run as one document:
    /// `{matched, trace, output, data, metadata, temp_data, calls, audit_trail, errors, error?}`; `error` is
    /// the reason of a run that a task stopped.
    pub fn document(&self) -> Value {
        let mut document = json!({
            "matched": self.0.matched,
            "trace": self.0.trace,
            "output": self.0.message.data,
        });
        for root in ["data", "metadata", "temp_data", "calls", "audit_trail"] {
            document[root] = self.root(root);
        }
        document["errors"] = json!(self.0.errors);
        if let Some(failure) = &self.0.failure {
            document["error"] = failure.error.message.as_str().into();
        }
        document
    }
}

/// Writes a problem of a document on one line.
pub fn describe_problem(error: &FieldError) -> String {
    let hint = match error.code {
        FieldCode::UncompiledSource => ", or name the directory of the definitions with --definitions",
        _ => "",
    };
    format!("{} [{}]: {}{hint}", error.path, error.code.name(), error.message)
}
