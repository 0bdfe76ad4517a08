//! The grammar of one field.
//!
//! A field is a list of items separated by commas. An item is `*`, `n`, `a-b`, a name, `name-name`, or one of
//! `*`, `n`, `a-b` and `name-name` followed by `/step`. A field of days may also be `?` as a whole, with the
//! same meaning as `*`. Ranges run forwards; a step is at least 1 and at most the largest value of its field.
//!
//! The check is done here and not by the library that enumerates, because the library accepts more (`?/5`,
//! blanks around a number) and does not report the position of an error.

use crate::error::excerpt;

/// The permitted values of a field.
pub(crate) struct FieldGrammar {
    /// Name of the field.
    pub(crate) name: &'static str,
    min: u32,
    max: u32,
    /// Names of the values from `min` on, each with its short forms.
    names: &'static [&'static [&'static str]],
    /// Hint for a value out of range: the probable intention of the author.
    hint: &'static str,
    /// True if `?` may mean every value.
    is_day: bool,
}

const MONTHS: &[&[&str]] = &[
    &["jan", "january"],
    &["feb", "february"],
    &["mar", "march"],
    &["apr", "april"],
    &["may"],
    &["jun", "june"],
    &["jul", "july"],
    &["aug", "august"],
    &["sep", "september"],
    &["oct", "october"],
    &["nov", "november"],
    &["dec", "december"],
];

const DAYS: &[&[&str]] = &[
    &["sun", "sunday"],
    &["mon", "monday"],
    &["tue", "tues", "tuesday"],
    &["wed", "wednesday"],
    &["thu", "thurs", "thursday"],
    &["fri", "friday"],
    &["sat", "saturday"],
];

const fn plain(name: &'static str, min: u32, max: u32) -> FieldGrammar {
    FieldGrammar { name, min, max, names: &[], hint: "", is_day: false }
}

const SECOND: FieldGrammar = plain("second", 0, 59);
const MINUTE: FieldGrammar = plain("minute", 0, 59);
const HOUR: FieldGrammar = plain("hour", 0, 23);
const DAY_OF_MONTH: FieldGrammar = FieldGrammar { is_day: true, ..plain("day of month", 1, 31) };
const MONTH: FieldGrammar = FieldGrammar { names: MONTHS, ..plain("month", 1, 12) };

/// The fields of an expression with seconds. Its week is 1 to 7 from Sunday.
pub(crate) const SIX: [FieldGrammar; 6] = [
    SECOND,
    MINUTE,
    HOUR,
    DAY_OF_MONTH,
    MONTH,
    FieldGrammar {
        names: DAYS,
        hint: " (with six fields Sunday is 1 and Saturday 7)",
        is_day: true,
        ..plain("day of week", 1, 7)
    },
];

/// The fields of a Unix expression. Its week is 0 to 7, and both ends are Sunday.
pub(crate) const FIVE: [FieldGrammar; 5] = [
    MINUTE,
    HOUR,
    DAY_OF_MONTH,
    MONTH,
    FieldGrammar { names: DAYS, hint: " (0 and 7 are Sunday)", is_day: true, ..plain("day of week", 0, 7) },
];

/// A fault inside a field: its byte offset, a description, and the remedy.
#[derive(Debug)]
pub(crate) struct FieldFault {
    pub(crate) offset: usize,
    pub(crate) problem: String,
    pub(crate) remedy: String,
}

/// The set of values of a field, one bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Values(u64);

impl Values {
    fn add(&mut self, from: u32, to: u32, step: u32) {
        let mut value = from;
        while value <= to {
            self.0 |= 1 << value;
            value += step;
        }
    }

    /// Iterates over the values in ascending order.
    pub(crate) fn iter(self) -> impl Iterator<Item = u32> {
        (0..u64::BITS).filter(move |bit| self.0 >> bit & 1 == 1)
    }
}

impl FieldGrammar {
    /// Parses the values that `text` names.
    ///
    /// # Errors
    /// Returns the first fault of the field.
    pub(crate) fn read(&self, text: &str) -> Result<Values, FieldFault> {
        let mut values = Values::default();
        if text == "?" && self.is_day {
            values.add(self.min, self.max, 1);
            return Ok(values);
        }
        let mut offset = 0;
        for item in text.split(',') {
            self.item(item, &mut values).map_err(|(problem, remedy)| FieldFault {
                offset,
                problem,
                remedy,
            })?;
            offset += item.len() + 1;
        }
        Ok(values)
    }

    fn item(&self, item: &str, values: &mut Values) -> Result<(), (String, String)> {
        let (base, step) = match item.split_once('/') {
            Some((base, step)) => (base, Some(self.step(step)?)),
            None => (item, None),
        };
        let (from, to) = match base.split_once('-') {
            _ if base == "*" => (self.min, self.max),
            Some((from, to)) => self.range(item, from, to)?,
            None => {
                let value = self.value(item, base)?;
                let is_name = !is_number(base);
                if step.is_some() && is_name {
                    let remedy = format!("name a range, {base}-{}/…, or use the number {value}", self.last());
                    return Err((format!("{} puts a step after a name", excerpt(item)), remedy));
                }
                (value, if step.is_some() { self.max } else { value })
            }
        };
        values.add(from, to, step.unwrap_or(1));
        Ok(())
    }

    fn range(&self, item: &str, from: &str, to: &str) -> Result<(u32, u32), (String, String)> {
        let (first, last) = (self.value(item, from)?, self.value(item, to)?);
        if is_number(from) != is_number(to) {
            let remedy = format!("use {first}-{last}");
            return Err((format!("{} mixes a number and a name", excerpt(item)), remedy));
        }
        if first > last {
            let remedy = match (first == self.max, last == self.min) {
                // Sunday is both the first and the last day of a Unix week.
                (_, true) if self.max == 7 && self.min == 0 => format!("use {first}-7"),
                (true, true) => format!("use {first},{last}"),
                (true, false) => format!("use {first},{}-{last}", self.min),
                (false, true) => format!("use {first}-{},{last}", self.max),
                (false, false) => format!("use {first}-{},{}-{last}", self.max, self.min),
            };
            return Err((format!("the range {} runs backwards", excerpt(item)), remedy));
        }
        Ok((first, last))
    }

    fn step(&self, step: &str) -> Result<u32, (String, String)> {
        number(step).filter(|step| (1..=self.max).contains(step)).ok_or_else(|| {
            (format!("{} is no step", excerpt(step)), format!("use a step from 1 to {}", self.max))
        })
    }

    fn value(&self, item: &str, text: &str) -> Result<u32, (String, String)> {
        if text.is_empty() {
            return Err(match item.is_empty() {
                true => ("an item of the list is empty".to_owned(), "take a comma away".to_owned()),
                false => (format!("{} is incomplete", excerpt(item)), format!("use {}", self.example())),
            });
        }
        if let Some(value) = number(text).filter(|value| (self.min..=self.max).contains(value)) {
            return Ok(value);
        }
        if is_number(text) {
            let remedy = format!("use {} to {}{}", self.min, self.max, self.hint);
            return Err((format!("{} is out of range", excerpt(text)), remedy));
        }
        let lower = text.to_ascii_lowercase();
        if let Some(index) = self.names.iter().position(|names| names.contains(&lower.as_str())) {
            return Ok((self.min..).nth(index).unwrap_or(self.max));
        }
        if text.contains('?') {
            return Err(match self.is_day {
                true => (format!("{} is more than '?'", excerpt(item)), "use '?' alone, or '*'".to_owned()),
                false => ("'?' is for days".to_owned(), "use '*'".to_owned()),
            });
        }
        Err((format!("{} is not understood", excerpt(item)), format!("use {}", self.example())))
    }

    /// Returns examples of valid items.
    fn example(&self) -> String {
        let names = match self.names.first() {
            Some(first) => format!(", a name such as {}", first[0]),
            None => String::new(),
        };
        format!("'*', {} to {}{names}, a range a-b, or one with /step", self.min, self.max)
    }

    /// Returns the short name of the last value.
    fn last(&self) -> &'static str {
        self.names.last().map_or("", |names| names[0])
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn number(text: &str) -> Option<u32> {
    text.parse().ok().filter(|_| is_number(text))
}
