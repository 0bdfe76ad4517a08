//! The schemas of answers, which the results of cases are checked against.

use std::collections::HashMap;

use serde_json::Value;
use svc_contract::MessageSchema;
use svc_model::{EntityKind, FieldError};

use crate::project::Project;

/// The `response.schema` of the channels of a project, by the workflow that they run. Those of shaped answers are left
/// out: a case sees the data of a run, not the answer that is made of it.
#[derive(Debug, Default)]
pub struct AnswerSchemas(HashMap<String, Vec<MessageSchema>>);

impl AnswerSchemas {
    /// Reads the schemas of a project. One that does not compile is a finding of lint, and left out here.
    pub fn from_project(project: &Project) -> Self {
        let mut schemas: HashMap<String, Vec<MessageSchema>> = HashMap::new();
        for channel in project.entities(EntityKind::Channel) {
            let response = &channel.document["config"]["response"];
            let schema =
                response.get("schema").filter(|schema| schema.is_object() && response["mode"] != "shaped");
            let compiled = schema.and_then(|schema| MessageSchema::compile(schema).ok());
            if let (Some(schema), Some(workflow)) = (compiled, channel.text("workflow_id")) {
                schemas.entry(workflow.to_owned()).or_default().push(schema);
            }
        }
        Self(schemas)
    }

    /// Returns the faults of the data that a run of a workflow ended with.
    pub(super) fn check(&self, workflow: &str, data: &Value) -> Vec<FieldError> {
        let schemas = self.0.get(workflow).into_iter().flatten();
        schemas.filter_map(|schema| schema.check(data, "data").err()).flatten().collect()
    }
}
