use std::collections::BTreeSet;

use super::*;
use crate::endpoints;

const LISTS: [(FilteredList, &str); 8] = [
    (Traces, "/api/v1/admin/traces"),
    (DeadLetters, "/api/v1/admin/trace-dlq"),
    (Occurrences, "/api/v1/admin/cron/occurrences"),
    (Audit, "/api/v1/admin/audit-logs"),
    (Errors, "/api/v1/admin/errors"),
    (Channels, "/api/v1/admin/channels"),
    (Workflows, "/api/v1/admin/workflows"),
    (Connectors, "/api/v1/admin/connectors"),
];

#[test]
fn every_list_takes_its_words_once() {
    for (list, path) in LISTS {
        let endpoint = endpoints::find("GET", path).unwrap();
        let names: Vec<_> = endpoint.query.iter().map(|parameter| parameter.name).collect();
        let distinct: BTreeSet<_> = names.iter().copied().collect();
        assert_eq!(names.len(), distinct.len(), "{path} has a word twice: {names:?}");
        let words = FILTER_WORDS.iter().filter(|word| word.is_of(list));
        let missing: Vec<_> =
            words.map(|word| word.parameter.name).filter(|name| !distinct.contains(name)).collect();
        assert!(missing.is_empty(), "{path} lacks {missing:?}");
    }
}
