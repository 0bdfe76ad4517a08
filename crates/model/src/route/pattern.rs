//! Route patterns such as `/orders/{id}`.

use std::collections::HashSet;

/// The methods that a route can accept.
pub const METHODS: [&str; 7] = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];

#[derive(Clone, Debug, PartialEq, Eq)]
enum Segment {
    Static(String),
    Param(String),
}

/// A parsed route pattern of static segments and parameters, each of which matches one path segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoutePattern {
    segments: Box<[Segment]>,
}

impl RoutePattern {
    /// Maximum length of a pattern, in characters.
    pub const MAX_LENGTH: usize = 255;

    /// Parses a pattern. The caller checks its length.
    ///
    /// # Errors
    /// A description of the problem.
    pub fn parse(pattern: &str) -> Result<Self, String> {
        let Some(rest) = pattern.strip_prefix('/') else {
            return Err("a route pattern starts with '/'".into());
        };
        if let Some(bad) = pattern.chars().find(|c| c.is_whitespace() || matches!(c, '?' | '#' | '%')) {
            return Err(format!("a route pattern cannot hold {bad:?}"));
        }
        let segments = rest.split('/').map(segment).collect::<Result<Box<[_]>, _>>()?;
        let mut names = HashSet::new();
        for name in params(&segments) {
            if !names.insert(name) {
                return Err(format!("the parameter '{name}' appears twice"));
            }
        }
        Ok(Self { segments })
    }

    /// Returns the [shape](Self::shape) of a pattern in text form; `None` if it is no pattern.
    pub fn shape_of(pattern: &str) -> Option<String> {
        Self::parse(pattern).ok().map(|pattern| pattern.shape())
    }

    /// Returns the pattern without parameter names. Patterns with the same shape match the same paths.
    pub fn shape(&self) -> String {
        self.segments.iter().fold(String::new(), |mut shape, segment| {
            shape.push('/');
            shape.push_str(match segment {
                Segment::Static(text) => text,
                Segment::Param(_) => "{}",
            });
            shape
        })
    }

    /// Returns the number of segments that a matching path has.
    pub fn segment_count(&self) -> usize {
        self.segments.len()
    }

    /// Returns the names of the parameters, in order.
    pub fn params(&self) -> impl Iterator<Item = &str> {
        params(&self.segments)
    }

    /// Returns the parameters with their values, in order, if the decoded path segments match.
    ///
    /// Static segments are compared byte by byte. A parameter matches any segment that is not empty.
    pub fn matches<S: AsRef<str>>(&self, path: &[S]) -> Option<Vec<(&str, String)>> {
        if path.len() != self.segments.len() {
            return None;
        }
        let fits = self.segments.iter().zip(path).all(|(segment, part)| match segment {
            Segment::Static(text) => text == part.as_ref(),
            Segment::Param(_) => !part.as_ref().is_empty(),
        });
        fits.then(|| {
            let pairs = self.segments.iter().zip(path);
            pairs
                .filter_map(|(segment, part)| match segment {
                    Segment::Static(_) => None,
                    Segment::Param(name) => Some((name.as_str(), part.as_ref().to_owned())),
                })
                .collect()
        })
    }
}

fn segment(text: &str) -> Result<Segment, String> {
    if text.is_empty() {
        return Err("a route pattern has no empty segment".into());
    }
    if !text.contains(['{', '}']) {
        return Ok(Segment::Static(text.to_owned()));
    }
    let Some(name) = text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) else {
        return Err(format!("'{text}': a parameter is a whole segment, as in {{id}}"));
    };
    let mut bytes = name.bytes();
    let starts_well = bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_');
    if starts_well && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_') {
        Ok(Segment::Param(name.to_owned()))
    } else {
        Err(format!("'{name}' is no parameter name: letters, digits and '_', no digit first"))
    }
}

fn params(segments: &[Segment]) -> impl Iterator<Item = &str> {
    segments.iter().filter_map(|segment| match segment {
        Segment::Static(_) => None,
        Segment::Param(name) => Some(name.as_str()),
    })
}

/// Returns true if both lists accept a common method; an empty list accepts every method.
pub fn methods_overlap(a: &[String], b: &[String]) -> bool {
    a.is_empty()
        || b.is_empty()
        || a.iter().any(|method| b.iter().any(|other| other.eq_ignore_ascii_case(method)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grammar_is_kept() {
        for good in ["/a", "/a/{id}", "/{a}/{b_2}/c", "/_/{_x}", "/a.b-c~d/ü"] {
            assert!(RoutePattern::parse(good).is_ok(), "{good}");
        }
        for bad in [
            "", "a", "/", "//", "/a/", "/a//b", "/a b", "/a?b", "/a#b", "/a%20", "/x{id}", "/{id}x", "/{",
            "/}", "/{}", "/{1a}", "/{a-b}", "/{a}/{a}", "/{{a}}", "/a\tb",
        ] {
            assert!(RoutePattern::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_shape_forgets_parameter_names_only() {
        let shape = |text| RoutePattern::parse(text).unwrap().shape();
        assert_eq!(shape("/orders/{id}/lines"), "/orders/{}/lines");
        assert_eq!(shape("/orders/{a}"), shape("/orders/{b}"));
        assert_ne!(shape("/orders/{a}"), shape("/Orders/{a}"));
    }

    #[test]
    fn static_segments_match_exactly_parameters_match_anything() {
        let pattern = RoutePattern::parse("/orders/{id}").unwrap();
        assert_eq!(pattern.matches(&["orders", "a/b"]), Some(vec![("id", "a/b".to_owned())]));
        assert_eq!(pattern.matches(&["Orders", "1"]), None);
        assert_eq!(pattern.matches(&["orders", ""]), None);
        assert_eq!(pattern.matches(&["orders"]), None);
        assert_eq!(pattern.matches(&["orders", "1", "2"]), None);
        assert_eq!(RoutePattern::parse("/health").unwrap().matches(&["health"]), Some(vec![]));
        assert_eq!(pattern.params().collect::<Vec<_>>(), ["id"]);
        assert_eq!(pattern.segment_count(), 2);
    }

    #[test]
    fn methods_ignore_case_and_empty_means_all() {
        let list = |names: &[&str]| names.iter().map(|&n| n.to_owned()).collect::<Vec<_>>();
        assert!(methods_overlap(&list(&["GET", "POST"]), &list(&["post"])));
        assert!(!methods_overlap(&list(&["GET"]), &list(&["POST"])));
        assert!(methods_overlap(&[], &list(&["POST"])));
    }
}
