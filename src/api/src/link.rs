//! Links: the requests that continue where a response ends.

use utoipa::openapi::extensions::Extensions;
use utoipa::openapi::link::{Link, LinkBuilder};

/// The operations that take a value of a response as their parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Links {
    /// The place of the value in the body of the response, as a JSON pointer.
    pointer: &'static str,
    /// The parameter of their paths.
    parameter: &'static str,
    /// The ids of the operations.
    operations: &'static [&'static str],
}

impl Links {
    /// Creates the links of a response.
    pub(crate) const fn new(
        pointer: &'static str,
        parameter: &'static str,
        operations: &'static [&'static str],
    ) -> Self {
        Self { pointer, parameter, operations }
    }

    /// Returns each link with its name, which is the id of the operation.
    pub(crate) fn to_openapi(self) -> impl Iterator<Item = (&'static str, Link)> {
        let value = format!("$response.body#{}", self.pointer);
        self.operations.iter().map(move |id| {
            // `LinkBuilder::operation_id` of utoipa 5 writes `operation_id`, which is no member of a link.
            let operation = Extensions::from_iter([("operationId", *id)]);
            let link = LinkBuilder::new().parameter(self.parameter, value.as_str());
            (*id, link.extensions(Some(operation)).build())
        })
    }
}
