//! Bulk statements of PostgreSQL: every column is one array parameter, so that a statement has the same text for any
//! number of rows and is prepared once.

use diesel::sql_types::{Array, BigInt, Nullable, Text, Timestamp};

pub(crate) type Texts = Array<Text>;
pub(crate) type MaybeTexts = Array<Nullable<Text>>;
pub(crate) type Numbers = Array<BigInt>;
pub(crate) type MaybeNumbers = Array<Nullable<BigInt>>;
pub(crate) type Instants = Array<Timestamp>;
pub(crate) type MaybeInstants = Array<Nullable<Timestamp>>;

/// Declares a statement over rows: its text before and after the parameters, then each column with its name, its SQL type,
/// the type of its values and the value of a row. The text is constant, so that the preparation is kept under the type.
macro_rules! bulk_statement {
    ($(#[$doc:meta])* $name:ident($row:ident: $source:ty), $before:literal, $after:literal,
        $first:ident: $first_kind:ty = $first_type:ty => $first_value:expr,
        $($column:ident: $kind:ty = $type:ty => $value:expr,)*
    ) => {
        $(#[$doc])*
        struct $name<'a> {
            $first: Vec<$first_type>,
            $($column: Vec<$type>,)*
        }

        impl<'a> $name<'a> {
            fn new(rows: &'a [$source]) -> Self {
                Self {
                    $first: rows.iter().map(|$row| $first_value).collect(),
                    $($column: rows.iter().map(|$row| $value).collect(),)*
                }
            }
        }

        impl diesel::query_builder::QueryId for $name<'_> {
            type QueryId = $name<'static>;
            const HAS_STATIC_QUERY_ID: bool = true;
        }

        impl diesel::query_builder::QueryFragment<diesel::pg::Pg> for $name<'_> {
            fn walk_ast<'b>(
                &'b self,
                mut out: diesel::query_builder::AstPass<'_, 'b, diesel::pg::Pg>,
            ) -> diesel::QueryResult<()> {
                out.push_sql($before);
                out.push_bind_param::<$first_kind, _>(&self.$first)?;
                $(
                    out.push_sql(", ");
                    out.push_bind_param::<$kind, _>(&self.$column)?;
                )*
                out.push_sql($after);
                Ok(())
            }
        }
    };
}
pub(crate) use bulk_statement;
