//! Parses a cron expression of six fields, of five fields, or a short name.
//!
//! Everything becomes expressions of six fields for the library that enumerates local times. A Unix
//! expression of five fields needs two of them if both the day of month and the day of week are restricted,
//! because either one may match.

use std::str::FromStr;

use chrono::{DateTime, NaiveDateTime, Utc};

use crate::error::{ExpressionFault, excerpt};
use crate::field::{FIVE, FieldGrammar, SIX, Values};

/// Short names, in any case, with their expressions.
const MACROS: [(&str, &str); 5] = [
    ("@hourly", "0 0 * * * *"),
    ("@daily", "0 0 0 * * *"),
    ("@weekly", "0 0 0 * * 1"),
    ("@monthly", "0 0 0 1 * *"),
    ("@yearly", "0 0 0 1 1 *"),
];

const FORMS: &str = "use six fields (second minute hour day-of-month month day-of-week), five (no second), or one of \
                     @hourly, @daily, @weekly, @monthly, @yearly";

/// A checked expression.
#[derive(Debug)]
pub(crate) struct CronExpression {
    /// The source text.
    pub(crate) source: String,
    /// True if the hour is a wildcard or has a step, so the schedule follows elapsed time.
    pub(crate) follows_elapsed_time: bool,
    first: cron::Schedule,
    /// A second expression, whose local times match as well.
    second: Option<cron::Schedule>,
}

impl CronExpression {
    /// Parses and checks an expression.
    ///
    /// # Errors
    /// Returns the faults of an expression outside the grammar, at most one per field.
    pub(crate) fn parse(source: &str) -> Result<Self, Vec<ExpressionFault>> {
        let fields = divide(source);
        let texts: Vec<&str> = fields.iter().map(|(_, text)| *text).collect();
        match *texts {
            [word]
                if let Some((_, six)) = MACROS.iter().find(|(name, _)| name.eq_ignore_ascii_case(word)) =>
            {
                Self::build(source, six.split(' ').nth(2).unwrap_or_default(), six, None)
            }
            [minute, hour, day, month, weekday] => {
                let days = check(&FIVE, &fields, source)?;
                let weekdays = from_unix(days);
                let (first, second) = match is_restricted(day) && is_restricted(weekday) {
                    true => (
                        format!("0 {minute} {hour} {day} {month} *"),
                        Some(format!("0 {minute} {hour} * {month} {weekdays}")),
                    ),
                    false => (format!("0 {minute} {hour} {day} {month} {weekdays}"), None),
                };
                Self::build(source, hour, &first, second.as_deref())
            }
            [_, _, hour, _, _, _] => {
                check(&SIX, &fields, source)?;
                Self::build(source, hour, &texts.join(" "), None)
            }
            _ => Err(vec![misshapen(source, &fields)]),
        }
    }

    fn build(
        source: &str,
        hour: &str,
        first: &str,
        second: Option<&str>,
    ) -> Result<Self, Vec<ExpressionFault>> {
        let enumerate = |six: &str| {
            cron::Schedule::from_str(six).map_err(|error| {
                let problem = format!("{} cannot be enumerated: {error}", excerpt(source));
                vec![ExpressionFault {
                    field: "schedule",
                    number: 1,
                    position: 1,
                    problem,
                    remedy: FORMS.to_owned(),
                }]
            })
        };
        Ok(Self {
            source: source.to_owned(),
            follows_elapsed_time: hour.contains(['*', '/']),
            first: enumerate(first)?,
            second: second.map(enumerate).transpose()?,
        })
    }

    /// Returns the first matching local time after `local`. None comes after the year 2100.
    pub(crate) fn next_local(&self, local: NaiveDateTime) -> Option<NaiveDateTime> {
        // The library works in any zone; in UTC every local time exists exactly once.
        let after: DateTime<Utc> = local.and_utc();
        let next = |schedule: &cron::Schedule| schedule.after(&after).next();
        let (first, second) = (next(&self.first), self.second.as_ref().and_then(next));
        match (first, second) {
            (Some(first), Some(second)) => Some(first.min(second)),
            (first, second) => first.or(second),
        }
        .map(|instant| instant.naive_utc())
    }
}

/// Splits an expression into fields, each with its byte offset.
fn divide(source: &str) -> Vec<(usize, &str)> {
    let mut offset = 0;
    let parts = source.split(|c: char| c.is_ascii_whitespace()).map(|part| {
        let begin = offset;
        offset += part.len() + 1;
        (begin, part)
    });
    parts.filter(|(_, part)| !part.is_empty()).collect()
}

/// Checks every field. Returns the values of the last one.
fn check(
    known: &[FieldGrammar],
    fields: &[(usize, &str)],
    source: &str,
) -> Result<Values, Vec<ExpressionFault>> {
    let (mut faults, mut last) = (Vec::new(), Values::default());
    for (index, (field, (offset, text))) in known.iter().zip(fields).enumerate() {
        match field.read(text) {
            Ok(values) => last = values,
            Err(flaw) => faults.push(ExpressionFault {
                field: field.name,
                number: index + 1,
                position: character(source, offset + flaw.offset),
                problem: flaw.problem,
                remedy: flaw.remedy,
            }),
        }
    }
    if faults.is_empty() { Ok(last) } else { Err(faults) }
}

/// Returns whether a field of days excludes any day. As in Unix cron, a field that begins with `*` restricts
/// nothing, even with a step.
fn is_restricted(field: &str) -> bool {
    !field.starts_with(['*', '?'])
}

/// Converts days of the week counted from Sunday as 0 or 7 to a list counted from Sunday as 1.
fn from_unix(days: Values) -> String {
    let mut days: Vec<u32> = days.iter().map(|day| day % 7 + 1).collect();
    days.sort_unstable();
    days.dedup();
    days.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
}

/// Returns the fault of an expression with a wrong number of fields, or of an unknown short name.
fn misshapen(source: &str, fields: &[(usize, &str)]) -> ExpressionFault {
    let counted = |what: &str| format!("{what}, there are {} fields", fields.len());
    let (field, number, offset, problem) = match fields {
        [(offset, word)] => ("schedule", 1, *offset, format!("{} is no schedule", excerpt(word))),
        [(offset, word), ..] if word.starts_with('@') => {
            ("schedule", 1, *offset, format!("{} is no schedule", excerpt(&source[*offset..])))
        }
        [_, _, _, _, _, _, (offset, _)] => ("year", 7, *offset, counted("a year cannot be given")),
        [_, _, _, _, _, _, _, (offset, _), ..] => ("none", 8, *offset, counted("this field is too many")),
        _ => {
            let field = FIVE.get(fields.len()).map_or("minute", |field| field.name);
            (field, fields.len() + 1, source.trim_end().len(), counted("this field is missing"))
        }
    };
    let is_meant =
        |name: &&str| fields.len() == 1 && name.trim_start_matches('@') == suggest_short_name(fields[0].1);
    let near = MACROS.iter().map(|(name, _)| *name).find(is_meant);
    let remedy = near.map_or_else(|| FORMS.to_owned(), |name| format!("use {name}"));
    ExpressionFault { field, number, position: character(source, offset), problem, remedy }
}

/// Returns the short name that was probably meant.
fn suggest_short_name(word: &str) -> String {
    let word = word.trim_start_matches('@').to_ascii_lowercase();
    match word.as_str() {
        "midnight" => "daily".to_owned(),
        "annually" => "yearly".to_owned(),
        _ => word,
    }
}

/// Returns the position, from 1, of the character at a byte offset.
fn character(source: &str, offset: usize) -> usize {
    source.char_indices().take_while(|(at, _)| *at < offset).count() + 1
}
