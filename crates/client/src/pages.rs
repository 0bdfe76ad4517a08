//! Lists that come in pages: by offset, or by cursor if the list has one.

use serde::Deserialize;
use serde_json::Value;

use crate::client::Client;
use crate::error::ClientError;
use crate::request::ApiRequest;

/// One page of a list.
#[derive(Clone, Debug, Deserialize)]
pub struct ResultPage {
    /// The rows.
    pub data: Vec<Value>,
    /// Number of rows that match, if the list counts them.
    pub total: Option<u64>,
    /// The position behind the page, in lists that go by cursor.
    pub next_cursor: Option<String>,
}

/// The pages of a list, one request each.
///
/// ```no_run
/// use svc_client::{ApiRequest, Client, Pages, admin_path};
///
/// # async fn list(client: &Client) -> Result<(), svc_client::ClientError> {
/// let request = ApiRequest::get(admin_path(&["traces"])).query("status", "failed");
/// let mut pages = Pages::new(client, request, 100);
/// while let Some(page) = pages.next_page().await? {
///     for trace in page.data {
///         println!("{}", trace["id"]);
///     }
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Pages<'a> {
    client: &'a Client,
    request: ApiRequest,
    size: u64,
    position: Option<Position>,
}

#[derive(Debug)]
enum Position {
    Offset(u64),
    Cursor(String),
}

impl<'a> Pages<'a> {
    /// Starts at the beginning of the list that `request` asks for, `size` rows at a time.
    #[must_use]
    pub fn new(client: &'a Client, request: ApiRequest, size: u64) -> Self {
        Self { client, request, size, position: Some(Position::Offset(0)) }
    }

    /// Reads the next page; `None` behind the last one.
    ///
    /// # Errors
    /// [`ClientError`] as of any request. The next call asks for the same page again.
    pub async fn next_page(&mut self) -> Result<Option<ResultPage>, ClientError> {
        let Some(position) = &self.position else { return Ok(None) };
        let request = self.request.clone().query("limit", self.size);
        let request = match position {
            Position::Offset(0) => request,
            Position::Offset(offset) => request.query("offset", offset),
            Position::Cursor(cursor) => request.query("cursor", cursor),
        };
        let page: ResultPage = self.client.send(&request).await?.json()?;
        self.position = following(position, &page, self.size);
        Ok(Some(page))
    }

    /// Reads all further rows.
    ///
    /// # Errors
    /// [`ClientError`] as of any request.
    pub async fn collect(mut self) -> Result<Vec<Value>, ClientError> {
        let mut rows = Vec::new();
        while let Some(page) = self.next_page().await? {
            rows.extend(page.data);
        }
        Ok(rows)
    }
}

/// Returns the position behind a page; `None` if it was the last.
fn following(position: &Position, page: &ResultPage, size: u64) -> Option<Position> {
    if let Some(cursor) = &page.next_cursor {
        return Some(Position::Cursor(cursor.clone()));
    }
    let Position::Offset(offset) = position else { return None };
    let rows = u64::try_from(page.data.len()).unwrap_or(u64::MAX);
    let end = offset.saturating_add(rows);
    let is_last = rows == 0 || page.total.map_or(rows < size, |total| end >= total);
    (!is_last).then_some(Position::Offset(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(rows: usize, total: Option<u64>, cursor: Option<&str>) -> ResultPage {
        ResultPage { data: vec![Value::Null; rows], total, next_cursor: cursor.map(str::to_owned) }
    }

    fn offset(position: Option<Position>) -> Option<u64> {
        match position {
            Some(Position::Offset(offset)) => Some(offset),
            _ => None,
        }
    }

    #[test]
    fn offsets_go_on_until_the_total_is_reached() {
        let at =
            |offset, rows, total| super::following(&Position::Offset(offset), &page(rows, total, None), 2);
        assert_eq!(offset(at(0, 2, Some(5))), Some(2));
        assert_eq!(offset(at(2, 2, Some(4))), None);
        assert_eq!(offset(at(2, 0, Some(9))), None);
        assert_eq!(offset(at(0, 2, None)), Some(2));
        assert_eq!(offset(at(2, 1, None)), None);
    }

    #[test]
    fn cursor_wins_and_ends_with_the_last_page() {
        let next = following(&Position::Offset(0), &page(2, None, Some("c")), 2);
        assert!(matches!(&next, Some(Position::Cursor(cursor)) if cursor == "c"));
        assert!(following(&next.unwrap(), &page(2, None, None), 2).is_none());
    }
}
