//! Query documents: documents that read rows.

use std::sync::Arc;

use serde_json::{Map, Value};
use svc_model::{FieldCode, FieldError};

use crate::extent::DocumentExtent;
use crate::filter::FilterDocument;
use crate::keyset::PageStart;
use crate::operand::{Bindings, Operand, OperandSource, whole_number};
use crate::predicate::Predicate;
use crate::reader::{DocumentFindings, DocumentReader, join, single};
use crate::refusal::DialectRefusal;
use crate::schema::{Schema, SchemaColumn, SchemaEntity, SchemaRelation, SchemaScope};

const QUERY: [&str; 9] = ["source", "filter", "fields", "sort", "limit", "skip", "after", "include", "count"];
/// The members that shape rows: a count has none.
const ROWS: [&str; 6] = ["fields", "sort", "limit", "skip", "after", "include"];
const INCLUDE: [&str; 3] = ["fields", "sort", "limit"];

/// Bounds of a read, from the settings of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueryBounds {
    /// Number of rows if the document sets no limit.
    pub default_limit: u64,
    /// Maximum number of rows of a result.
    pub max_limit: u64,
    /// Maximum number of rows that a document may skip.
    pub max_skip: u64,
}

/// The columns of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Projection {
    /// All columns of the row.
    All,
    /// Only these columns, each once.
    Only(Vec<SchemaColumn>),
}

/// One column of a sort order. Nulls sort before all other values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SortKey {
    pub column: SchemaColumn,
    /// True to sort the largest value first.
    pub descending: bool,
}

/// A validated document that reads rows; its values are open until it is bound.
#[derive(Clone, Debug, PartialEq)]
pub struct QueryDocument {
    source: SchemaEntity,
    filter: FilterDocument,
    fields: Projection,
    sort: Vec<SortKey>,
    limit: Option<Operand>,
    skip: Option<Operand>,
    after: PageStart,
    include: Vec<Include>,
    counts: bool,
    found: DocumentFindings,
}

#[derive(Clone, Debug, PartialEq)]
struct Include {
    relation: Arc<SchemaRelation>,
    fields: Projection,
    sort: Vec<SortKey>,
    limit: Option<Operand>,
}

/// A bound read, ready to be rendered.
#[derive(Clone, Debug, PartialEq)]
pub struct Select {
    /// The entity that is read.
    pub source: SchemaEntity,
    /// The condition on its rows.
    pub predicate: Predicate,
    /// The columns of the result.
    pub fields: Projection,
    /// The sort order; empty leaves it to the database.
    pub sort: Vec<SortKey>,
    /// Maximum number of rows; at least 1.
    pub limit: u64,
    /// Number of rows to skip.
    pub skip: u64,
    /// Related rows to return with each row.
    pub include: Vec<Included>,
    /// True if the number of the rows is wanted instead of them.
    pub counts: bool,
}

/// A relation whose rows are returned with each row of a read.
#[derive(Clone, Debug, PartialEq)]
pub struct Included {
    /// The relation; its name is the member that holds the rows.
    pub relation: Arc<SchemaRelation>,
    /// The columns of the related rows.
    pub fields: Projection,
    /// The sort order of the related rows.
    pub sort: Vec<SortKey>,
    /// Maximum number of related rows for each row; at least 1.
    pub limit: u64,
}

impl QueryDocument {
    /// Reads and validates the `query` and the `schema` of an input at path `at`.
    ///
    /// # Errors
    /// All problems of both documents, each with its path.
    pub fn read(query: &Value, schema: Option<&Value>, at: &str) -> Result<Self, Vec<FieldError>> {
        let mut reader = DocumentReader::default();
        let schema = Schema::read(schema, &join(at, "schema"), &mut reader);
        let read = reader.query(query, &join(at, "query"), &schema);
        let (query, found) = reader.finish(read, schema.maps_all())?;
        Ok(Self { found, ..query })
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

    /// Binds the values and returns the read to render.
    ///
    /// # Errors
    /// [`DialectRefusal::Invalid`] for a value that is not bound, has the wrong type, or exceeds one of the
    /// bounds.
    pub fn bind(&self, with: &Bindings<'_>, bounds: QueryBounds) -> Result<Select, DialectRefusal> {
        let limit = |limit: &Option<Operand>| match limit {
            Some(limit) => limit.whole(with, 1, bounds.max_limit),
            None => Ok(bounds.default_limit),
        };
        let include = self.include.iter().map(|one| {
            Ok(Included {
                relation: Arc::clone(&one.relation),
                fields: one.fields.clone(),
                sort: one.sort.clone(),
                limit: limit(&one.limit)?,
            })
        });
        Ok(Select {
            source: self.source.clone(),
            predicate: Predicate::and([self.filter.bind(with, false)?, self.after.bind(&self.sort, with)?]),
            fields: self.fields.clone(),
            sort: self.sort.clone(),
            limit: limit(&self.limit)?,
            skip: self.skip.as_ref().map_or(Ok(0), |skip| skip.whole(with, 0, bounds.max_skip))?,
            include: include.collect::<Result<_, DialectRefusal>>()?,
            counts: self.counts,
        })
    }
}

impl DocumentReader {
    fn query(&mut self, query: &Value, at: &str, schema: &Schema) -> Option<QueryDocument> {
        let members = self.object(query, at, &QUERY)?;
        let Some(source) = members.get("source") else {
            self.problem(&join(at, "source"), FieldCode::MissingRequired, "a query names its source");
            return None;
        };
        let source_at = join(at, "source");
        let scope = schema.entity(self.name(source, &source_at)?, &source_at, self)?;
        let filter = self.filter(members.get("filter"), &join(at, "filter"), &scope);
        let fields = self.fields(members.get("fields"), &join(at, "fields"), &scope);
        let sort = self.sort(members.get("sort"), &join(at, "sort"), &scope);
        let limit = members.get("limit").map(|limit| self.whole(limit, 1, &join(at, "limit")));
        let skip = members.get("skip").map(|skip| self.whole(skip, 0, &join(at, "skip")));
        let after_at = join(at, "after");
        let after = self.page_start(members.get("after"), &after_at, sort.as_deref(), fields.as_ref());
        if after.as_ref().is_some_and(|after| *after != PageStart::First) && skip.is_some() {
            self.invalid(&join(at, "skip"), "a page behind a row skips none; use skip or after");
        }
        let counts = self.flag(members.get("count"), &join(at, "count"), false);
        for name in
            ROWS.iter().filter(|name| counts && members.get(**name).is_some_and(|value| !value.is_null()))
        {
            self.invalid(&join(at, name), "a count has no rows to shape; leave it out, or count");
        }
        let include = self.includes(members.get("include"), &join(at, "include"), &scope);
        self.check_hidden(fields.as_ref(), include.as_deref(), &join(at, "include"));
        Some(QueryDocument {
            source: scope.entity.clone(),
            filter: filter?,
            fields: fields?,
            sort: sort?,
            limit: limit.flatten(),
            skip: skip.flatten(),
            after: after?,
            include: include?,
            counts,
            found: DocumentFindings::default(),
        })
    }

    pub(crate) fn fields(
        &mut self,
        fields: Option<&Value>,
        at: &str,
        scope: &SchemaScope<'_>,
    ) -> Option<Projection> {
        let names = match fields {
            None | Some(Value::Null) => &[][..],
            Some(fields) => self.items(fields, at)?,
        };
        if names.is_empty() {
            let all = self.accept(at, scope.all_columns())?;
            return Some(all.map_or(Projection::All, Projection::Only));
        }
        let mut columns: Vec<SchemaColumn> = Vec::new();
        let mut wrong = false;
        for (n, name) in names.iter().enumerate() {
            let at = format!("{at}[{n}]");
            match self.name(name, &at).and_then(|name| self.column(name, &at, scope)) {
                Some(column) if columns.contains(&column) => {}
                Some(column) => columns.push(column),
                None => wrong = true,
            }
        }
        (!wrong).then_some(Projection::Only(columns))
    }

    fn sort(&mut self, sort: Option<&Value>, at: &str, scope: &SchemaScope<'_>) -> Option<Vec<SortKey>> {
        let keys = match sort {
            None | Some(Value::Null) => &[][..],
            Some(sort) => self.items(sort, at)?,
        };
        let mut read = Vec::new();
        for (n, key) in keys.iter().enumerate() {
            let at = format!("{at}[{n}]");
            let Some((name, direction)) = single(key) else {
                self.invalid(&at, "use {\"column\": \"asc\"} or {\"column\": \"desc\"}");
                continue;
            };
            let at = join(&at, name);
            let descending = self.choice(Some(direction), &at, &[("asc", false), ("desc", true)]);
            if let (Some(column), Some(descending)) = (self.column(name, &at, scope), descending) {
                read.push(SortKey { column, descending });
            }
        }
        (read.len() == keys.len()).then_some(read)
    }

    /// Reads an integer that is at least `least`, literal or open.
    fn whole(&mut self, value: &Value, least: u64, at: &str) -> Option<Operand> {
        let operand = self.operand(value, at)?;
        if let OperandSource::Literal(number) = &operand.source {
            if !number.is_number() {
                self.mismatch(at, "integer", number);
                return None;
            }
            if whole_number(number).is_none_or(|number| number < least) {
                self.invalid(at, format!("this must be a whole number of at least {least}"));
                return None;
            }
        }
        Some(operand)
    }

    fn includes(
        &mut self,
        include: Option<&Value>,
        at: &str,
        scope: &SchemaScope<'_>,
    ) -> Option<Vec<Include>> {
        let relations = match include {
            None | Some(Value::Null) => return Some(Vec::new()),
            Some(include) => self.members(include, at)?,
        };
        let mut read = Vec::new();
        for (name, include) in relations {
            read.extend(self.include(name, include, &join(at, name), scope));
        }
        (read.len() == relations.len()).then_some(read)
    }

    /// Reports columns that are hidden because an included relation has the same name.
    fn check_hidden(&mut self, fields: Option<&Projection>, include: Option<&[Include]>, at: &str) {
        let Some(Projection::Only(columns)) = fields else { return };
        for include in include.into_iter().flatten() {
            let name = &include.relation.name;
            if columns.iter().any(|column| column.name == *name) {
                let message = format!("the rows have a column \"{name}\" too; leave it out of fields");
                self.invalid(&join(at, name), message);
            }
        }
    }

    fn include(&mut self, name: &str, include: &Value, at: &str, scope: &SchemaScope<'_>) -> Option<Include> {
        let members = self.object(include, at, &INCLUDE)?;
        let (relation, target) = scope.relation(name, at, self)?;
        if relation.through.is_some() {
            self.invalid(at, "a relation through a table of pairs cannot be included");
            return None;
        }
        let sort_at = join(at, "sort");
        let sort = self.sort(members.get("sort"), &sort_at, &target)?;
        if sort.is_empty() {
            self.problem(&sort_at, FieldCode::MissingRequired, "rows that come along need an order");
            return None;
        }
        let fields = self.fields(members.get("fields"), &join(at, "fields"), &target)?;
        let limit = members.get("limit").map(|limit| self.whole(limit, 1, &join(at, "limit")));
        Some(Include { relation, fields, sort, limit: limit.flatten() })
    }
}
