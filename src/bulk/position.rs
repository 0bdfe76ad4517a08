//! The position of a run of reruns. The rows of a channel without room are left out of the pages of all rows, from the
//! beginning of a page on, and taken afterwards.

use serde::{Deserialize, Serialize};

/// Maximum number of channels whose rows are left out at once: each is a part of the stored position.
const MOST_LEFT_OUT: usize = 100;

/// The position of a run. Its text is the cursor of the next page, as long as no channel is left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RerunPosition {
    /// The page of all rows; `None` once all were read.
    pub(super) page: Option<RerunPageStart>,
    /// The channels whose rows were left out.
    pub(super) left_out: Vec<LeftOutChannel>,
}

/// The start of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RerunPageStart {
    /// Its cursor; `None` for the first page.
    pub(super) cursor: Option<String>,
}

/// A channel that had no room for its rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LeftOutChannel {
    /// The name that its rows have.
    pub(super) name: String,
    pub(super) id: Option<String>,
    /// The page from which on its rows were left out.
    pub(super) page: RerunPageStart,
}

impl RerunPosition {
    /// Reads the stored position of a run.
    pub(super) fn parse(text: Option<&str>) -> Self {
        let stored =
            text.filter(|text| text.starts_with('{')).and_then(|text| serde_json::from_str(text).ok());
        let start = || RerunPageStart { cursor: text.map(str::to_owned) };
        stored.unwrap_or_else(|| Self { page: Some(start()), left_out: Vec::new() })
    }

    /// Returns the text that is stored; `None` at the end of the run.
    pub(super) fn to_text(&self) -> Option<String> {
        match &self.page {
            _ if !self.left_out.is_empty() => serde_json::to_string(self).ok(),
            Some(page) => page.cursor.clone(),
            None => None,
        }
    }

    /// Returns true if the rows of a channel are left out.
    pub(super) fn leaves_out(&self, channel: &str) -> bool {
        self.left_out.iter().any(|left_out| left_out.name == channel)
    }

    /// Returns true if the rows of so many channels more may be left out.
    pub(super) fn may_leave_out(&self, more: usize) -> bool {
        self.left_out.len().saturating_add(more) <= MOST_LEFT_OUT
    }

    /// Goes on behind a page of all rows; `next` is the cursor behind it, `None` at the last one.
    pub(super) fn pass_page(&mut self, next: Option<String>) {
        self.page = next.map(|cursor| RerunPageStart { cursor: Some(cursor) });
    }

    /// Goes on behind a page of the rows of a channel that was left out; it is one no longer behind the last of them.
    pub(super) fn pass_left_out(&mut self, channel: &str, next: Option<String>) {
        match next {
            Some(next) => {
                let own = self.left_out.iter_mut().find(|left_out| left_out.name == channel);
                if let Some(left_out) = own {
                    left_out.page.cursor = Some(next);
                }
            }
            None => self.left_out.retain(|left_out| left_out.name != channel),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left_out(name: &str) -> LeftOutChannel {
        LeftOutChannel { name: name.into(), id: None, page: RerunPageStart::default() }
    }

    #[test]
    fn cursor_is_position_until_channel_is_left_out() {
        for text in [None, Some("abc")] {
            let position = RerunPosition::parse(text);
            assert_eq!(position.page, Some(RerunPageStart { cursor: text.map(str::to_owned) }));
            assert_eq!(position.to_text().as_deref(), text);
        }
        let mut position = RerunPosition::parse(Some("abc"));
        position.left_out.push(left_out("orders"));
        let text = position.to_text().unwrap();
        assert_eq!(RerunPosition::parse(Some(&text)), position);
    }

    #[test]
    fn run_ends_behind_last_rows_left_out() {
        let mut position = RerunPosition::parse(None);
        position.left_out.extend([left_out("a"), left_out("b")]);
        position.pass_page(None);
        position.pass_left_out("a", Some("x".into()));
        assert_eq!(position.left_out[0].page.cursor.as_deref(), Some("x"));
        position.pass_left_out("a", None);
        assert!(!position.leaves_out("a") && position.leaves_out("b"));
        assert!(position.to_text().is_some());
        position.pass_left_out("b", None);
        assert_eq!(position.to_text(), None);
    }
}
