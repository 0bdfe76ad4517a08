//! Objects whose members the document does not describe.

use utoipa::openapi::schema::{AdditionalProperties, ArrayItems, Object, SchemaType};
use utoipa::openapi::{RefOr, Schema, Type};

/// Says of every object without described members that it may have any. A generator of clients takes it for an empty one
/// otherwise.
pub(crate) fn permit_members(schema: &mut RefOr<Schema>) {
    match schema {
        RefOr::Ref(_) => {}
        RefOr::T(Schema::Object(object)) => {
            if is_free(object) {
                object.additional_properties = Some(Box::new(AdditionalProperties::FreeForm(true)));
            }
            object.properties.values_mut().for_each(permit_members);
        }
        RefOr::T(Schema::Array(array)) => {
            if let ArrayItems::RefOrSchema(items) = &mut array.items {
                permit_members(items);
            }
        }
        RefOr::T(Schema::OneOf(any)) => any.items.iter_mut().for_each(permit_members),
        RefOr::T(Schema::AllOf(all)) => all.items.iter_mut().for_each(permit_members),
        RefOr::T(Schema::AnyOf(any)) => any.items.iter_mut().for_each(permit_members),
        RefOr::T(_) => {}
    }
}

fn is_free(object: &Object) -> bool {
    let is_object = match &object.schema_type {
        SchemaType::Type(kind) => *kind == Type::Object,
        SchemaType::Array(kinds) => kinds.contains(&Type::Object),
        SchemaType::AnyValue => false,
    };
    is_object && object.properties.is_empty() && object.additional_properties.is_none()
}
