//! Bounds of what statements answer, checked while rows arrive.

use serde_json::Value;
use svc_engine::value_bytes;

use super::error::SqlError;

/// Bounds of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ResultBounds {
    /// Most rows of one statement.
    pub(crate) rows: usize,
    /// Most bytes of all rows of all statements of a run, as they are held in memory.
    pub(crate) bytes: usize,
}

impl ResultBounds {
    pub(crate) fn new(rows: u64, bytes: u64) -> Self {
        let size = |number| usize::try_from(number).unwrap_or(usize::MAX);
        Self { rows: size(rows), bytes: size(bytes) }
    }
}

/// The remaining bounds of a run.
pub(super) struct ResultBudget {
    bounds: Option<ResultBounds>,
    used: usize,
}

impl ResultBudget {
    pub(super) const fn new(bounds: Option<ResultBounds>) -> Self {
        Self { bounds, used: 0 }
    }

    /// Returns true if rows are wanted at all.
    pub(super) const fn wants_rows(&self) -> bool {
        self.bounds.is_some()
    }

    /// Checks one more row before it is converted: `rows` of its statement are held already, and `raw` is its
    /// size as the database sent it. Answers `false` if rows are not wanted.
    ///
    /// # Errors
    /// [`SqlError::TooManyRows`] and [`SqlError::TooLarge`].
    pub(super) const fn admit(&self, rows: usize, raw: usize) -> Result<bool, SqlError> {
        let Some(bounds) = self.bounds else { return Ok(false) };
        if rows >= bounds.rows {
            return Err(SqlError::TooManyRows(bounds.rows));
        }
        if self.used.saturating_add(raw) > bounds.bytes {
            return Err(SqlError::TooLarge(bounds.bytes));
        }
        Ok(true)
    }

    /// Counts a converted row.
    ///
    /// # Errors
    /// [`SqlError::TooLarge`].
    pub(super) fn charge(&mut self, row: &Value) -> Result<(), SqlError> {
        self.used = self.used.saturating_add(value_bytes(row));
        match self.bounds {
            Some(bounds) if self.used > bounds.bytes => Err(SqlError::TooLarge(bounds.bytes)),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn rows_and_bytes_are_bounded() {
        let mut budget = ResultBudget::new(Some(ResultBounds { rows: 2, bytes: 1000 }));
        assert_eq!(budget.admit(0, 900), Ok(true));
        assert_eq!(budget.admit(2, 1), Err(SqlError::TooManyRows(2)));
        assert_eq!(budget.admit(0, 1001), Err(SqlError::TooLarge(1000)));
        assert_eq!(budget.charge(&json!({"a": "x".repeat(500)})), Ok(()));
        assert_eq!(budget.admit(1, 600), Err(SqlError::TooLarge(1000)), "the rows before count");
        assert_eq!(budget.charge(&json!({"a": "x".repeat(500)})), Err(SqlError::TooLarge(1000)));
        assert_eq!(ResultBudget::new(None).admit(9, usize::MAX), Ok(false));
    }
}
