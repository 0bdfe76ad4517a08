//! Statements that are composed of texts and values, for conditions whose number depends on the caller.

use std::marker::PhantomData;

use chrono::NaiveDateTime;
use diesel::QueryResult;
use diesel::backend::Backend;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::serialize::ToSql;
use diesel::sql_types::{Text, Timestamp};

use super::AnyOf;
use crate::repo::keyset::KeysetCondition;

/// A statement in parts, with the types of its columns.
pub(in crate::repo) struct ComposedQuery<ST> {
    parts: Vec<Part>,
    columns: PhantomData<fn() -> ST>,
}

/// A part of a statement: text, a value that it binds, or the condition on the place of a row.
enum Part {
    Sql(String),
    Text(String),
    Time(NaiveDateTime),
    Key(KeysetCondition),
}

impl<ST> ComposedQuery<ST> {
    /// Begins a statement.
    pub(in crate::repo) fn new(text: impl Into<String>) -> Self {
        Self { parts: vec![Part::Sql(text.into())], columns: PhantomData }
    }

    /// Appends text.
    pub(in crate::repo) fn push(&mut self, text: impl Into<String>) {
        self.parts.push(Part::Sql(text.into()));
    }

    /// Appends a text, as a value.
    pub(in crate::repo) fn push_text(&mut self, value: String) {
        self.parts.push(Part::Text(value));
    }

    /// Appends the condition that rows follow a key.
    pub(in crate::repo) fn push_key(&mut self, condition: KeysetCondition) {
        self.parts.push(Part::Key(condition));
    }

    /// Appends an instant, as a value.
    pub(in crate::repo) fn push_time(&mut self, instant: NaiveDateTime) {
        self.parts.push(Part::Time(instant));
    }

    /// Appends the condition that a column has one of the values.
    pub(in crate::repo) fn push_any_of(&mut self, column: &str, values: &AnyOf) {
        let values = values.storable();
        if values.is_empty() {
            return self.push("1 = 0");
        }
        self.push(format!("{column} IN ("));
        self.push_texts(&values, ", ");
        self.push(")");
    }

    /// Appends texts, as values, with a separator between them.
    pub(in crate::repo) fn push_texts(&mut self, values: &[String], separator: &'static str) {
        for (index, value) in values.iter().enumerate() {
            if index > 0 {
                self.push(separator);
            }
            self.parts.push(Part::Text(value.clone()));
        }
    }
}

impl<DB, ST> QueryFragment<DB> for ComposedQuery<ST>
where
    DB: Backend,
    String: ToSql<Text, DB>,
    NaiveDateTime: ToSql<Timestamp, DB>,
    KeysetCondition: QueryFragment<DB>,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        for part in &self.parts {
            match part {
                Part::Sql(text) => out.push_sql(text),
                Part::Text(value) => out.push_bind_param::<Text, _>(value)?,
                Part::Time(instant) => out.push_bind_param::<Timestamp, _>(instant)?,
                Part::Key(condition) => QueryFragment::<DB>::walk_ast(condition, out.reborrow())?,
            }
        }
        Ok(())
    }
}

/// The text differs from statement to statement.
impl<ST> QueryId for ComposedQuery<ST> {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<ST> Query for ComposedQuery<ST> {
    type SqlType = ST;
}
