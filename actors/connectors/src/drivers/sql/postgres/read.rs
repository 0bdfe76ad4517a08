//! Values of PostgreSQL as JSON.

mod binary;

use std::error::Error;

use chrono::{DateTime, NaiveDate, NaiveDateTime, SecondsFormat, Utc};
use serde_json::{Map, Value};
use tokio_postgres::types::{FromSql, Kind, Type};
use tokio_postgres::{Column, Row};
use uuid::Uuid;

use crate::drivers::sql::error::SqlError;
use crate::drivers::sql::value::{MALFORMED, UNSUPPORTED, ValueForm, double, single};

/// Returns the statement of a document with the columns as text that have no place in JSON, which an author cannot cast
/// there; `None` if there is no such column. A column that has arrays of such values becomes an array of texts.
pub(super) fn cast_to_text(sql: &str, columns: &[Column]) -> Option<String> {
    if columns.iter().all(|column| is_supported(column.type_())) {
        return None;
    }
    let selected = columns.iter().map(|column| {
        let name = format!("\"{}\"", column.name().replace('"', "\"\""));
        // As the database writes the value out, which a cast may do otherwise: an address without its mask.
        let text = format!("CASE WHEN {name} IS DISTINCT FROM NULL THEN concat({name}) END");
        match column.type_().kind() {
            _ if is_supported(column.type_()) => name,
            Kind::Array(_) => format!("({text})::text[] AS {name}"),
            _ => format!("{text} AS {name}"),
        }
    });
    let selected = selected.collect::<Vec<_>>().join(", ");
    Some(match sql.starts_with("SELECT ") {
        true => format!("SELECT {selected} FROM ({sql}) AS svc_rows"),
        // A write with RETURNING.
        false => format!("WITH svc_rows AS ({sql}) SELECT {selected} FROM svc_rows"),
    })
}

/// Refuses a result before it is computed when one of its types has no place in JSON.
pub(super) fn check(columns: &[Column]) -> Result<(), SqlError> {
    match columns.iter().find(|column| !is_supported(column.type_())) {
        // Nothing was begun.
        Some(column) => Err(SqlError::Input(unreadable(column, UNSUPPORTED).to_string())),
        None => Ok(()),
    }
}

/// A row as an object, its columns in their order.
pub(super) fn row(row: &Row, form: ValueForm) -> Result<Value, SqlError> {
    let mut object = Map::with_capacity(row.len());
    for (index, column) in row.columns().iter().enumerate() {
        let Cell(raw) = row.try_get(index).map_err(|_| unreadable(column, MALFORMED))?;
        let value = raw.map_or(Ok(Value::Null), |raw| value(column.type_(), raw, form));
        object.insert(column.name().to_owned(), value.map_err(|why| unreadable(column, why))?);
    }
    Ok(Value::Object(object))
}

fn unreadable(column: &Column, why: &'static str) -> SqlError {
    SqlError::Unreadable { column: column.name().to_owned(), kind: column.type_().name().to_owned(), why }
}

/// A value as it was sent; `None` for null.
struct Cell<'a>(Option<&'a [u8]>);

impl<'a> FromSql<'a> for Cell<'a> {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Self(Some(raw)))
    }

    fn from_sql_null(_: &Type) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Self(None))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

fn is_supported(kind: &Type) -> bool {
    match kind.kind() {
        Kind::Array(member) => is_supported(member),
        Kind::Domain(base) => is_supported(base),
        Kind::Enum(_) => true,
        Kind::Simple | Kind::Pseudo => {
            matches!(
                *kind,
                Type::BOOL
                    | Type::INT2
                    | Type::INT4
                    | Type::INT8
                    | Type::OID
                    | Type::FLOAT4
                    | Type::FLOAT8
                    | Type::NUMERIC
                    | Type::BYTEA
                    | Type::UUID
                    | Type::DATE
                    | Type::TIME
                    | Type::TIMETZ
                    | Type::TIMESTAMP
                    | Type::TIMESTAMPTZ
                    | Type::JSON
                    | Type::JSONB
                    | Type::CHAR
                    | Type::VOID
            ) || is_text(kind)
        }
        _ => false,
    }
}

fn is_text(kind: &Type) -> bool {
    matches!(*kind, Type::TEXT | Type::VARCHAR | Type::BPCHAR | Type::NAME | Type::UNKNOWN | Type::XML)
        || kind.name() == "citext"
}

fn value(kind: &Type, raw: &[u8], form: ValueForm) -> Result<Value, &'static str> {
    match kind.kind() {
        Kind::Array(member) => return binary::array(raw, &mut |raw| value(member, raw, form)),
        Kind::Domain(base) => return value(base, raw, form),
        Kind::Enum(_) => return text(raw),
        _ if is_text(kind) => return text(raw),
        _ => {}
    }
    match *kind {
        Type::BOOL => read::<bool>(kind, raw).map(Value::from),
        Type::INT2 => read::<i16>(kind, raw).map(Value::from),
        Type::INT4 => read::<i32>(kind, raw).map(Value::from),
        Type::INT8 => read::<i64>(kind, raw).map(Value::from),
        Type::OID => read::<u32>(kind, raw).map(Value::from),
        Type::FLOAT4 => single(read(kind, raw)?),
        Type::FLOAT8 => double(read(kind, raw)?),
        Type::NUMERIC => form.numeric.encode(&binary::numeric(raw)?),
        Type::BYTEA => form.binary.encode(raw),
        Type::CHAR | Type::VOID if raw.is_empty() => Ok(Value::Null),
        Type::CHAR => text(raw),
        Type::UUID => read::<Uuid>(kind, raw).map(|id| id.to_string().into()),
        Type::DATE => match binary::infinite::<4>(raw) {
            Some(named) => Ok(named.into()),
            None => read::<NaiveDate>(kind, raw).map(|date| date.to_string().into()),
        },
        Type::TIMESTAMP => match binary::infinite::<8>(raw) {
            Some(named) => Ok(named.into()),
            // `T` between date and time.
            None => read::<NaiveDateTime>(kind, raw).map(|time| format!("{time:?}").into()),
        },
        Type::TIMESTAMPTZ => match binary::infinite::<8>(raw) {
            Some(named) => Ok(named.into()),
            None => read::<DateTime<Utc>>(kind, raw)
                .map(|time| time.to_rfc3339_opts(SecondsFormat::AutoSi, true).into()),
        },
        Type::TIME => binary::time(raw).map(Value::from),
        Type::TIMETZ => binary::time_with_zone(raw).map(Value::from),
        Type::JSON => serde_json::from_slice(raw).map_err(|_| MALFORMED),
        Type::JSONB => match raw {
            // One byte says the version.
            [1, json @ ..] => serde_json::from_slice(json).map_err(|_| MALFORMED),
            _ => Err(MALFORMED),
        },
        _ => Err(UNSUPPORTED),
    }
}

fn read<'r, T: FromSql<'r>>(kind: &Type, raw: &'r [u8]) -> Result<T, &'static str> {
    T::from_sql(kind, raw).map_err(|_| MALFORMED)
}

fn text(raw: &[u8]) -> Result<Value, &'static str> {
    std::str::from_utf8(raw).map(Value::from).map_err(|_| MALFORMED)
}
