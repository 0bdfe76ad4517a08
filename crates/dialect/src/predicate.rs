//! Predicates: filters with bound values, in one normal form for every database.
//!
//! Negations are pushed down to the comparisons, which three-valued logic allows, and a comparison that can
//! match nothing is [`False`]. A comparison with null is neither true nor false, but no negation remains
//! above it. So a database may treat every node that is not true as false.
//!
//! [`False`]: Predicate::False

use std::sync::Arc;

use serde_json::Value;

use crate::constant::Constant;
use crate::filter::{FilterDocument, Items};
use crate::operand::Bindings;
use crate::refusal::DialectRefusal;
use crate::schema::{SchemaColumn, SchemaRelation};

/// A comparison operator between a column and a value.
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
    /// Returns the operator for exchanged operands: `a < b` is `b > a`.
    pub(crate) const fn flip(self) -> Self {
        match self {
            Self::Less => Self::Greater,
            Self::LessOrEqual => Self::GreaterOrEqual,
            Self::Greater => Self::Less,
            Self::GreaterOrEqual => Self::LessOrEqual,
            same @ (Self::Equal | Self::NotEqual) => same,
        }
    }

    const fn negate(self) -> Self {
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

/// The position of a searched text in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextPosition {
    Start,
    End,
    /// At any position.
    Anywhere,
}

/// The quantifier of a condition on related rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantifier {
    /// At least one row matches.
    Some,
    /// No row matches.
    None,
    /// There is at least one row, and every row matches.
    All,
    /// The negation of [`All`](Self::All): there is no row, or one that does not match.
    NotAll,
}

impl Quantifier {
    const fn negate(self) -> Self {
        match self {
            Self::Some => Self::None,
            Self::None => Self::Some,
            Self::All => Self::NotAll,
            Self::NotAll => Self::All,
        }
    }
}

/// A condition on rows.
#[derive(Clone, Debug, PartialEq)]
pub enum Predicate {
    /// Matches every row. Occurs only as a whole predicate, or as the whole predicate of a relation.
    True,
    /// Matches no row. Occurs only in place of [`True`](Self::True).
    False,
    /// Conjunction of at least two predicates.
    And(Vec<Predicate>),
    /// Disjunction of at least two predicates.
    Or(Vec<Predicate>),
    /// Comparison of a column with a value.
    Compare(SchemaColumn, Comparison, Constant),
    /// Comparison of a column with a value in the sort order of the column: texts in its collation.
    Order(SchemaColumn, Comparison, Constant),
    /// Matches if the column is null, or if it is not when negated.
    Null {
        column: SchemaColumn,
        /// True to match values that are not null.
        negated: bool,
    },
    /// Matches if the column equals one of the values (at least one), or none of them when negated.
    OneOf {
        column: SchemaColumn,
        values: Vec<Constant>,
        /// True to match columns that equal none of the values.
        negated: bool,
    },
    /// Matches if the column contains the text, or does not when negated.
    Text {
        column: SchemaColumn,
        /// The position of the text in the column.
        place: TextPosition,
        /// The text, never empty.
        text: String,
        /// True to match columns that do not contain the text there.
        negated: bool,
    },
    /// A condition on the rows that a relation leads to.
    Related {
        relation: Arc<SchemaRelation>,
        /// The number of related rows that must match.
        quantifier: Quantifier,
        /// The condition on the related rows.
        predicate: Box<Predicate>,
    },
}

impl Predicate {
    /// Builds a conjunction in normal form.
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

    /// Builds a disjunction in normal form.
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

    pub(crate) fn null(column: &SchemaColumn, negated: bool) -> Self {
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
            match Constant::from_json(value).map_err(|why| DialectRefusal::invalid(at, why))? {
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
            // Every text contains the empty one.
            (true, false) => Self::null(column, true),
            (true, true) => Self::False,
            (false, _) => Self::Text { column: column.clone(), place, text, negated },
        }
    }

    fn relation(relation: &Arc<SchemaRelation>, quantifier: Quantifier, predicate: Self) -> Self {
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

/// Returns true if the parts test one column for null and for not null, so that one of them always holds.
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
    /// Binds the filter, or its negation if `negated`.
    pub(crate) fn bind(&self, with: &Bindings<'_>, negated: bool) -> Result<Predicate, DialectRefusal> {
        Ok(match self {
            Self::And(nodes) | Self::Or(nodes) => {
                let bound: Result<Vec<_>, _> = nodes.iter().map(|node| node.bind(with, negated)).collect();
                let all = matches!(self, Self::And(_)) != negated;
                if all { Predicate::and(bound?) } else { Predicate::or(bound?) }
            }
            Self::Not(node) => node.bind(with, !negated)?,
            Self::Compare(column, comparison, operand) => {
                let comparison = if negated { comparison.negate() } else { *comparison };
                match (operand.constant(with)?, comparison) {
                    (Some(value), _) => Predicate::Compare(column.clone(), comparison, value),
                    (None, Comparison::Equal) => Predicate::null(column, false),
                    (None, Comparison::NotEqual) => Predicate::null(column, true),
                    // Null has no order: the comparison matches nothing.
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
                _ => return Err(DialectRefusal::invalid(&list.at, "this must be a list")),
            },
            Self::Text(column, place, text) => Predicate::text(column, *place, text.text(with)?, negated),
            Self::Missing(columns) => {
                let nulls = columns.iter().map(|column| Predicate::null(column, negated));
                if negated { Predicate::and(nulls) } else { Predicate::or(nulls) }
            }
            Self::Related(relation, quantifier, filter) => {
                let quantifier = if negated { quantifier.negate() } else { *quantifier };
                Predicate::relation(relation, quantifier, filter.bind(with, false)?)
            }
        })
    }
}
