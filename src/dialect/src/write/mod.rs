//! Documents that write.

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

/// Bounds of a write, set by the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteLimits {
    /// Most rows of one write.
    pub max_rows: u64,
    /// Whether an update or a delete of every row may be asked for.
    pub allow_unfiltered: bool,
}

/// What a write does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteOperation {
    /// Adds rows.
    Insert,
    /// Changes rows.
    Update,
    /// Removes rows.
    Delete,
    /// Adds rows, or changes those that are there.
    Upsert,
}

impl WriteOperation {
    /// Its name in documents; the connector's gate is called the same.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Insert => "insert",
            Self::Update => "update",
            Self::Delete => "delete",
            Self::Upsert => "upsert",
        }
    }
}

/// A document that writes, with its values open.
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

/// Whether every row may be meant.
type All = bool;

/// Rows that are added.
#[derive(Clone, Debug, PartialEq)]
enum Rows {
    Written {
        columns: Vec<SchemaColumn>,
        rows: Vec<Vec<Operand>>,
    },
    /// A message's rows; their columns are looked up among these.
    Open(Operand, Vec<SchemaColumn>),
}

/// Columns that are given values.
#[derive(Clone, Debug, PartialEq)]
enum Assignments {
    Written(Vec<(SchemaColumn, Operand)>),
    /// A message's values; their columns are looked up among these.
    Open(Operand, Vec<SchemaColumn>),
}

/// A write whose values are known.
#[derive(Clone, Debug, PartialEq)]
pub enum WriteChange {
    /// Adds rows.
    Insert {
        /// Where to.
        target: SchemaEntity,
        /// The columns that are given values; at least one.
        columns: Vec<SchemaColumn>,
        /// The values, in the order of the columns; at least one row.
        rows: Vec<Vec<Value>>,
        /// What to do where a row is there already; `None` to fail.
        conflict: Option<Conflict>,
        /// What of the rows is answered.
        returning: Option<Projection>,
    },
    /// Changes rows.
    Update {
        /// Where.
        target: SchemaEntity,
        /// The columns that are given values; at least one.
        set: Vec<(SchemaColumn, Value)>,
        /// Which rows.
        predicate: Predicate,
        /// What of the rows is answered.
        returning: Option<Projection>,
    },
    /// Removes rows.
    Delete {
        /// Where from.
        target: SchemaEntity,
        /// Which rows.
        predicate: Predicate,
        /// What of the rows is answered.
        returning: Option<Projection>,
    },
}

/// What an upsert does where a row is there already.
#[derive(Clone, Debug, PartialEq)]
pub struct Conflict {
    /// The columns that tell rows apart; at least one.
    pub target: Vec<SchemaColumn>,
    /// What is done.
    pub action: ConflictAction,
}

/// What is done with a row that is there already.
#[derive(Clone, Debug, PartialEq)]
pub enum ConflictAction {
    /// It stays as it is.
    Nothing,
    /// These columns take the values of the row that was to be added; may be none.
    Take(Vec<SchemaColumn>),
    /// These columns take these values.
    Set(Vec<(SchemaColumn, Value)>),
}

impl WriteDocument {
    /// Reads the `write` and the `schema` of an input that stands at `at`.
    ///
    /// # Errors
    /// Everything that is wrong, each at its place.
    pub fn read(write: &Value, schema: Option<&Value>, at: &str) -> Result<Self, Vec<FieldError>> {
        let mut reader = DocumentReader::default();
        let schema = Schema::read(schema, &join(at, "schema"), &mut reader);
        let read = reader.write(write, &join(at, "write"), &schema);
        let (write, found) = reader.finish(read, schema.maps_all())?;
        Ok(Self { found, ..write })
    }

    /// What it does.
    pub const fn operation(&self) -> WriteOperation {
        match self.body {
            Body::Insert(_) => WriteOperation::Insert,
            Body::Update(..) => WriteOperation::Update,
            Body::Delete(..) => WriteOperation::Delete,
            Body::Upsert { .. } => WriteOperation::Upsert,
        }
    }

    /// The authored values that hold `{"var": path}` nodes, in the order [`Bindings::folded`] takes them.
    pub fn folded(&self) -> &[Value] {
        &self.found.folded
    }

    /// What it reaches.
    pub fn extent(&self) -> &DocumentExtent {
        &self.found.extent
    }

    /// Where it names parameters that are not among these.
    pub fn missing_params(&self, params: &Map<String, Value>) -> Vec<FieldError> {
        self.found.missing(params)
    }

    /// The write with its values.
    ///
    /// # Errors
    /// A value that does not fit or passes a bound, or every row is meant without leave.
    pub fn bind(&self, with: &Bindings<'_>, limits: WriteLimits) -> Result<WriteChange, DialectRefusal> {
        let (target, returning) = (self.target.clone(), self.returning.clone());
        Ok(match &self.body {
            Body::Insert(rows) => {
                let (columns, rows) = rows.bind(with, limits)?;
                WriteChange::Insert { target, columns, rows, conflict: None, returning }
            }
            Body::Update(set, filter, all) => {
                let predicate = chosen(filter, with, *all, limits)?;
                WriteChange::Update { target, set: set.bind(with)?, predicate, returning }
            }
            Body::Delete(filter, all) => {
                let predicate = chosen(filter, with, *all, limits)?;
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

/// The rows of an update or delete; all of them only with leave.
fn chosen(
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
    Err(DialectRefusal::at("write.filter", why))
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
            return Err(DialectRefusal::at("write.values", format!("at most {} rows", limits.max_rows)));
        }
        Ok((columns, rows))
    }
}

/// The rows a message holds.
fn open_rows(
    operand: &Operand,
    known: &[SchemaColumn],
    with: &Bindings<'_>,
) -> Result<(Vec<SchemaColumn>, Vec<Vec<Value>>), DialectRefusal> {
    let rows = match operand.value(with)? {
        Value::Array(rows) => rows.as_slice(),
        row => std::slice::from_ref(row),
    };
    let wrong = |why: &str| DialectRefusal::at(&operand.at, why);
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

/// The members of an object, as columns that are known.
fn open_assignments(
    operand: &Operand,
    value: &Value,
    known: &[SchemaColumn],
) -> Result<Vec<(SchemaColumn, Value)>, DialectRefusal> {
    let wrong = |why: &str| DialectRefusal::at(&operand.at, why);
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
