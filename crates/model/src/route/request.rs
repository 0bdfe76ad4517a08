//! The request path of a channel.

use crate::error::ServiceError;

/// The request path below the mount point: its decoded segments, and the asynchronous flag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestPath {
    /// The segments, each percent-decoded once; an encoded `/` does not split a segment.
    pub segments: Vec<String>,
    /// True if the path ended with `/async`, which is removed.
    pub is_async: bool,
}

impl RequestPath {
    /// Parses the percent-encoded path below the mount point.
    ///
    /// # Errors
    /// 400 for an empty path, an invalid escape, or text that is not UTF-8.
    pub fn parse(rest: &str) -> Result<Self, ServiceError> {
        let trimmed = rest.trim_matches(|c: char| c == '/' || c.is_whitespace());
        let (path, is_async) = match trimmed.strip_suffix("/async") {
            Some(path) => (path.trim_end_matches('/'), true),
            None => (trimmed, false),
        };
        if path.is_empty() {
            return Err(ServiceError::validation("the path names no channel"));
        }
        let segments = path.split('/').map(decode).collect::<Result<_, _>>()?;
        Ok(Self { segments, is_async })
    }

    /// Returns the channel name of a path with one segment, for requests that no route matches; `None` for a
    /// longer path.
    ///
    /// # Errors
    /// 400 for a blank name.
    pub fn channel_name(&self) -> Result<Option<&str>, ServiceError> {
        let [name] = self.segments.as_slice() else { return Ok(None) };
        match name.trim() {
            "" => Err(ServiceError::validation("the path names no channel")),
            name => Ok(Some(name)),
        }
    }
}

/// Decodes the percent escapes of one segment, once.
fn decode(segment: &str) -> Result<String, ServiceError> {
    if !segment.contains('%') {
        return Ok(segment.to_owned());
    }
    let mut bytes = Vec::with_capacity(segment.len());
    let mut rest = segment.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digit = |byte: Option<u8>| byte.and_then(|b| char::from(b).to_digit(16));
        match (digit(rest.next()), digit(rest.next())) {
            (Some(high), Some(low)) => bytes.push((high * 16 + low) as u8),
            _ => return Err(ServiceError::validation("the path holds a broken percent escape")),
        }
    }
    String::from_utf8(bytes).map_err(|_| ServiceError::validation("the path is not UTF-8 once decoded"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(rest: &str) -> (Vec<String>, bool) {
        let path = RequestPath::parse(rest).unwrap();
        (path.segments, path.is_async)
    }

    fn segments(names: &[&str]) -> Vec<String> {
        names.iter().map(|&n| n.to_owned()).collect()
    }

    #[test]
    fn segments_are_split_before_they_are_decoded() {
        assert_eq!(parse("/orders/a%2Fb"), (segments(&["orders", "a/b"]), false));
        assert_eq!(parse("orders/%C3%BC%20x"), (segments(&["orders", "ü x"]), false));
        assert_eq!(parse("%2525"), (segments(&["%25"]), false));
        assert_eq!(parse("a//b"), (segments(&["a", "", "b"]), false));
        assert_eq!(parse("  //orders/ "), (segments(&["orders"]), false));
    }

    #[test]
    fn final_async_segment_marks_async_only_behind_something() {
        assert_eq!(parse("/orders/async"), (segments(&["orders"]), true));
        assert_eq!(parse("/orders/async/"), (segments(&["orders"]), true));
        assert_eq!(parse("/orders/1/async"), (segments(&["orders", "1"]), true));
        assert_eq!(parse("/async"), (segments(&["async"]), false));
        assert_eq!(parse("/async/async"), (segments(&["async"]), true));
        assert_eq!(parse("/orders/%61sync"), (segments(&["orders", "async"]), false));
    }

    #[test]
    fn empty_and_broken_paths_are_refused() {
        for bad in ["", "/", " / ", "%", "%2", "a%zz", "%ff", "%+1"] {
            assert_eq!(RequestPath::parse(bad).unwrap_err().status(), 400, "{bad:?}");
        }
    }

    #[test]
    fn single_segment_is_channel_name_blank_is_refused() {
        let name = |rest| RequestPath::parse(rest).unwrap().channel_name().map(|n| n.map(str::to_owned));
        assert_eq!(name("orders").unwrap().as_deref(), Some("orders"));
        assert_eq!(name("%20orders%20").unwrap().as_deref(), Some("orders"));
        assert_eq!(name("a/b").unwrap(), None);
        assert_eq!(name("%20").unwrap_err().status(), 400);
    }
}
