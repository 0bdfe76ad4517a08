//! Pagination of lists.

use crate::error::ServiceError;

/// The requested part of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// Maximum number of rows, 1 to 1000.
    pub limit: i64,
    /// Number of rows to skip.
    pub offset: i64,
}

impl Default for Page {
    fn default() -> Self {
        Self { limit: Self::DEFAULT_LIMIT, offset: 0 }
    }
}

impl Page {
    /// Default number of rows on a page.
    pub const DEFAULT_LIMIT: i64 = 50;
    /// Maximum number of rows on a page.
    pub const MAX_LIMIT: i64 = 1000;

    /// Parses the two query parameters and clamps them to their ranges.
    ///
    /// # Errors
    /// 400 for a value that is not an integer.
    pub fn parse(limit: Option<&str>, offset: Option<&str>) -> Result<Self, ServiceError> {
        Ok(Self {
            limit: integer("limit", limit)?.map_or(Self::DEFAULT_LIMIT, |n| clamp(n, 1, Self::MAX_LIMIT)),
            offset: integer("offset", offset)?.map_or(0, |n| clamp(n, 0, i64::MAX)),
        })
    }
}

/// Parses an integer. The wide type lets a huge number be clamped instead of refused.
fn integer(name: &str, text: Option<&str>) -> Result<Option<i128>, ServiceError> {
    text.map(|text| {
        text.trim()
            .parse()
            .map_err(|_| ServiceError::validation(format!("query parameter '{name}' must be an integer")))
    })
    .transpose()
}

fn clamp(value: i128, low: i64, high: i64) -> i64 {
    i64::try_from(value.clamp(low.into(), high.into())).unwrap_or(high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_defaults_and_is_moved_into_its_range() {
        let page = |limit, offset| Page::parse(limit, offset).map(|p| (p.limit, p.offset)).unwrap();
        assert_eq!(page(None, None), (50, 0));
        assert_eq!(page(Some("0"), Some("-5")), (1, 0));
        assert_eq!(page(Some("5000"), Some("7")), (1000, 7));
        assert_eq!(page(Some("99999999999999999999"), Some("99999999999999999999")), (1000, i64::MAX));
    }

    #[test]
    fn non_integer_value_is_refused_by_name() {
        for bad in ["", "ten", "1.5"] {
            let error = Page::parse(Some(bad), None).unwrap_err();
            assert_eq!(error.status(), 400);
            assert!(error.message().contains("limit"));
            assert!(Page::parse(None, Some(bad)).unwrap_err().message().contains("offset"));
        }
    }
}
