//! Tests of the deliveries of nodes over one real database, with a receiver that the test answers for.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod kit;

use serde_json::Value;
use svc_connectors::OutsideClass;
use svc_testkit::state::wait_until;

use kit::{ReceiverAnswer, TestNode, run};

#[test]
fn event_reaches_its_endpoint_signed_by_its_secret() {
    run(async |world| {
        let node = TestNode::start(&world, None).await;
        let id = node.endpoint("a").await;
        assert_eq!(node.accept("msg_1").await, 1);
        wait_until(async || node.states(&id).await == ["delivered"]).await;
        assert_eq!(node.accept("msg_1").await, 1, "a repeated run");
        let seen = node.receiver.list_received();
        assert_eq!(seen.len(), 1);
        assert_eq!((seen[0].id.as_str(), seen[0].body.as_str()), ("msg_1", "{\"n\":1}"));
        assert_eq!(seen[0].secrets, ["whsec_a"]);
    });
}

#[test]
fn failures_after_whole_schedule_leave_dead_letter() {
    run(async |world| {
        let node = TestNode::start(&world, None).await;
        let id = node.endpoint("a").await;
        node.receiver.answer_all(OutsideClass::Failed);
        node.accept("msg_1").await;
        wait_until(async || node.states(&id).await == ["failed"]).await;
        assert_eq!(node.receiver.list_received().len(), 2, "one delay, two attempts");
        assert_eq!(node.store.webhooks().get(&id).await.unwrap().unwrap().state, "enabled");
    });
}

#[test]
fn call_that_was_not_sent_costs_no_attempt() {
    run(async |world| {
        let node = TestNode::start(&world, None).await;
        let id = node.endpoint("a").await;
        node.receiver.answer_next(ReceiverAnswer::Class(OutsideClass::Deferred));
        node.accept("msg_1").await;
        wait_until(async || node.receiver.list_received().len() == 1).await;
        wait_until(async || node.states(&id).await == ["delivered"]).await;
        let attempts = node.store.webhooks().attempts(&id, svc_model::Page::default()).await.unwrap();
        assert_eq!((attempts.1, attempts.0[0].attempt.attempt), (1, 1));
    });
}

#[test]
fn gone_endpoint_is_disabled_and_reported_once() {
    run(async |world| {
        let node = TestNode::start(&world, Some("alerts")).await;
        let id = node.endpoint("a").await;
        node.receiver.answer_all(OutsideClass::Gone);
        node.accept("msg_1").await;
        let webhooks = node.store.webhooks();
        wait_until(async || webhooks.get(&id).await.unwrap().unwrap().state == "disabled").await;
        let input = world.read("(SELECT input_json FROM traces WHERE channel = 'alerts')");
        assert!(input.contains("webhook endpoint disabled") && input.contains(&id), "{input}");
        assert_eq!(world.read("CAST(count(*) AS TEXT) FROM traces"), "1");
        assert_eq!(node.accept("msg_2").await, 0);
    });
}

#[test]
fn late_answer_of_former_holder_counts_for_nothing() {
    run(async |world| {
        let first = TestNode::start(&world, None).await;
        let id = first.endpoint("a").await;
        let gate = first.receiver.hold_next();
        first.accept("msg_1").await;
        wait_until(async || first.receiver.list_received().len() == 1).await;
        // As if the lease had ended: the node that was stopped cannot know.
        world.execute("UPDATE webhook_deliveries SET due_at = '2000-01-01 00:00:00.000'");
        let second = TestNode::start(&world, None).await;
        second.wake();
        wait_until(async || second.states(&id).await == ["delivered"]).await;
        gate.answer(OutsideClass::Gone);
        wait_until(async || first.in_flight() == 0).await;
        assert_eq!(second.store.webhooks().get(&id).await.unwrap().unwrap().state, "enabled");
        let attempts = second.store.webhooks().attempts(&id, svc_model::Page::default()).await.unwrap();
        assert_eq!(attempts.1, 1);
    });
}

#[test]
fn slow_endpoint_delays_no_other() {
    run(async |world| {
        let node = TestNode::start(&world, None).await;
        let slow = node.endpoint("slow").await;
        let gate = node.receiver.hold_next();
        node.accept("msg_0").await;
        wait_until(async || node.receiver.list_received().len() == 1).await;
        let sound = node.endpoint("sound").await;
        for number in 1..=20 {
            node.accept(&format!("msg_{number}")).await;
        }
        wait_until(async || node.states(&sound).await == ["delivered"; 20]).await;
        assert!(node.states(&slow).await.contains(&"pending".to_owned()), "it still answers the first one");
        gate.answer(OutsideClass::Accepted);
        wait_until(async || node.states(&slow).await == ["delivered"; 21]).await;
    });
}

#[test]
fn echoed_challenge_verifies_endpoint() {
    run(async |world| {
        let node = TestNode::start(&world, None).await;
        let id = node.endpoint("a").await;
        let refused = node.handle.verify(&id).await.unwrap();
        assert_eq!(refused.outcome, Err("its answer does not echo the challenge".to_owned()));
        node.receiver.answer_next(ReceiverAnswer::Echo);
        assert_eq!(node.handle.verify(&id).await.unwrap().outcome, Ok(()));
        let seen = node.receiver.list_received();
        let body: Value = serde_json::from_str(&seen[0].body).unwrap();
        assert_eq!(body["type"], "webhook.challenge");
        assert_ne!(seen[0].id, seen[1].id);
        assert_eq!(node.handle.verify("none").await.unwrap_err().status(), 404);
        let test = node.handle.send_test(&id).await.unwrap();
        assert!(test.is_delivered && test.attempt.topic == "webhook.test");
    });
}
