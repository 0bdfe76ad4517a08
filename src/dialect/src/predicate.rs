//! A filter whose values are known, in one form for every database.
//!
//! Negations are pushed down to the comparisons, which three-valued logic allows, and what can match nothing is [`False`]:
//! a comparison with null is neither true nor false, and no longer stands below a negation. So a database may take any
//! node that is not true for false.
//!
//! [`False`]: Predicate::False

use std::sync::Arc;

use serde_json::Value;

use crate::constant::Constant;
use crate::filter::{FilterDocument, Items};
use crate::operand::Bindings;
use crate::refusal::DialectRefusal;
use crate::schema::{SchemaColumn, SchemaRelation};

/// How a column is compared with a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

impl Comparison {
    /// The same with its sides exchanged.
    pub(crate) const fn flipped(self) -> Self {
        match self {
            Self::Less => Self::Greater,
            Self::LessOrEqual => Self::GreaterOrEqual,
            Self::Greater => Self::Less,
            Self::GreaterOrEqual => Self::LessOrEqual,
            same @ (Self::Equal | Self::NotEqual) => same,
        }
    }

    const fn negated(self) -> Self {
        match self {
            Self::Equal => Self::NotEqual,
            Self::NotEqual => Self::Equal,
            Self::Less => Self::GreaterOrEqual,
            Self::LessOrEqual => Self::Greater,
            Self::Greater => Self::LessOrEqual,
            Self::GreaterOrEqual => Self::Less,
        }
    }
}

/// Where in a text another stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextPosition {
    /// At its start.
    Start,
    /// At its end.
    End,
    /// Anywhere.
    Anywhere,
}

/// How many related rows must satisfy a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantifier {
    /// At least one.
    Some,
    /// None.
    None,
    /// All of at least one.
    All,
    /// Not [`All`](Self::All): there is none, or one that does not.
    NotAll,
}

impl Quantifier {
    const fn negated(self) -> Self {
        match self {
            Self::Some => Self::None,
            Self::None => Self::Some,
            Self::All => Self::NotAll,
            Self::NotAll => Self::All,
        }
    }
}

/// What rows are chosen by.
#[derive(Clone, Debug, PartialEq)]
pub enum Predicate {
    /// Every row; only ever the whole predicate, or the whole of one over related rows.
    True,
    /// No row; as [`True`](Self::True).
    False,
    /// All of at least two.
    And(Vec<Predicate>),
    /// Any of at least two.
    Or(Vec<Predicate>),
    /// A column compared with a value.
    Compare(SchemaColumn, Comparison, Constant),
    /// The column is null, or is not when negated.
    Null {
        /// The column.
        column: SchemaColumn,
        /// Whether it must not be null.
        negated: bool,
    },
    /// The column is one of at least one value, or none of them when negated.
    OneOf {
        /// The column.
        column: SchemaColumn,
        /// The values.
        values: Vec<Constant>,
        /// Whether it must be none of them.
        negated: bool,
    },
    /// A text stands in the column, or does not when negated.
    Text {
        /// The column.
        column: SchemaColumn,
        /// Where the text stands.
        place: TextPosition,
        /// The text, never empty.
        text: String,
        /// Whether it must not stand there.
        negated: bool,
    },
    /// Rows that a relation leads to.
    Related {
        /// The relation.
        relation: Arc<SchemaRelation>,
        /// How many of them.
        quantifier: Quantifier,
        /// What they are chosen by.
        predicate: Box<Predicate>,
    },
}

impl Predicate {
    /// All of these.
    pub(crate) fn and(parts: impl IntoIterator<Item = Self>) -> Self {
        let mut all = Vec::new();
        for part in parts {
            match part {
                Self::False => return Self::False,
                Self::True => {}
                Self::And(inner) => all.extend(inner),
                other => all.push(other),
            }
        }
        if exhaustive(&all) {
            return Self::False;
        }
        match (all.pop(), all.is_empty()) {
            (None, _) => Self::True,
            (Some(only), true) => only,
            (Some(last), false) => {
                all.push(last);
                Self::And(all)
            }
        }
    }

    /// Any of these.
    pub(crate) fn or(parts: impl IntoIterator<Item = Self>) -> Self {
        let mut any = Vec::new();
        for part in parts {
            match part {
                Self::True => return Self::True,
                Self::False => {}
                Self::Or(inner) => any.extend(inner),
                other => any.push(other),
            }
        }
        if exhaustive(&any) {
            return Self::True;
        }
        match (any.pop(), any.is_empty()) {
            (None, _) => Self::False,
            (Some(only), true) => only,
            (Some(last), false) => {
                any.push(last);
                Self::Or(any)
            }
        }
    }

    fn null(column: &SchemaColumn, negated: bool) -> Self {
        Self::Null { column: column.clone(), negated }
    }

    fn one_of(
        column: &SchemaColumn,
        values: &[Value],
        at: &str,
        negated: bool,
    ) -> Result<Self, DialectRefusal> {
        let mut constants = Vec::with_capacity(values.len());
        let mut nulls = false;
        for value in values {
            match Constant::of(value).map_err(|why| DialectRefusal::at(at, why))? {
                Some(constant) => constants.push(constant),
                None => nulls = true,
            }
        }
        let some = !constants.is_empty();
        let listed = some.then(|| Self::OneOf { column: column.clone(), values: constants, negated });
        let parts = listed.into_iter().chain(nulls.then(|| Self::null(column, negated)));
        Ok(if negated { Self::and(parts) } else { Self::or(parts) })
    }

    fn text(column: &SchemaColumn, place: TextPosition, text: String, negated: bool) -> Self {
        match (text.is_empty(), negated) {
            // Every text holds the empty one.
            (true, false) => Self::null(column, true),
            (true, true) => Self::False,
            (false, _) => Self::Text { column: column.clone(), place, text, negated },
        }
    }

    fn related(relation: &Arc<SchemaRelation>, quantifier: Quantifier, predicate: Self) -> Self {
        let quantifier = match (quantifier, &predicate) {
            (Quantifier::Some | Quantifier::All, Self::False) => return Self::False,
            (Quantifier::None | Quantifier::NotAll, Self::False) => return Self::True,
            (Quantifier::All, Self::True) => Quantifier::Some,
            (Quantifier::NotAll, Self::True) => Quantifier::None,
            (same, _) => same,
        };
        Self::Related { relation: Arc::clone(relation), quantifier, predicate: Box::new(predicate) }
    }
}

/// Whether a column is asked to be null, and not to be.
fn exhaustive(parts: &[Predicate]) -> bool {
    let null = |part: &Predicate, due: bool| match part {
        Predicate::Null { column, negated } if *negated == due => Some(Arc::clone(&column.physical)),
        _ => None,
    };
    let absent: Vec<_> = parts.iter().filter_map(|part| null(part, false)).collect();
    !absent.is_empty()
        && parts.iter().filter_map(|part| null(part, true)).any(|column| absent.contains(&column))
}

impl FilterDocument {
    /// The filter with its values, or its negation.
    pub(crate) fn bind(&self, with: &Bindings<'_>, negated: bool) -> Result<Predicate, DialectRefusal> {
        Ok(match self {
            Self::And(nodes) | Self::Or(nodes) => {
                let bound: Result<Vec<_>, _> = nodes.iter().map(|node| node.bind(with, negated)).collect();
                let all = matches!(self, Self::And(_)) != negated;
                if all { Predicate::and(bound?) } else { Predicate::or(bound?) }
            }
            Self::Not(node) => node.bind(with, !negated)?,
            Self::Compare(column, comparison, operand) => {
                let comparison = if negated { comparison.negated() } else { *comparison };
                match (operand.constant(with)?, comparison) {
                    (Some(value), _) => Predicate::Compare(column.clone(), comparison, value),
                    (None, Comparison::Equal) => Predicate::null(column, false),
                    (None, Comparison::NotEqual) => Predicate::null(column, true),
                    // Null has no order.
                    (None, _) => Predicate::False,
                }
            }
            Self::In(column, Items::Written(items)) => {
                let values: Result<Vec<_>, _> = items.iter().map(|item| item.value(with).cloned()).collect();
                let at = items.first().map_or("", |item| &item.at);
                Predicate::one_of(column, &values?, at, negated)?
            }
            Self::In(column, Items::Open(list)) => match list.value(with)? {
                Value::Array(values) => Predicate::one_of(column, values, &list.at, negated)?,
                _ => return Err(DialectRefusal::at(&list.at, "this must be a list")),
            },
            Self::Text(column, place, text) => Predicate::text(column, *place, text.text(with)?, negated),
            Self::Missing(columns) => {
                let nulls = columns.iter().map(|column| Predicate::null(column, negated));
                if negated { Predicate::and(nulls) } else { Predicate::or(nulls) }
            }
            Self::Related(relation, quantifier, filter) => {
                let quantifier = if negated { quantifier.negated() } else { *quantifier };
                Predicate::related(relation, quantifier, filter.bind(with, false)?)
            }
        })
    }
}
