//! Reads and validates a write document.

use serde_json::{Map, Value};
use svc_model::FieldCode;

use super::{Assignments, Body, Rows, WriteDocument, WriteOperation};
use crate::operand::{Operand, is_var};
use crate::reader::{DocumentFindings, DocumentReader, join, single};
use crate::schema::{ColumnUse, Schema, SchemaColumn, SchemaScope};

const WRITE: [&str; 8] = ["op", "target", "values", "set", "filter", "on_conflict", "returning", "all"];

const OPERATIONS: [(&str, WriteOperation); 4] = [
    ("insert", WriteOperation::Insert),
    ("update", WriteOperation::Update),
    ("delete", WriteOperation::Delete),
    ("upsert", WriteOperation::Upsert),
];

impl WriteOperation {
    /// Returns the required and the optional members of the operation.
    const fn members(self) -> (&'static [&'static str], &'static [&'static str]) {
        match self {
            Self::Insert => (&["values"], &["returning"]),
            Self::Update => (&["set"], &["filter", "all", "returning"]),
            Self::Delete => (&[], &["filter", "all", "returning"]),
            Self::Upsert => (&["values", "on_conflict"], &["set", "returning"]),
        }
    }
}

impl DocumentReader {
    pub(super) fn write(&mut self, write: &Value, at: &str, schema: &Schema) -> Option<WriteDocument> {
        let members = self.object(write, at, &WRITE)?;
        let operation = self.operation(members, at);
        let scope = self.target(members, at, schema);
        let (operation, scope) = (operation?, scope?);
        let (required, optional) = operation.members();
        for name in members.keys().filter(|name| WRITE[2..].contains(&name.as_str())) {
            if !required.contains(&name.as_str()) && !optional.contains(&name.as_str()) {
                let message = format!("{} takes no {name}", operation.name());
                self.problem(&join(at, name), FieldCode::FieldNotApplicable, message);
            }
        }
        for name in required.iter().filter(|name| !members.contains_key(**name)) {
            let message = format!("{} needs {name}", operation.name());
            self.problem(&join(at, name), FieldCode::MissingRequired, message);
        }
        let all = self.flag(members.get("all"), &join(at, "all"), false);
        let returning = match members.get("returning") {
            None | Some(Value::Null) => None,
            Some(Value::Array(names)) if names.is_empty() => None,
            some => Some(self.fields(some, &join(at, "returning"), &scope)?),
        };
        let body = match operation {
            WriteOperation::Insert => {
                Body::Insert(self.rows(members.get("values")?, &join(at, "values"), &scope)?)
            }
            WriteOperation::Update => {
                let set = self.assignments(members.get("set")?, &join(at, "set"), &scope);
                let filter = self.filter(members.get("filter"), &join(at, "filter"), &scope);
                Body::Update(set?, filter?, all)
            }
            WriteOperation::Delete => {
                Body::Delete(self.filter(members.get("filter"), &join(at, "filter"), &scope)?, all)
            }
            WriteOperation::Upsert => self.upsert(members, at, &scope)?,
        };
        Some(WriteDocument {
            target: scope.entity.clone(),
            body,
            returning,
            found: DocumentFindings::default(),
        })
    }

    fn operation(&mut self, members: &Map<String, Value>, at: &str) -> Option<WriteOperation> {
        let at = join(at, "op");
        let Some(op) = members.get("op") else {
            self.problem(&at, FieldCode::MissingRequired, "a write names its operation");
            return None;
        };
        let name = self.text(op, &at)?;
        let operation = OPERATIONS.iter().find(|(known, _)| *known == name).map(|(_, operation)| *operation);
        if operation.is_none() {
            let message = format!("\"{name}\" is not one of insert, update, delete, upsert");
            self.problem(&at, FieldCode::UnknownOp, message);
        }
        operation
    }

    fn target<'s>(
        &mut self,
        members: &Map<String, Value>,
        at: &str,
        schema: &'s Schema,
    ) -> Option<SchemaScope<'s>> {
        let at = join(at, "target");
        let Some(target) = members.get("target") else {
            self.problem(&at, FieldCode::MissingRequired, "a write names its target");
            return None;
        };
        let name = self.name(target, &at)?;
        schema.entity(name, &at, self)
    }

    /// Reads assignments whose column names come with the message. The columns must be declared, so that a
    /// message can only choose among them.
    fn open_columns(
        &mut self,
        value: &Value,
        at: &str,
        scope: &SchemaScope<'_>,
    ) -> Option<(Operand, Vec<SchemaColumn>)> {
        let columns = scope.writable();
        if columns.is_empty() {
            self.invalid(at, "columns that come with a message must be declared by the schema");
            return None;
        }
        Some((self.operand(value, at)?, columns))
    }

    fn rows(&mut self, values: &Value, at: &str, scope: &SchemaScope<'_>) -> Option<Rows> {
        if is_open(values) {
            let (operand, known) = self.open_columns(values, at, scope)?;
            return Some(Rows::Open(operand, known));
        }
        let Value::Array(items) = values else {
            let (columns, row) = self.read_assignments(values, at, scope)?.into_iter().unzip();
            return Some(Rows::Written { columns, rows: vec![row] });
        };
        let mut columns: Vec<SchemaColumn> = Vec::new();
        let mut rows = Vec::with_capacity(items.len());
        for (n, item) in items.iter().enumerate() {
            let at = format!("{at}[{n}]");
            let row = self.read_assignments(item, &at, scope)?;
            if columns.is_empty() {
                columns = row.iter().map(|(column, _)| column.clone()).collect();
            }
            let ordered = columns.iter().map(|column| {
                row.iter().find(|(other, _)| other == column).map(|(_, operand)| operand.clone())
            });
            match ordered.collect::<Option<Vec<_>>>().filter(|ordered| ordered.len() == row.len()) {
                Some(ordered) => rows.push(ordered),
                None => self.invalid(&at, "all rows must have the same columns"),
            }
        }
        if items.is_empty() {
            self.invalid(at, "there is no row");
        }
        Some(Rows::Written { columns, rows })
    }

    fn assignments(&mut self, set: &Value, at: &str, scope: &SchemaScope<'_>) -> Option<Assignments> {
        if is_open(set) {
            let (operand, known) = self.open_columns(set, at, scope)?;
            return Some(Assignments::Open(operand, known));
        }
        if set.as_object().is_some_and(Map::is_empty) {
            self.problem(at, FieldCode::EmptyUpdate, "there is nothing to set");
            return None;
        }
        self.read_assignments(set, at, scope).map(Assignments::Written)
    }

    /// Reads an object of at least one column with its value.
    fn read_assignments(
        &mut self,
        values: &Value,
        at: &str,
        scope: &SchemaScope<'_>,
    ) -> Option<Vec<(SchemaColumn, Operand)>> {
        if is_open(values) {
            self.invalid(at, "only all rows together can come with a message");
            return None;
        }
        let members = self.members(values, at)?;
        let mut read: Vec<(SchemaColumn, Operand)> = Vec::new();
        for (name, value) in members {
            let at = join(at, name);
            let column = self.accept_key(&at, scope.column(name, ColumnUse::Write));
            if let (Some(column), Some(value)) = (column, self.read_stored_value(value, &at)) {
                if read.iter().any(|(other, _)| other.physical == column.physical) {
                    self.invalid(&at, "another column of the same row is the same to the database");
                }
                read.push((column, value));
            }
        }
        if members.is_empty() {
            self.invalid(at, "a row has at least one column");
        }
        (read.len() == members.len() && !read.is_empty()).then_some(read)
    }

    fn upsert(&mut self, members: &Map<String, Value>, at: &str, scope: &SchemaScope<'_>) -> Option<Body> {
        let rows = members.get("values").and_then(|values| self.rows(values, &join(at, "values"), scope));
        let set_at = join(at, "set");
        let set = members.get("set").map(|set| self.assignments(set, &set_at, scope));
        let at = join(at, "on_conflict");
        let conflict = self.object(members.get("on_conflict")?, &at, &["target", "action"])?;
        let actions = [("update", false), ("nothing", true)];
        let nothing = self.choice(conflict.get("action"), &join(&at, "action"), &actions).unwrap_or(false);
        if nothing && set.is_some() {
            let message = "where nothing is done, nothing can be set";
            self.problem(&set_at, FieldCode::FieldNotApplicable, message);
        }
        let at = join(&at, "target");
        let target = match conflict.get("target") {
            Some(target) => self.conflict_target(target, &at, scope)?,
            None => {
                self.problem(&at, FieldCode::MissingRequired, "name the columns that tell rows apart");
                return None;
            }
        };
        Some(Body::Upsert { rows: rows?, target, nothing, set: set.flatten() })
    }

    fn conflict_target(
        &mut self,
        target: &Value,
        at: &str,
        scope: &SchemaScope<'_>,
    ) -> Option<Vec<SchemaColumn>> {
        let names = self.items(target, at)?;
        if names.is_empty() {
            self.problem(at, FieldCode::MissingRequired, "name the columns that tell rows apart");
            return None;
        }
        let mut columns = Vec::new();
        for (n, name) in names.iter().enumerate() {
            let at = format!("{at}[{n}]");
            let name = self.name(name, &at)?;
            columns.push(self.accept(&at, scope.column(name, ColumnUse::Key))?);
        }
        Some(columns)
    }
}

/// Returns true if a whole object comes with the message.
fn is_open(value: &Value) -> bool {
    is_var(value) || matches!(single(value), Some(("param", Value::String(_))))
}
