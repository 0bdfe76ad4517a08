//! Renders predicates to SQL conditions.

use super::join::join_condition;
use super::mysql::Collation;
use super::writer::{SqlWriter, check_text};
use super::{SqlFlavour, mysql};
use crate::constant::Constant;
use crate::predicate::{Comparison, Predicate, Quantifier, TextPosition};
use crate::refusal::DialectRefusal;
use crate::schema::{SchemaColumn, SchemaRelation};

impl SqlWriter {
    /// Writes ` WHERE …`, or nothing for a predicate that matches every row.
    pub(super) fn write_where(&mut self, table: &str, predicate: &Predicate) -> Result<(), DialectRefusal> {
        if *predicate == Predicate::True {
            return Ok(());
        }
        self.push(" WHERE ");
        self.predicate(table, predicate)
    }

    fn predicate(&mut self, table: &str, predicate: &Predicate) -> Result<(), DialectRefusal> {
        match predicate {
            Predicate::True => {
                self.push("1 = 1");
            }
            Predicate::False => {
                self.push("1 = 0");
            }
            Predicate::And(parts) => self.chain(table, " AND ", parts)?,
            Predicate::Or(parts) => self.chain(table, " OR ", parts)?,
            Predicate::Compare(column, comparison, value) => {
                self.comparison(table, column, *comparison, value)?;
            }
            Predicate::Order(column, comparison, value) => self.order(table, column, *comparison, value)?,
            Predicate::Null { column, negated } => {
                self.column(table, column).push(if *negated { " IS NOT NULL" } else { " IS NULL" });
            }
            Predicate::OneOf { column, values, negated } => self.one_of(table, column, values, *negated)?,
            Predicate::Text { column, place, text, negated } => {
                self.text(table, column, *place, text, *negated)?;
            }
            Predicate::Related { relation, quantifier, predicate } => {
                self.write_relation(table, relation, *quantifier, predicate)?;
            }
        }
        Ok(())
    }

    /// Writes a chain of conditions as a balanced tree: some databases bound the nesting depth and parse a
    /// chain as nested.
    fn chain(&mut self, table: &str, between: &str, parts: &[Predicate]) -> Result<(), DialectRefusal> {
        if let [only] = parts {
            return self.predicate(table, only);
        }
        let (first, second) = parts.split_at(parts.len() / 2);
        self.push("(");
        self.chain(table, between, first)?;
        self.push(between);
        self.chain(table, between, second)?;
        self.push(")");
        Ok(())
    }

    fn comparison(
        &mut self,
        table: &str,
        column: &SchemaColumn,
        comparison: Comparison,
        value: &Constant,
    ) -> Result<(), DialectRefusal> {
        if self.flavour == SqlFlavour::MySql {
            return self.mysql_comparison(table, column, comparison, value, Collation::Exact);
        }
        self.column(table, column).push(sign(comparison));
        self.constant(value)
    }

    /// Writes a comparison in the order of `ORDER BY`: a text has the collation of its column, without one of its own.
    fn order(
        &mut self,
        table: &str,
        column: &SchemaColumn,
        comparison: Comparison,
        value: &Constant,
    ) -> Result<(), DialectRefusal> {
        if self.flavour == SqlFlavour::MySql {
            return self.mysql_comparison(table, column, comparison, value, Collation::OfColumn);
        }
        self.column(table, column).push(sign(comparison));
        match value {
            Constant::Text(text) if self.flavour == SqlFlavour::Sqlite => {
                check_text(text)?;
                self.placeholder(text.as_str().into());
                Ok(())
            }
            value => self.constant(value),
        }
    }

    fn one_of(
        &mut self,
        table: &str,
        column: &SchemaColumn,
        values: &[Constant],
        negated: bool,
    ) -> Result<(), DialectRefusal> {
        if self.flavour == SqlFlavour::MySql {
            return self.mysql_one_of(table, column, values, negated);
        }
        self.column(table, column);
        if self.flavour == SqlFlavour::Sqlite {
            // In SQLite, the collation of the left operand applies to the whole list.
            self.push(" COLLATE BINARY");
        }
        self.push(if negated { " NOT IN (" } else { " IN (" });
        self.list(", ", values, Self::constant)?;
        self.push(")");
        Ok(())
    }

    fn text(
        &mut self,
        table: &str,
        column: &SchemaColumn,
        place: TextPosition,
        text: &str,
        negated: bool,
    ) -> Result<(), DialectRefusal> {
        let not = if negated { " NOT" } else { "" };
        match self.flavour {
            // `LIKE` ignores case in SQLite; `GLOB` does not.
            SqlFlavour::Sqlite => {
                self.column(table, column).push(not).push(" GLOB ");
                self.pattern(pattern(place, text, '*', |at| match at {
                    '*' | '?' | '[' => Some(('[', Some(']'))),
                    _ => None,
                }))
            }
            SqlFlavour::Postgres => {
                self.push("CAST(").column(table, column).push(" AS text)").push(not).push(" LIKE ");
                self.pattern(like(place, text))?;
                self.push(" ESCAPE '!'");
                Ok(())
            }
            SqlFlavour::MySql => {
                self.column(table, column).push(not).push(" LIKE (");
                self.pattern(like(place, text))?;
                self.push(") ESCAPE '!'");
                Ok(())
            }
        }
    }

    fn write_relation(
        &mut self,
        table: &str,
        relation: &SchemaRelation,
        quantifier: Quantifier,
        predicate: &Predicate,
    ) -> Result<(), DialectRefusal> {
        match quantifier {
            Quantifier::Some => self.exists(table, relation, predicate, true),
            Quantifier::None => {
                self.push("NOT ");
                self.exists(table, relation, predicate, true)
            }
            Quantifier::All => {
                self.push("(");
                self.exists(table, relation, &Predicate::True, true)?;
                self.push(" AND NOT ");
                self.exists(table, relation, predicate, false)?;
                self.push(")");
                Ok(())
            }
            Quantifier::NotAll => {
                self.push("(NOT ");
                self.exists(table, relation, &Predicate::True, true)?;
                self.push(" OR ");
                self.exists(table, relation, predicate, false)?;
                self.push(")");
                Ok(())
            }
        }
    }

    /// Writes an `EXISTS` test for a related row that matches the predicate, or one that does not.
    fn exists(
        &mut self,
        outer: &str,
        relation: &SchemaRelation,
        predicate: &Predicate,
        holds: bool,
    ) -> Result<(), DialectRefusal> {
        let inner = self.table();
        self.push("EXISTS (SELECT 1 FROM ");
        let flavour = self.flavour;
        let (local, foreign) = (
            self.reference(outer, &relation.local.physical),
            self.reference(&inner, &relation.foreign.physical),
        );
        match &relation.through {
            None => {
                self.source(&relation.target.physical).push(" AS ").push(&inner);
                self.push(" WHERE ").push(&join_condition(flavour, &foreign, &local));
            }
            Some(through) => {
                let pairs = self.table();
                let (from, to) =
                    (self.reference(&pairs, &through.local), self.reference(&pairs, &through.foreign));
                self.source(&through.table).push(" AS ").push(&pairs).push(" JOIN ");
                self.source(&relation.target.physical).push(" AS ").push(&inner);
                self.push(" ON ").push(&join_condition(flavour, &foreign, &to));
                self.push(" WHERE ").push(&join_condition(flavour, &from, &local));
            }
        }
        if self.flavour == SqlFlavour::MySql {
            self.push(mysql::NO_CACHE);
        }
        if *predicate != Predicate::True || !holds {
            self.push(" AND (");
            self.predicate(&inner, predicate)?;
            self.push(if holds { ")" } else { ") IS NOT TRUE" });
        }
        self.push(")");
        Ok(())
    }
}

const fn sign(comparison: Comparison) -> &'static str {
    match comparison {
        Comparison::Equal => " = ",
        Comparison::NotEqual => " <> ",
        Comparison::Less => " < ",
        Comparison::LessOrEqual => " <= ",
        Comparison::Greater => " > ",
        Comparison::GreaterOrEqual => " >= ",
    }
}

fn like(place: TextPosition, text: &str) -> String {
    pattern(place, text, '%', |at| matches!(at, '%' | '_' | '!').then_some(('!', None)))
}

/// Builds a pattern that matches the text literally. `escape` returns the characters to put before and after
/// a character that is special in patterns.
fn pattern(
    place: TextPosition,
    text: &str,
    any: char,
    escape: impl Fn(char) -> Option<(char, Option<char>)>,
) -> String {
    let mut pattern = String::with_capacity(text.len() + 2);
    if place != TextPosition::Start {
        pattern.push(any);
    }
    for at in text.chars() {
        let (before, after) = escape(at).map_or((None, None), |(before, after)| (Some(before), after));
        pattern.extend(before);
        pattern.push(at);
        pattern.extend(after);
    }
    if place != TextPosition::End {
        pattern.push(any);
    }
    pattern
}
