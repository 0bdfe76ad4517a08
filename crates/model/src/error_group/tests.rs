use super::*;

#[test]
fn values_of_messages_are_replaced() {
    for (message, status, expected) in [
        ("answered with 503 Service Unavailable", Some(503), "answered with 503 Service Unavailable"),
        ("answered with 503 after 1503 ms", Some(503), "answered with 503 after # ms"),
        ("answered with 503", None, "answered with #"),
        ("timed out after 30000ms", None, "timed out after #ms"),
        ("took 3.25 s", None, "took # s"),
        ("took 3 s", None, "took # s"),
        ("connection to 10.0.12.7:5432 refused", None, "connection to #:# refused"),
        ("order A-1001 is unknown", None, "order A-# is unknown"),
        ("order 0190a1b2-0000-7000-8000-000000000000 is unknown", None, "order <id> is unknown"),
        ("customer cus_NffrFeU7fNV2Hib is unknown", None, "customer cus_<id> is unknown"),
        ("digest deadbeef01 differs", None, "digest <id> differs"),
        ("sha256 differs", None, "sha# differs"),
        ("field \"qty\" is missing", None, "field \"…\" is missing"),
        ("field 'customer name' is missing", None, "field '…' is missing"),
        ("value `a \\` b` is refused", None, "value `…` is refused"),
        ("it doesn't fit, can't it", None, "it doesn't fit, can't it"),
        ("an open \" stays", None, "an open \" stays"),
        ("  two \n lines\t", None, "two lines"),
        ("", None, ""),
    ] {
        assert_eq!(normalise_message(message, status), expected, "{message}");
    }
}

#[test]
fn long_message_is_cut_between_characters() {
    let message = normalise_message(&"ä ".repeat(1000), None);
    assert_eq!(message.chars().count(), 300);
}

fn facts() -> FailureFacts<'static> {
    FailureFacts {
        channel: "orders",
        workflow: Some("intake"),
        task: Some("charge"),
        code: Some("HTTP_ERROR"),
        status: Some(503),
        message: "order 17: answered with 503",
    }
}

#[test]
fn group_is_the_same_for_other_values() {
    let group = ErrorGroup::new(facts());
    let other = ErrorGroup::new(FailureFacts { message: "order 18: answered with 503", ..facts() });
    assert_eq!(group, other);
    assert_eq!((group.id.len(), &*group.message), (16, "order #: answered with 503"));
}

#[test]
fn each_fact_makes_another_group() {
    let different = [
        FailureFacts { channel: "refunds", ..facts() },
        FailureFacts { workflow: None, ..facts() },
        FailureFacts { workflow: Some(""), ..facts() },
        FailureFacts { task: Some("ship"), ..facts() },
        FailureFacts { code: Some("IO_ERROR"), ..facts() },
        FailureFacts { status: Some(502), ..facts() },
        FailureFacts { message: "no answer", ..facts() },
        facts(),
    ];
    let mut ids: Vec<String> = different.into_iter().map(|facts| ErrorGroup::new(facts).id).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), different.len());
}
