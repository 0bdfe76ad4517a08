//! The words of filters that are measured, alone and in the pairs that people use.

/// A bound of the time that a list takes.
pub(super) struct Aim {
    /// The work, as the last table of the report names it.
    pub(super) work: &'static str,
    pub(super) text: &'static str,
    pub(super) most_ms: f64,
}

/// A list that is read.
pub(super) struct Word {
    pub(super) title: &'static str,
    /// The path below that of the admin API.
    pub(super) path: &'static str,
    pub(super) aim: &'static Aim,
}

const PAGE: Aim = Aim { work: "page of a list by an index", text: "5 ms", most_ms: 5.0 };
/// A page that may read as many rows as a call may.
const WALK: Aim = Aim { work: "page of a list, 20,000 rows read", text: "50 ms", most_ms: 50.0 };
const COUNTS: Aim = Aim { work: "page of a list with its counts", text: "50 ms", most_ms: 50.0 };
const GROUPS: Aim = Aim { work: "100,000 failures grouped", text: "1,000 ms", most_ms: 1_000.0 };

/// All aims.
pub(super) const AIMS: &[&Aim] = &[&PAGE, &WALK, &COUNTS, &GROUPS];

const fn page(title: &'static str, path: &'static str) -> Word {
    Word { title, path, aim: &PAGE }
}

const fn walk(title: &'static str, path: &'static str) -> Word {
    Word { title, path, aim: &WALK }
}

const fn counts(title: &'static str, path: &'static str) -> Word {
    Word { title, path, aim: &COUNTS }
}

/// The lists. `rare` has twenty rows, or, as a workflow, ten of the oldest; `none` has none. The totals of lists that have
/// them are left out: they are exact, and cost a walk.
pub(super) const WORDS: &[Word] = &[
    page("traces", "/traces"),
    page("traces: channel", "/traces?channel=c7"),
    page("traces: rare channel", "/traces?channel=rare"),
    page("traces: channel without any", "/traces?channel=none"),
    page("traces: three channels", "/traces?channel=c7,c8,rare"),
    page("traces: failed", "/traces?status=failed"),
    page("traces: completed", "/traces?status=completed"),
    page("traces: cancelled and failed", "/traces?status=cancelled,failed"),
    page("traces: running, none", "/traces?status=running"),
    page("traces: workflow", "/traces?workflow=w3"),
    page("traces: workflow and version", "/traces?workflow=w3&version=1"),
    page("traces: rare workflow and version", "/traces?workflow=rare&version=1"),
    page("traces: error group", "/traces?error_group=group-7"),
    page("traces: task, sixty groups", "/traces?task=t1"),
    page("traces: id", "/traces?trace_id=t500000"),
    page("traces: run key", "/traces?run_key=k500005"),
    page("traces: last hour", "/traces?since=-1h"),
    page("traces: an earlier hour", "/traces?since=-5h&until=-4h"),
    page("traces: channel, failed", "/traces?channel=c0&status=failed"),
    page("traces: channel, none failed", "/traces?channel=c7&status=failed"),
    page("traces: channel, an earlier hour", "/traces?channel=c7&since=-5h&until=-4h"),
    page("traces: channel, workflow", "/traces?channel=c7&workflow=w3&version=1"),
    page("traces: failed, last hour", "/traces?status=failed&since=-1h"),
    page("traces: failed, an earlier hour", "/traces?status=failed&since=-5h&until=-4h"),
    page("traces: failed, rare workflow", "/traces?status=failed&workflow=rare"),
    page("traces: failed, workflow and version", "/traces?status=failed&workflow=w3&version=1"),
    page("traces: error group, last hour", "/traces?error_group=group-7&since=-1h"),
    walk("traces: error code without any", "/traces?error_code=none"),
    walk("traces: failed, error code without any", "/traces?status=failed&error_code=none"),
    walk("traces: mode without any", "/traces?mode=kafka"),
    walk("traces: request", "/traces?request_id=r500001"),
    walk("traces: duration without any", "/traces?min_duration_ms=5000"),
    counts("traces: counts", "/traces?include_counts=true"),
    counts("traces: counts of a channel", "/traces?channel=c7&include_counts=true"),
    counts("traces: counts of an hour", "/traces?since=-5h&until=-4h&include_counts=true"),
    counts("traces: counts of a version", "/traces?workflow=w3&version=1&include_counts=true"),
    counts("traces: counts of an error group", "/traces?error_group=group-7&include_counts=true"),
    counts("traces: counts of a task", "/traces?task=t1&include_counts=true"),
    page("dead letters", "/trace-dlq?include_total=false"),
    page("dead letters: channel", "/trace-dlq?channel=c0&include_total=false"),
    page("dead letters: channel without any", "/trace-dlq?channel=none&include_total=false"),
    page("dead letters: exhausted", "/trace-dlq?exhausted=true&include_total=false"),
    page("dead letters: workflow", "/trace-dlq?workflow=w3&include_total=false"),
    page("dead letters: workflow and version", "/trace-dlq?workflow=w3&version=1&include_total=false"),
    page("dead letters: error group", "/trace-dlq?error_group=group-7&include_total=false"),
    page("dead letters: trace", "/trace-dlq?trace_id=t500000&include_total=false"),
    page("dead letters: an hour", "/trace-dlq?since=-5h&until=-4h&include_total=false"),
    page("dead letters: channel, exhausted", "/trace-dlq?channel=c0&exhausted=true&include_total=false"),
    page("dead letters: channel, an hour", "/trace-dlq?channel=c0&since=-5h&until=-4h&include_total=false"),
    page(
        "dead letters: error group, last hour",
        "/trace-dlq?error_group=group-7&since=-1h&include_total=false",
    ),
    counts("dead letters: counts", "/trace-dlq?include_total=false&include_counts=true"),
    counts(
        "dead letters: counts of a channel",
        "/trace-dlq?channel=c0&include_total=false&include_counts=true",
    ),
    counts(
        "dead letters: counts of a version",
        "/trace-dlq?version=1&include_total=false&include_counts=true",
    ),
    page("occurrences", "/cron/occurrences?include_total=false"),
    page("occurrences: channel", "/cron/occurrences?channel=c7&include_total=false"),
    page("occurrences: rare channel", "/cron/occurrences?channel=rare&include_total=false"),
    page("occurrences: channel without any", "/cron/occurrences?channel=none&include_total=false"),
    page("occurrences: id of the channel", "/cron/occurrences?channel_id=c7&include_total=false"),
    page("occurrences: failed", "/cron/occurrences?status=failed&include_total=false"),
    page("occurrences: running, none", "/cron/occurrences?status=running&include_total=false"),
    page("occurrences: workflow", "/cron/occurrences?workflow=w3&version=1&include_total=false"),
    page("occurrences: rare workflow", "/cron/occurrences?workflow=rare&version=1&include_total=false"),
    page("occurrences: error group", "/cron/occurrences?error_group=group-5&include_total=false"),
    page("occurrences: run key", "/cron/occurrences?run_key=o500000&include_total=false"),
    page("occurrences: last hour", "/cron/occurrences?since=-1h&include_total=false"),
    page("occurrences: three earlier minutes", "/cron/occurrences?since=-183m&until=-3h&include_total=false"),
    page("occurrences: channel, failed", "/cron/occurrences?channel=c50&status=failed&include_total=false"),
    page(
        "occurrences: channel, an hour",
        "/cron/occurrences?channel=c7&since=-5h&until=-4h&include_total=false",
    ),
    page("occurrences: failed, last hour", "/cron/occurrences?status=failed&since=-1h&include_total=false"),
    page(
        "occurrences: error group, last hour",
        "/cron/occurrences?error_group=group-5&since=-1h&include_total=false",
    ),
    counts("occurrences: counts", "/cron/occurrences?include_total=false&include_counts=true"),
    counts(
        "occurrences: counts of a channel",
        "/cron/occurrences?channel=c7&include_total=false&include_counts=true",
    ),
    counts(
        "occurrences: counts of an hour",
        "/cron/occurrences?since=-1h&include_total=false&include_counts=true",
    ),
    page("audit log", "/audit-logs?include_total=false"),
    page("audit log: action", "/audit-logs?action=create&include_total=false"),
    page("audit log: principal", "/audit-logs?principal=p7&include_total=false"),
    page("audit log: resource type", "/audit-logs?resource_type=channel&include_total=false"),
    page("audit log: resource", "/audit-logs?resource_type=channel&resource_id=r7&include_total=false"),
    page("audit log: resource without any", "/audit-logs?resource_id=none&include_total=false"),
    page("audit log: an hour", "/audit-logs?since=-5h&until=-4h&include_total=false"),
    walk("audit log: action, principal", "/audit-logs?action=create&principal=p1&include_total=false"),
    Word { title: "errors: an hour", path: "/errors?since=-1h", aim: &GROUPS },
    Word { title: "errors: 100,000 dead letters", path: "/errors", aim: &GROUPS },
];
