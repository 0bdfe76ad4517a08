//! Comparisons of columns with values on MySQL and MariaDB.
//!
//! These databases compare a text with a number as floating-point numbers (a text without digits as 0),
//! ignore the UTC offset of a timestamp, and compare texts in the collation of the column. Only the server
//! knows the types of the columns, so the statement tests the type and holds a form of the value for each.

use svc_model::Timestamp;

use super::writer::{SqlWriter, check_text, typed_value_error};
use crate::constant::Constant;
use crate::predicate::Comparison;
use crate::refusal::DialectRefusal;
use crate::schema::SchemaColumn;

/// Compares texts exactly, including case, accents and trailing spaces. MySQL and MariaDB name that collation
/// differently; each reads its own version comment.
pub(super) const EXACT: &str =
    " /*!80017 COLLATE utf8mb4_0900_bin */ /*M!100202 COLLATE utf8mb4_nopad_bin */";

/// Disables MariaDB's subquery cache, which takes keys for equal that are equal in the collation only. A
/// subquery with a nondeterministic part is not cached.
pub(super) const NO_CACHE: &str = " /*M!100202 AND RAND() >= 0 */";

/// The widest exact number type, with its number of digits before and after the decimal point.
pub(super) const DECIMAL: &str = "DECIMAL(65,30)";
const WHOLE_DIGITS: usize = 35;
const MORE_DIGITS: usize = 30;

/// Renders the condition that the column holds numbers: `HEX` of a number differs from `HEX` of its text
/// form, for other types it does not. MariaDB's UUIDs and network addresses are excluded by their separators.
pub(super) fn is_number(column: &str) -> String {
    format!("HEX({column}) <> HEX(CONCAT({column})) AND CAST({column} AS CHAR) NOT REGEXP '.-.*-|:|[.].*[.]'")
}

/// Renders the condition that the column holds neither texts nor bytes.
pub(super) fn is_typed(column: &str) -> String {
    format!("COERCIBILITY({column}) = 5")
}

/// The comparison of a column with values.
#[derive(Clone, Copy)]
enum Test {
    /// The column equals one of them.
    In,
    /// The column equals none of them.
    NotIn,
    /// The column has this order relation to the only value; the second operator is the wider one for an
    /// index lookup.
    Order(&'static str, &'static str),
}

/// The collation in which texts are compared.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Collation {
    /// Exactly, including case, accents and trailing spaces.
    Exact,
    /// As the column has it, and `ORDER BY` with it.
    OfColumn,
}

/// A value in the form that each column type needs.
struct Literal {
    text: String,
    /// The number that the value parses as, and whether all its digits are compared.
    number: Option<(String, bool)>,
    /// The timestamp that a text with UTC offset names, converted to UTC.
    instant: Option<String>,
}

impl Literal {
    fn from_constant(constant: &Constant) -> Result<Self, DialectRefusal> {
        let text = match constant {
            Constant::Text(text) => {
                check_text(text)?;
                text.clone()
            }
            // A string parameter: a number would make a text column be compared numerically.
            Constant::Number(number) => number.to_string(),
            Constant::Bool(flag) => u8::from(*flag).to_string(),
            Constant::Binary(_) | Constant::Oid(_) | Constant::Date(_) => return Err(typed_value_error()),
        };
        let (number, instant) = (number(&text), instant(&text));
        Ok(Self { text, number, instant })
    }
}

/// Parses a text as a number; the flag is true if a decimal holds all its digits.
fn number(text: &str) -> Option<(String, bool)> {
    let text = text.trim_ascii();
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) =
        unsigned.split_once(['e', 'E']).map_or((unsigned, None), |(m, e)| (m, Some(e)));
    let (whole, more) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = |text: &str| text.bytes().all(|at| at.is_ascii_digit());
    let scaled = exponent.is_none_or(|exponent| {
        let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        !exponent.is_empty() && digits(exponent)
    });
    let reads = digits(whole) && digits(more) && !(whole.is_empty() && more.is_empty()) && scaled;
    let exact = exponent.is_none() && whole.len() <= WHOLE_DIGITS && more.len() <= MORE_DIGITS;
    reads.then(|| (text.to_owned(), exact))
}

/// Converts a timestamp with UTC offset to date and time in UTC, the time zone of the sessions.
fn instant(text: &str) -> Option<String> {
    let time = text.get("0000-00-00T".len()..)?;
    let utc = time.contains(['Z', 'z', '+', '-']).then(|| Timestamp::parse(text)).flatten()?;
    // Without a zone suffix, because a column without time zone compares texts.
    Some(utc.naive().format("%Y-%m-%dT%H:%M:%S%.f").to_string())
}

impl SqlWriter {
    pub(super) fn mysql_comparison(
        &mut self,
        table: &str,
        column: &SchemaColumn,
        comparison: Comparison,
        value: &Constant,
        collation: Collation,
    ) -> Result<(), DialectRefusal> {
        let test = match comparison {
            Comparison::Equal => Test::In,
            Comparison::NotEqual => Test::NotIn,
            Comparison::Less => Test::Order(" < ", " <= "),
            Comparison::LessOrEqual => Test::Order(" <= ", " <= "),
            Comparison::Greater => Test::Order(" > ", " >= "),
            Comparison::GreaterOrEqual => Test::Order(" >= ", " >= "),
        };
        let column = self.reference(table, &column.physical);
        match value {
            Constant::Binary(text) => self.test(&column, test, [text], |writer, text| writer.bytes(text)),
            value => self.by_type(&column, test, &[Literal::from_constant(value)?], collation),
        }
    }

    pub(super) fn mysql_one_of(
        &mut self,
        table: &str,
        column: &SchemaColumn,
        values: &[Constant],
        negated: bool,
    ) -> Result<(), DialectRefusal> {
        let mut binary = Vec::new();
        let mut literals = Vec::with_capacity(values.len());
        for value in values {
            match value {
                Constant::Binary(text) => binary.push(text),
                value => literals.push(Literal::from_constant(value)?),
            }
        }
        let (test, between) = if negated { (Test::NotIn, " AND ") } else { (Test::In, " OR ") };
        let column = self.reference(table, &column.physical);
        if binary.is_empty() {
            return self.by_type(&column, test, &literals, Collation::Exact);
        }
        self.push("(");
        self.test(&column, test, binary, |writer, text| writer.bytes(text))?;
        if !literals.is_empty() {
            self.push(between);
            self.by_type(&column, test, &literals, Collation::Exact)?;
        }
        self.push(")");
        Ok(())
    }

    fn by_type(
        &mut self,
        column: &str,
        test: Test,
        literals: &[Literal],
        collation: Collation,
    ) -> Result<(), DialectRefusal> {
        let write_text: fn(&mut Self, &Literal) = match collation {
            Collation::Exact => Self::exact,
            Collation::OfColumn => Self::collated,
        };
        let instants = literals.iter().any(|literal| literal.instant.is_some());
        self.push("(");
        self.candidates(column, test, literals, instants, write_text)?;
        self.push("CASE WHEN ").push(&is_number(column)).push(" THEN ");
        let numbers: Vec<_> = literals.iter().filter_map(|literal| literal.number.as_ref()).collect();
        if numbers.is_empty() {
            self.push(if matches!(test, Test::NotIn) { "TRUE" } else { "FALSE" });
        } else {
            self.test(column, test, numbers, |writer, (number, exact)| {
                if *exact {
                    writer.push("CAST(").value(number);
                    writer.push(" AS ").push(DECIMAL).push(")");
                } else {
                    writer.value(number);
                }
            })?;
        }
        if instants {
            self.push(" WHEN ").push(&is_typed(column)).push(" THEN ");
            self.test(column, test, literals, Self::moment)?;
        }
        self.push(" ELSE ");
        self.test(column, test, literals, write_text)?;
        self.push(" END)");
        Ok(())
    }

    /// Adds a wider condition that an index of the column can answer. MariaDB resolves the type test before
    /// it chooses an index; MySQL does not, and uses no index for timestamps.
    fn candidates(
        &mut self,
        column: &str,
        test: Test,
        literals: &[Literal],
        instants: bool,
        write_text: fn(&mut Self, &Literal),
    ) -> Result<(), DialectRefusal> {
        match test {
            Test::NotIn => return Ok(()),
            Test::In if instants => {
                self.push("(").push(&is_typed(column)).push(" OR ");
                self.test(column, test, literals, |writer, literal| writer.value(&literal.text))?;
                self.push(") AND (NOT ").push(&is_typed(column)).push(" OR ");
                self.test(column, test, literals, Self::moment)?;
                self.push(")");
            }
            Test::In => self.test(column, test, literals, |writer, literal| writer.value(&literal.text))?,
            Test::Order(_, wide) if instants => {
                self.push("(NOT ").push(&is_typed(column)).push(" OR ");
                self.test(column, Test::Order(wide, wide), literals, Self::moment)?;
                self.push(")");
            }
            Test::Order(_, wide) => self.test(column, Test::Order(wide, wide), literals, write_text)?,
        }
        self.push(" AND ");
        Ok(())
    }

    fn moment(&mut self, literal: &Literal) {
        self.value(literal.instant.as_ref().unwrap_or(&literal.text));
    }

    /// Writes bytes. As a parameter of their own they would have to be a text of the session.
    fn bytes(&mut self, base64: &str) {
        self.push("FROM_BASE64(").value(base64);
        self.push(")");
    }

    fn collated(&mut self, literal: &Literal) {
        self.value(&literal.text);
    }

    fn exact(&mut self, literal: &Literal) {
        self.value(&literal.text);
        self.push(EXACT);
    }

    fn value(&mut self, text: &str) {
        self.placeholder(text.into());
    }

    fn test<T>(
        &mut self,
        column: &str,
        test: Test,
        values: impl IntoIterator<Item = T>,
        write: impl Fn(&mut Self, T),
    ) -> Result<(), DialectRefusal> {
        let (sign, end) = match test {
            Test::In => (" IN (", ")"),
            Test::NotIn => (" NOT IN (", ")"),
            Test::Order(sign, _) => (sign, ""),
        };
        self.push(column).push(sign);
        self.list(", ", values, |writer, value| {
            write(writer, value);
            Ok(())
        })?;
        self.push(end);
        Ok(())
    }
}
