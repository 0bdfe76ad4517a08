//! The envelopes of successful responses.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use svc_model::Page;
use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, SchemaType};
use utoipa::openapi::{Ref, RefOr, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

use crate::entities::validation::ValidationIssue;

/// `{"data": …}`: one resource.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DataEnvelope<T> {
    /// The resource.
    pub data: T,
}

/// `{"data": …, "warnings": […]?}`: one resource, and what is questionable about it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WarnedEnvelope<T> {
    /// The resource.
    pub data: T,
    /// Problems that do not prevent the request; absent if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<ValidationIssue>,
}

/// `{"data": […]}`: a whole list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ListEnvelope<T> {
    /// The rows.
    pub data: Vec<T>,
}

/// `{"data": […], "total", "limit", "offset"}`: one page of a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PageEnvelope<T> {
    /// The rows of the page.
    pub data: Vec<T>,
    /// Number of matching rows on all pages.
    pub total: i64,
    /// The applied limit.
    pub limit: i64,
    /// The applied offset.
    pub offset: i64,
}

impl<T> PageEnvelope<T> {
    /// Creates the response for `page` of a list with `total` rows.
    pub fn new(rows: impl IntoIterator<Item = T>, total: i64, page: Page) -> Self {
        Self { data: rows.into_iter().collect(), total, limit: page.limit, offset: page.offset }
    }
}

/// Returns the reference to the schema of a type.
pub(crate) fn reference_to<T: ToSchema>() -> RefOr<Schema> {
    RefOr::Ref(Ref::from_schema_name(T::name()))
}

fn rows_of<T: ToSchema>() -> ArrayBuilder {
    ArrayBuilder::new().items(reference_to::<T>())
}

fn integer(description: &str) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(SchemaType::Type(Type::Integer)).description(Some(description))
}

/// Implements the schema of an envelope, whose name is made from the name of what it holds.
macro_rules! envelope_schema {
    ($envelope:ident, $name:literal, $schema:expr) => {
        impl<T: ToSchema> PartialSchema for $envelope<T> {
            fn schema() -> RefOr<Schema> {
                $schema.into()
            }
        }

        impl<T: ToSchema> ToSchema for $envelope<T> {
            fn name() -> Cow<'static, str> {
                format!($name, T::name()).into()
            }

            fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
                schemas.push((T::name().into_owned(), T::schema()));
                T::schemas(schemas);
            }
        }
    };
}

envelope_schema!(
    DataEnvelope,
    "{}Response",
    ObjectBuilder::new().property("data", reference_to::<T>()).required("data")
);
envelope_schema!(
    ListEnvelope,
    "{}List",
    ObjectBuilder::new().property("data", rows_of::<T>()).required("data")
);
envelope_schema!(
    PageEnvelope,
    "{}Page",
    ObjectBuilder::new()
        .property("data", rows_of::<T>())
        .required("data")
        .property("total", integer("Number of matching rows on all pages."))
        .required("total")
        .property("limit", integer("The applied limit."))
        .required("limit")
        .property("offset", integer("The applied offset."))
        .required("offset")
);

impl<T: ToSchema> PartialSchema for WarnedEnvelope<T> {
    fn schema() -> RefOr<Schema> {
        let warnings = rows_of::<ValidationIssue>()
            .description(Some("Problems that do not prevent the request; absent if there are none."));
        let envelope = ObjectBuilder::new()
            .property("data", reference_to::<T>())
            .required("data")
            .property("warnings", warnings);
        envelope.into()
    }
}

impl<T: ToSchema> ToSchema for WarnedEnvelope<T> {
    fn name() -> Cow<'static, str> {
        format!("{}WarnedResponse", T::name()).into()
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push((T::name().into_owned(), T::schema()));
        T::schemas(schemas);
        schemas.push((ValidationIssue::name().into_owned(), ValidationIssue::schema()));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_envelope_omits_warnings_if_there_are_none() {
        let bare = WarnedEnvelope { data: 1, warnings: Vec::new() };
        assert_eq!(serde_json::to_string(&bare).unwrap(), r#"{"data":1}"#);
        let read: WarnedEnvelope<i32> = serde_json::from_value(json!({"data": 1})).unwrap();
        assert_eq!(read, bare);
    }

    #[test]
    fn page_shows_the_applied_limits_after_its_rows() {
        let page = PageEnvelope::new([1, 2], 7, Page { limit: 2, offset: 4 });
        assert_eq!(serde_json::to_string(&page).unwrap(), r#"{"data":[1,2],"total":7,"limit":2,"offset":4}"#);
    }
}
