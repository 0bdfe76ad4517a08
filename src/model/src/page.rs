//! Pages of a list.

use serde::Serialize;

use crate::error::ServiceError;

/// Which part of a list is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// Rows at most, 1 to 1000.
    pub limit: i64,
    /// Rows skipped.
    pub offset: i64,
}

impl Default for Page {
    fn default() -> Self {
        Self { limit: Self::DEFAULT_LIMIT, offset: 0 }
    }
}

impl Page {
    /// Rows on a page when none are asked for.
    pub const DEFAULT_LIMIT: i64 = 50;
    /// Rows on a page at most.
    pub const MAX_LIMIT: i64 = 1000;

    /// Reads the two query values; what is out of range is moved into it.
    ///
    /// # Errors
    /// 400 for a value that is no integer.
    pub fn parse(limit: Option<&str>, offset: Option<&str>) -> Result<Self, ServiceError> {
        Ok(Self {
            limit: integer("limit", limit)?.map_or(Self::DEFAULT_LIMIT, |n| clamp(n, 1, Self::MAX_LIMIT)),
            offset: integer("offset", offset)?.map_or(0, |n| clamp(n, 0, i64::MAX)),
        })
    }
}

/// Wide, so that a number too large for a row count is moved into the range instead of refused.
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

/// One page of a list, as it is answered.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PageOf<T> {
    /// The rows.
    pub data: Vec<T>,
    /// Rows that match, on all pages.
    pub total: i64,
    /// The limit that was applied.
    pub limit: i64,
    /// The offset that was applied.
    pub offset: i64,
}

impl<T> PageOf<T> {
    /// The rows of `page` out of `total`.
    pub fn new(data: Vec<T>, total: i64, page: Page) -> Self {
        Self { data, total, limit: page.limit, offset: page.offset }
    }

    /// The same page of something else.
    pub fn map<U>(self, change: impl FnMut(T) -> U) -> PageOf<U> {
        PageOf {
            data: self.data.into_iter().map(change).collect(),
            total: self.total,
            limit: self.limit,
            offset: self.offset,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_defaults_and_is_moved_into_its_range() {
        let page = |limit, offset| Page::parse(limit, offset).map(|p| (p.limit, p.offset)).unwrap();
        assert_eq!(page(None, None), (50, 0));
        assert_eq!(page(Some("0"), Some("-5")), (1, 0));
        assert_eq!(page(Some("5000"), Some("7")), (1000, 7));
        assert_eq!(page(Some("99999999999999999999"), Some("99999999999999999999")), (1000, i64::MAX));
    }

    #[test]
    fn a_value_that_is_no_integer_is_refused_by_name() {
        for bad in ["", "ten", "1.5"] {
            let error = Page::parse(Some(bad), None).unwrap_err();
            assert_eq!(error.status(), 400);
            assert!(error.message().contains("limit"));
            assert!(Page::parse(None, Some(bad)).unwrap_err().message().contains("offset"));
        }
    }
}
