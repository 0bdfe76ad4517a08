//! Keyset paging: the rows behind a given one in the sort order.

use serde_json::Value;
use svc_model::FieldCode;

use crate::constant::Constant;
use crate::operand::{Bindings, Operand, is_var};
use crate::predicate::{Comparison, Predicate};
use crate::query::{Projection, SortKey};
use crate::reader::{DocumentReader, join, single};
use crate::refusal::DialectRefusal;

/// The row behind which a page begins; its values may still be open.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum PageStart {
    /// None: the page is the first.
    First,
    /// A value for each sort key, in their order.
    Keys(Vec<Operand>),
    /// One open value: an object with the sort keys, or null for the first page.
    Row(Operand),
}

impl PageStart {
    /// Binds the values and returns the condition on the rows of the page.
    pub(crate) fn bind(&self, sort: &[SortKey], with: &Bindings<'_>) -> Result<Predicate, DialectRefusal> {
        let values: Vec<Option<Constant>> = match self {
            Self::First => return Ok(Predicate::True),
            Self::Keys(keys) => keys.iter().map(|key| key.constant(with)).collect::<Result<_, _>>()?,
            Self::Row(row) => {
                let members = match row.value(with)? {
                    Value::Null => return Ok(Predicate::True),
                    Value::Object(members) => members,
                    _ => {
                        let why = "this must be an object with the sort keys, or null";
                        return Err(DialectRefusal::invalid(&row.at, why));
                    }
                };
                let value = |key: &SortKey| {
                    let missing = || {
                        let why = format!("it has no \"{}\", by which the rows are sorted", key.column.name);
                        DialectRefusal::invalid(&row.at, why)
                    };
                    let value = members.get(&*key.column.name).ok_or_else(missing)?;
                    Constant::from_json(value).map_err(|why| DialectRefusal::invalid(&row.at, why))
                };
                sort.iter().map(value).collect::<Result<_, _>>()?
            }
        };
        Ok(follow(sort, &values))
    }
}

/// Returns the condition that a row comes behind these values: it is equal in the first keys, and behind them in the
/// next one. Null comes before every value.
fn follow(sort: &[SortKey], values: &[Option<Constant>]) -> Predicate {
    let keys: Vec<_> = sort.iter().zip(values).collect();
    let arms = keys.iter().enumerate().map(|(n, (key, value))| {
        let equal = keys.iter().take(n).map(|(key, value)| match value {
            Some(value) => Predicate::Order(key.column.clone(), Comparison::Equal, value.clone()),
            None => Predicate::null(&key.column, false),
        });
        Predicate::and(equal.chain([behind(key, (*value).as_ref())]))
    });
    Predicate::or(arms)
}

fn behind(key: &SortKey, value: Option<&Constant>) -> Predicate {
    let compare =
        |comparison, value: &Constant| Predicate::Order(key.column.clone(), comparison, value.clone());
    match (key.descending, value) {
        (false, Some(value)) => compare(Comparison::Greater, value),
        (false, None) => Predicate::null(&key.column, true),
        (true, Some(value)) => {
            Predicate::or([compare(Comparison::Less, value), Predicate::null(&key.column, false)])
        }
        (true, None) => Predicate::False,
    }
}

impl DocumentReader {
    /// Reads the row behind which a page begins. The result must have the keys, so that the next page can be read.
    pub(crate) fn page_start(
        &mut self,
        after: Option<&Value>,
        at: &str,
        sort: Option<&[SortKey]>,
        fields: Option<&Projection>,
    ) -> Option<PageStart> {
        let Some(after) = after.filter(|after| !after.is_null()) else { return Some(PageStart::First) };
        let (sort, fields) = (sort?, fields?);
        if sort.is_empty() {
            self.problem(at, FieldCode::Invalid, "a page behind a row needs a sort order");
            return None;
        }
        if let Projection::Only(columns) = fields {
            for key in sort.iter().filter(|key| !columns.contains(&key.column)) {
                let why = format!(
                    "fields has no \"{}\", by which the rows are sorted: the next page needs it",
                    key.column.name
                );
                self.invalid(at, why);
            }
        }
        let is_key = |name: &str| sort.iter().any(|key| &*key.column.name == name);
        let is_whole = match single(after) {
            Some((name @ "param", Value::String(_))) => !is_key(name),
            Some((name @ "var", _)) => is_var(after) && !is_key(name),
            _ => false,
        };
        if is_whole {
            return self.operand(after, at).map(PageStart::Row);
        }
        let names: Vec<&str> = sort.iter().map(|key| &*key.column.name).collect();
        let members = self.object(after, at, &names)?;
        let mut keys = Vec::new();
        for name in &names {
            let at = join(at, name);
            match members.get(*name) {
                Some(value) => keys.extend(self.operand(value, &at)),
                None => self.problem(&at, FieldCode::MissingRequired, "each sort key needs its value"),
            }
        }
        (keys.len() == names.len()).then_some(PageStart::Keys(keys))
    }
}
