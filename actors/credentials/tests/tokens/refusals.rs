//! Errors in place of a token.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde_json::json;
use svc_credentials::tokens::TokenError;
use svc_testkit::upstream::{Upstream, UpstreamReply};

use crate::kit::{granting, oauth, run};

#[test]
fn refusal_answers_all_callers_for_a_while() {
    run(async |world| {
        let node = world.node().await;
        for (reply, expected) in [
            (
                UpstreamReply::new(400, r#"{"error": "invalid_scope", "error_description": "swordfish"}"#),
                "connector 'c': the token endpoint refused with status 400: invalid_scope",
            ),
            (UpstreamReply::new(404, "<html>"), "connector 'c': the token endpoint refused with status 404"),
            (
                UpstreamReply::new(200, r#"{"access_token": "t", "token_type": "mac"}"#),
                "connector 'c': the token endpoint gave a token of another type than Bearer",
            ),
            (
                UpstreamReply::Answer {
                    status: 302,
                    headers: vec![("location".into(), "/".into())],
                    body: Vec::new(),
                },
                "connector 'c': the token endpoint redirects (status 302), which is not followed",
            ),
        ] {
            let upstream = Upstream::start(move |_| reply.clone()).unwrap();
            let source = node.source(&oauth(&upstream, json!({})));
            for _ in 0..5 {
                let error = source.token().await.unwrap_err();
                assert!(error.is_final());
                assert_eq!(error.to_string(), expected);
            }
            assert_eq!(upstream.requests().len(), 1, "{expected}");
        }
        assert!((node.count("rejected") - 4.0).abs() < f64::EPSILON);
    });
}

#[test]
fn unusable_token_answer_is_fetched_again() {
    run(async |world| {
        let node = world.node().await;
        let long = format!("{{\"access_token\": \"{}\"}}", "x".repeat(70_000));
        for reply in [
            UpstreamReply::new(500, r#"{"error": "invalid_grant"}"#),
            UpstreamReply::new(200, "no json"),
            UpstreamReply::new(200, "{}"),
            UpstreamReply::new(200, long),
            UpstreamReply::Raw(b"nonsense\r\n\r\n".to_vec()),
            UpstreamReply::Cut,
        ] {
            let failing = Arc::new(AtomicBool::new(true));
            let (asked, fails) = (Arc::new(AtomicUsize::new(0)), Arc::clone(&failing));
            let counted = Arc::clone(&asked);
            let what = format!("{reply:.40?}");
            let upstream = Upstream::start(move |_| {
                counted.fetch_add(1, Ordering::SeqCst);
                if fails.load(Ordering::SeqCst) { reply.clone() } else { granting("t", 3600) }
            })
            .unwrap();
            let source = node.source(&oauth(&upstream, json!({})));
            for _ in 0..2 {
                let error = source.token().await.unwrap_err();
                assert!(
                    !error.is_final() && error.to_string().starts_with("connector 'c': "),
                    "{what}: {error}"
                );
            }
            assert_eq!(asked.load(Ordering::SeqCst), 2, "{what}");
            failing.store(false, Ordering::SeqCst);
            assert_eq!(source.token().await.unwrap().expose(), "t", "{what}");
        }
    });
}

#[test]
fn private_token_address_is_refused_unless_allowed() {
    run(async |world| {
        let upstream = Upstream::start(|_| granting("t", 3600)).unwrap();
        let node = world.node().await;
        let block = oauth(&upstream, json!({}));
        for url in [upstream.url("/token"), upstream.url("/token").replace("127.0.0.1", "localhost")] {
            let source = node.tokens.source("c", &block, &url.parse().unwrap(), false);
            let error = source.token().await.unwrap_err();
            assert!(matches!(error, TokenError::Forbidden(_)), "{error}");
            assert!(error.to_string().starts_with("SSRF protection: "), "{error}");
        }
        assert!(upstream.requests().is_empty());
        assert_eq!(node.source(&block).token().await.unwrap().expose(), "t");
    });
}
