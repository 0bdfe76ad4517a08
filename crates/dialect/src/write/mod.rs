//! Write documents: documents that insert, update, upsert or delete rows.

mod read;

use serde_json::{Map, Value};
use svc_model::FieldError;

use crate::extent::DocumentExtent;
use crate::filter::FilterDocument;
use crate::operand::{Bindings, Operand};
use crate::predicate::Predicate;
use crate::query::Projection;
use crate::reader::{DocumentFindings, DocumentReader, join};
use crate::refusal::DialectRefusal;
use crate::schema::{Schema, SchemaColumn, SchemaEntity};

/// Bounds of a write, from the settings of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteLimits {
    /// Maximum number of rows of one write.
    pub max_rows: u64,
    /// True if an update or a delete may match every row.
    pub allow_unfiltered: bool,
}

/// The operation of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteOperation {
    /// Inserts rows.
    Insert,
    /// Updates rows.
    Update,
    /// Deletes rows.
    Delete,
    /// Inserts rows, or updates those that exist.
    Upsert,
}

impl WriteOperation {
    /// Returns its name in documents, which is also the name of the connector's operation switch.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Insert => "insert",
            Self::Update => "update",
            Self::Delete => "delete",
            Self::Upsert => "upsert",
        }
    }
}

/// A validated document that writes; its values are open until it is bound.
#[derive(Clone, Debug, PartialEq)]
pub struct WriteDocument {
    target: SchemaEntity,
    body: Body,
    returning: Option<Projection>,
    found: DocumentFindings,
}

#[derive(Clone, Debug, PartialEq)]
enum Body {
    Insert(Rows),
    Update(Assignments, FilterDocument, All),
    Delete(FilterDocument, All),
    Upsert { rows: Rows, target: Vec<SchemaColumn>, nothing: bool, set: Option<Assignments> },
}

/// The `all` member: true if the author permits that every row matches.
type All = bool;

/// The rows to insert.
#[derive(Clone, Debug, PartialEq)]
enum Rows {
    Written {
        columns: Vec<SchemaColumn>,
        rows: Vec<Vec<Operand>>,
    },
    /// Rows from a message; their columns must be among these.
    Open(Operand, Vec<SchemaColumn>),
}

/// Columns with the values to assign.
#[derive(Clone, Debug, PartialEq)]
enum Assignments {
    Written(Vec<(SchemaColumn, Operand)>),
    /// Values from a message; their columns must be among these.
    Open(Operand, Vec<SchemaColumn>),
}

/// A bound write, ready to be rendered.
#[derive(Clone, Debug, PartialEq)]
pub enum WriteChange {
    /// Inserts rows.
    Insert {
        /// The entity to insert into.
        target: SchemaEntity,
        /// The columns that get values; at least one.
        columns: Vec<SchemaColumn>,
        /// The values, in the order of the columns; at least one row.
        rows: Vec<Vec<Value>>,
        /// The action for rows that exist already; `None` makes the write fail.
        conflict: Option<Conflict>,
        /// The columns to return; `None` returns no rows.
        returning: Option<Projection>,
    },
    /// Updates rows.
    Update {
        /// The entity to update.
        target: SchemaEntity,
        /// The columns that get values; at least one.
        set: Vec<(SchemaColumn, Value)>,
        /// The condition on the rows.
        predicate: Predicate,
        /// The columns to return; `None` returns no rows.
        returning: Option<Projection>,
    },
    /// Deletes rows.
    Delete {
        /// The entity to delete from.
        target: SchemaEntity,
        /// The condition on the rows.
        predicate: Predicate,
        /// The columns to return; `None` returns no rows.
        returning: Option<Projection>,
    },
}

/// The conflict clause of an upsert.
#[derive(Clone, Debug, PartialEq)]
pub struct Conflict {
    /// The columns that identify a row; at least one.
    pub target: Vec<SchemaColumn>,
    /// The action for a row that exists already.
    pub action: ConflictAction,
}

/// The action of an upsert for a row that exists already.
#[derive(Clone, Debug, PartialEq)]
pub enum ConflictAction {
    /// Keeps the row as it is.
    Nothing,
    /// Assigns the values of the new row to these columns, possibly none.
    Take(Vec<SchemaColumn>),
    /// Assigns these values.
    Set(Vec<(SchemaColumn, Value)>),
}

impl WriteDocument {
    /// Reads and validates the `write` and the `schema` of an input at path `at`.
    ///
    /// # Errors
    /// All problems of both documents, each with its path.
    pub fn read(write: &Value, schema: Option<&Value>, at: &str) -> Result<Self, Vec<FieldError>> {
        let mut reader = DocumentReader::default();
        let schema = Schema::read(schema, &join(at, "schema"), &mut reader);
        let read = reader.write(write, &join(at, "write"), &schema);
        let (write, found) = reader.finish(read, schema.maps_all())?;
        Ok(Self { found, ..write })
    }

    pub const fn operation(&self) -> WriteOperation {
        match self.body {
            Body::Insert(_) => WriteOperation::Insert,
            Body::Update(..) => WriteOperation::Update,
            Body::Delete(..) => WriteOperation::Delete,
            Body::Upsert { .. } => WriteOperation::Upsert,
        }
    }

    /// Returns the authored values that hold `{"var": path}` nodes, in the order that [`Bindings::folded`]
    /// requires.
    pub fn folded_values(&self) -> &[Value] {
        &self.found.folded
    }

    /// Returns the entities that the document accesses.
    pub fn extent(&self) -> &DocumentExtent {
        &self.found.extent
    }

    /// Returns an error for each place that names a parameter missing from `params`.
    pub fn missing_params(&self, params: &Map<String, Value>) -> Vec<FieldError> {
        self.found.missing(params)
    }

    /// Binds the values and returns the write to render.
    ///
    /// # Errors
    /// [`DialectRefusal::Invalid`] for a value that is not bound, has the wrong type or exceeds a bound, and
    /// for a filter that matches every row without `"all": true` and the permission of the limits.
    pub fn bind(&self, with: &Bindings<'_>, limits: WriteLimits) -> Result<WriteChange, DialectRefusal> {
        let (target, returning) = (self.target.clone(), self.returning.clone());
        Ok(match &self.body {
            Body::Insert(rows) => {
                let (columns, rows) = rows.bind(with, limits)?;
                WriteChange::Insert { target, columns, rows, conflict: None, returning }
            }
            Body::Update(set, filter, all) => {
                let predicate = bind_filter(filter, with, *all, limits)?;
                WriteChange::Update { target, set: set.bind(with)?, predicate, returning }
            }
            Body::Delete(filter, all) => {
                let predicate = bind_filter(filter, with, *all, limits)?;
                WriteChange::Delete { target, predicate, returning }
            }
            Body::Upsert { rows, target: keys, nothing, set } => {
                let (columns, rows) = rows.bind(with, limits)?;
                let action = match set {
                    _ if *nothing => ConflictAction::Nothing,
                    Some(set) => ConflictAction::Set(set.bind(with)?),
                    None => ConflictAction::Take(
                        columns.iter().filter(|one| !keys.contains(one)).cloned().collect(),
                    ),
                };
                let conflict = Some(Conflict { target: keys.clone(), action });
                WriteChange::Insert { target, columns, rows, conflict, returning }
            }
        })
    }
}

/// Binds the filter of an update or delete; refuses one that matches every row unless `all` and the limits
/// permit it.
fn bind_filter(
    filter: &FilterDocument,
    with: &Bindings<'_>,
    all: All,
    limits: WriteLimits,
) -> Result<Predicate, DialectRefusal> {
    let predicate = filter.bind(with, false)?;
    if predicate != Predicate::True || (all && limits.allow_unfiltered) {
        return Ok(predicate);
    }
    let why = match (all, limits.allow_unfiltered) {
        (false, true) => "every row matches; set \"all\": true if that is meant",
        (true, _) => {
            "every row matches, which this server does not allow; its setting is write.allow_unfiltered"
        }
        (false, false) => {
            "every row matches; that takes \"all\": true and the server's write.allow_unfiltered"
        }
    };
    Err(DialectRefusal::invalid("write.filter", why))
}

impl Rows {
    fn bind(
        &self,
        with: &Bindings<'_>,
        limits: WriteLimits,
    ) -> Result<(Vec<SchemaColumn>, Vec<Vec<Value>>), DialectRefusal> {
        let (columns, rows) = match self {
            Self::Written { columns, rows } => {
                let values = rows.iter().map(|row| row.iter().map(|one| one.value(with).cloned()).collect());
                (columns.clone(), values.collect::<Result<_, _>>()?)
            }
            Self::Open(operand, known) => open_rows(operand, known, with)?,
        };
        if rows.len() as u64 > limits.max_rows {
            return Err(DialectRefusal::invalid("write.values", format!("at most {} rows", limits.max_rows)));
        }
        Ok((columns, rows))
    }
}

/// Returns the columns and values of rows from a message.
fn open_rows(
    operand: &Operand,
    known: &[SchemaColumn],
    with: &Bindings<'_>,
) -> Result<(Vec<SchemaColumn>, Vec<Vec<Value>>), DialectRefusal> {
    let rows = match operand.value(with)? {
        Value::Array(rows) => rows.as_slice(),
        row => std::slice::from_ref(row),
    };
    let wrong = |why: &str| DialectRefusal::invalid(&operand.at, why);
    let first = rows.first().ok_or_else(|| wrong("there is no row"))?;
    let columns: Vec<SchemaColumn> =
        open_assignments(operand, first, known)?.into_iter().map(|(column, _)| column).collect();
    let mut read = Vec::with_capacity(rows.len());
    for row in rows {
        let row = row.as_object().filter(|row| row.len() == columns.len());
        let values =
            row.and_then(|row| columns.iter().map(|column| row.get(&*column.name).cloned()).collect());
        read.push(values.ok_or_else(|| wrong("all rows must be objects with the same columns"))?);
    }
    Ok((columns, read))
}

/// Returns the members of an object from a message as assignments to declared columns.
fn open_assignments(
    operand: &Operand,
    value: &Value,
    known: &[SchemaColumn],
) -> Result<Vec<(SchemaColumn, Value)>, DialectRefusal> {
    let wrong = |why: &str| DialectRefusal::invalid(&operand.at, why);
    let members = value.as_object().filter(|members| !members.is_empty());
    let members = members.ok_or_else(|| wrong("this must be an object that is not empty"))?;
    let assigned = members.iter().map(|(name, value)| {
        let column = known.iter().find(|column| *column.name == **name);
        let column =
            column.ok_or_else(|| wrong("it has a column that the schema does not let be written"))?;
        Ok((column.clone(), value.clone()))
    });
    assigned.collect()
}

impl Assignments {
    fn bind(&self, with: &Bindings<'_>) -> Result<Vec<(SchemaColumn, Value)>, DialectRefusal> {
        match self {
            Self::Written(set) => {
                set.iter().map(|(column, value)| Ok((column.clone(), value.value(with)?.clone()))).collect()
            }
            Self::Open(operand, known) => open_assignments(operand, operand.value(with)?, known),
        }
    }
}
