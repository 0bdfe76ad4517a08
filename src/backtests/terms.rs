//! The terms of a backtest: its recorded runs, and the paths that are not compared.

use serde_json::{Map, Value, json};
use svc_model::Timestamp;
use svc_store::RecordingFilter;

/// The terms of a backtest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct BacktestTerms {
    pub(crate) filter: RecordingFilter,
    /// Paths that are not compared.
    pub(crate) ignore: Vec<String>,
}

impl BacktestTerms {
    /// Returns the terms as a row keeps them.
    pub(crate) fn to_words(&self) -> Map<String, Value> {
        let filter = &self.filter;
        let texts = [
            ("channel", filter.channel.clone()),
            ("run_key", filter.run_key.clone()),
            ("workflow", filter.workflow.clone()),
            ("outcome", filter.outcome.clone()),
            ("since", filter.since.map(|since| since.to_string())),
            ("until", filter.until.map(|until| until.to_string())),
        ];
        let mut words: Map<String, Value> =
            texts.into_iter().filter_map(|(word, text)| Some((word.to_owned(), text?.into()))).collect();
        if let Some(version) = filter.version {
            words.insert("version".to_owned(), version.into());
        }
        Map::from_iter([("filter".to_owned(), words.into()), ("ignore".to_owned(), json!(self.ignore))])
    }

    /// Reads the terms of a row.
    pub(crate) fn from_words(words: &Map<String, Value>) -> Self {
        let filter = words.get("filter").unwrap_or(&Value::Null);
        let text = |word: &str| filter[word].as_str().map(str::to_owned);
        let instant = |word: &str| filter[word].as_str().and_then(Timestamp::parse);
        let ignore = words.get("ignore").and_then(Value::as_array).into_iter().flatten();
        Self {
            filter: RecordingFilter {
                channel: text("channel"),
                run_key: text("run_key"),
                workflow: text("workflow"),
                version: filter["version"].as_i64(),
                outcome: text("outcome"),
                since: instant("since"),
                until: instant("until"),
            },
            ignore: ignore.filter_map(Value::as_str).map(str::to_owned).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_are_read_as_they_are_written() {
        let until = Timestamp::parse("2026-01-02T03:04:05.678Z");
        let filter = RecordingFilter {
            channel: Some("orders".into()),
            workflow: Some("price".into()),
            version: Some(3),
            until,
            ..RecordingFilter::default()
        };
        let terms = BacktestTerms { filter, ignore: vec!["data.at".into()] };
        assert_eq!(BacktestTerms::from_words(&terms.to_words()), terms);
        assert_eq!(BacktestTerms::from_words(&Map::new()), BacktestTerms::default());
    }
}
