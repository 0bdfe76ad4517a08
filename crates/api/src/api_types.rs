//! The declaration of the types of the API, in which each field says once in which form it is absent.

/// Declares types of bodies. A field is `optional T` (an absent member, never `null`), `nullable T` (always a
/// member) or `T`; a field in another form has its attributes written out. A `Timestamp` is described as a text
/// with a date and time in each of them.
macro_rules! api_types {
    ($($(#[$($about:tt)*])* pub struct $name:ident { $($fields:tt)* })+) => {
        $( api_types! { @next [$(#[$($about)*])* pub struct $name] {} $($fields)* } )+
    };
    (@next [$($head:tt)*] { $($done:tt)* }) => {
        #[derive(Clone, Debug, PartialEq, ::serde::Serialize, ::serde::Deserialize, ::utoipa::ToSchema)]
        $($head)* { $($done)* }
    };
    (@next $head:tt { $($done:tt)* }
        $(#[$($about:tt)*])* pub $field:ident: Timestamp, $($rest:tt)*) => {
        api_types! { @next $head { $($done)*
            $(#[$($about)*])*
            #[schema(value_type = String, format = DateTime)]
            pub $field: Timestamp,
        } $($rest)* }
    };
    (@next $head:tt { $($done:tt)* }
        $(#[$($about:tt)*])* pub $field:ident: nullable Timestamp, $($rest:tt)*) => {
        api_types! { @next $head { $($done)*
            $(#[$($about)*])*
            #[schema(value_type = Option<String>, format = DateTime, required = true)]
            pub $field: Option<Timestamp>,
        } $($rest)* }
    };
    (@next $head:tt { $($done:tt)* }
        $(#[$($about:tt)*])* pub $field:ident: optional Timestamp, $($rest:tt)*) => {
        api_types! { @next $head { $($done)*
            $(#[$($about)*])*
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[schema(value_type = Option<String>, format = DateTime, nullable = false)]
            pub $field: Option<Timestamp>,
        } $($rest)* }
    };
    (@next $head:tt { $($done:tt)* }
        $(#[$($about:tt)*])* pub $field:ident: nullable $value:ty, $($rest:tt)*) => {
        api_types! { @next $head { $($done)*
            $(#[$($about)*])*
            #[schema(required = true)]
            pub $field: Option<$value>,
        } $($rest)* }
    };
    (@next $head:tt { $($done:tt)* }
        $(#[$($about:tt)*])* pub $field:ident: optional $value:ty, $($rest:tt)*) => {
        api_types! { @next $head { $($done)*
            $(#[$($about)*])*
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[schema(nullable = false)]
            pub $field: Option<$value>,
        } $($rest)* }
    };
    (@next $head:tt { $($done:tt)* }
        $(#[$($about:tt)*])* pub $field:ident: $value:ty, $($rest:tt)*) => {
        api_types! { @next $head { $($done)* $(#[$($about)*])* pub $field: $value, } $($rest)* }
    };
}

pub(crate) use api_types;
