//! The limits on the width of the objects and arrays of a message.
//!
//! A workflow may spend time on every member, so that a message of few bytes can be expensive. A message with
//! a wider object or array is refused before any guard reads it, with the place of the object or array.

use serde_json::Value;
use svc_model::ServiceError;

/// Maximum number of characters of a place in an error.
const SHOWN: usize = 200;

/// The widest object and the widest array a message may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShapeLimits {
    /// Members of one object; the setting `ingest.max_object_members`.
    pub object_members: usize,
    /// Elements of one array; the setting `ingest.max_array_elements`.
    pub array_elements: usize,
}

impl Default for ShapeLimits {
    fn default() -> Self {
        Self { object_members: 10_000, array_elements: 100_000 }
    }
}

impl ShapeLimits {
    /// Checks every object and array of a body.
    ///
    /// # Errors
    /// 400 with the place of the first that is too wide.
    pub(crate) fn check(&self, body: &Value) -> Result<(), ServiceError> {
        let Some(excess) = self.excess(body) else { return Ok(()) };
        let Excess { mut place, reason } = excess;
        place.reverse();
        let place: String = std::iter::once("body".to_owned()).chain(place).collect();
        let shown: String = place.chars().take(SHOWN).collect();
        Err(ServiceError::validation(format!("{shown}: {reason}")))
    }

    fn excess(&self, value: &Value) -> Option<Excess> {
        match value {
            Value::Object(members) if members.len() > self.object_members => Some(Excess::new(format!(
                "an object of {} members; ingest.max_object_members allows {}",
                members.len(),
                self.object_members
            ))),
            Value::Array(items) if items.len() > self.array_elements => Some(Excess::new(format!(
                "an array of {} elements; ingest.max_array_elements allows {}",
                items.len(),
                self.array_elements
            ))),
            Value::Object(members) => members
                .iter()
                .find_map(|(name, member)| Some(self.excess(member)?.within(format!(".{name}")))),
            Value::Array(items) => items
                .iter()
                .enumerate()
                .find_map(|(index, item)| Some(self.excess(item)?.within(format!("[{index}]")))),
            _ => None,
        }
    }
}

/// A value that is too wide.
struct Excess {
    /// The steps that lead to it, the last one first.
    place: Vec<String>,
    reason: String,
}

impl Excess {
    fn new(reason: String) -> Self {
        Self { place: Vec::new(), reason }
    }

    fn within(mut self, step: String) -> Self {
        self.place.push(step);
        self
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn too_wide_value_is_refused_by_path() {
        let limits = ShapeLimits { object_members: 2, array_elements: 3 };
        for (body, expected) in [
            (json!({"a": 1, "b": [1, 2, 3]}), None),
            (
                json!({"a": 1, "b": 2, "c": 3}),
                Some("body: an object of 3 members; ingest.max_object_members allows 2"),
            ),
            (
                json!({"data": [{}, {"x": [1, 2, 3, 4]}]}),
                Some("body.data[1].x: an array of 4 elements; ingest.max_array_elements allows 3"),
            ),
        ] {
            let refused = limits.check(&body).err().map(|error| (error.status(), error.message().to_owned()));
            assert_eq!(refused, expected.map(|text| (400, text.to_owned())));
        }
    }
}
