use std::sync::Arc;

use proptest::prelude::*;
use serde_json::json;
use svc_model::{Channel, ChannelContent, ChannelType, LifecycleStatus, Protocol, RoutePattern, Timestamp};

use super::RouteTable;
use crate::commit::loaded_channel;
use crate::snapshot::{ChannelState, LoadedChannel, Quarantine};

fn route(id: usize, pattern: &str, methods: &[&str], priority: i64) -> Arc<LoadedChannel> {
    let now = Timestamp::now();
    let row = Channel {
        channel_id: format!("c{id}"),
        version: 1,
        content: ChannelContent {
            name: format!("c{id}"),
            description: None,
            channel_type: ChannelType::Sync,
            protocol: Protocol::Http,
            methods: Some(methods.iter().map(|method| (*method).to_owned()).collect()),
            route_pattern: Some(pattern.to_owned()),
            topic: None,
            consumer_group: None,
            transport_config: json!({}),
            workflow_id: None,
            config: json!({}),
            priority,
            tags: vec![],
        },
        status: LifecycleStatus::Active,
        created_at: now,
        updated_at: now,
    };
    loaded_channel(
        Arc::new(row),
        ChannelState::Quarantined(Quarantine { reason: "a test".into(), actors: None }),
    )
}

/// The rule, as a scan over everything.
fn scan(entries: &[Arc<LoadedChannel>], path: &[String], method: &str) -> Option<String> {
    let fits = entries.iter().filter(|entry| {
        let content = &entry.row.content;
        let methods = content.methods.as_deref().unwrap_or_default();
        let takes =
            methods.is_empty() || methods.iter().any(|m| m == method || (method == "HEAD" && m == "GET"));
        let pattern = RoutePattern::parse(content.route_pattern.as_deref().unwrap_or_default()).unwrap();
        takes && pattern.matches(path).is_some()
    });
    fits.min_by_key(|entry| (std::cmp::Reverse(entry.row.content.priority), entry.name().to_owned()))
        .map(|entry| entry.name().to_owned())
}

fn pattern() -> impl Strategy<Value = String> {
    let segment = prop_oneof![Just("a"), Just("b"), Just("{p}")];
    prop::collection::vec(segment, 1..4).prop_map(|segments| {
        let named = segments.iter().enumerate().map(|(at, segment)| match *segment {
            "{p}" => format!("{{p{at}}}"),
            text => text.to_owned(),
        });
        named.fold(String::new(), |path, segment| path + "/" + &segment)
    })
}

fn methods() -> impl Strategy<Value = Vec<&'static str>> {
    prop_oneof![
        Just(vec![]),
        Just(vec!["GET"]),
        Just(vec!["POST"]),
        Just(vec!["GET", "POST"]),
        Just(vec!["HEAD"])
    ]
}

proptest! {
    #[test]
    fn the_table_finds_what_a_scan_finds(
        routes in prop::collection::vec((pattern(), methods(), -1_i64..2), 0..30),
        removed in prop::collection::vec(any::<prop::sample::Index>(), 0..5),
        paths in prop::collection::vec(prop::collection::vec(prop_oneof!["a", "b", "c", "\\{\\}", "a/b"], 1..4), 1..10),
    ) {
        let mut entries: Vec<_> = routes
            .iter()
            .enumerate()
            .map(|(id, (pattern, methods, priority))| route(id, pattern, methods, *priority))
            .collect();
        let mut table = RouteTable::default();
        entries.iter().for_each(|entry| table.insert(entry));
        for index in removed {
            if !entries.is_empty() {
                table.remove(&entries.swap_remove(index.index(entries.len())));
            }
        }
        for path in &paths {
            for method in ["GET", "POST", "HEAD"] {
                let targets = table.find(path, method).map(|found| found.entry.name().to_owned());
                prop_assert_eq!(targets, scan(&entries, path, method), "{} {:?}", method, path);
            }
        }
        entries.iter().for_each(|entry| table.remove(entry));
        prop_assert!(table.masks.is_empty() && table.shapes.len() == 0);
    }
}

#[test]
fn lookup_work_is_independent_of_the_route_count() {
    let mut table = RouteTable::default();
    for id in 0..5_000 {
        table.insert(&route(id, &format!("/orders-{id}/{{line}}"), &["POST"], 0));
    }
    assert_eq!(table.masks.len(), 1, "one hash per lookup");
    assert!(table.shapes.iter().all(|(_, routes)| routes.len() == 1), "one candidate per hash");
    let path = ["orders-4321".to_owned(), "7".to_owned()];
    let found = table.find(&path, "POST").unwrap();
    assert_eq!((found.entry.name(), &found.params["line"]), ("c4321", &json!("7")));
}

#[test]
fn sign_in_callback_is_second_route() {
    let segments = |path: &str| path.split('/').skip(1).map(str::to_owned).collect::<Vec<_>>();
    let plain = route(1, "/login/{provider}", &["GET", "POST"], 0);
    let mut row = (*plain.row).clone();
    row.content.config = json!({"oauth2_login": {"callback_path": "/login/{provider}/callback"}});
    let entry = loaded_channel(Arc::new(row), plain.state.clone());
    let mut table = RouteTable::default();
    table.insert(&entry);
    let found = |path: &str, method: &str| {
        let found = table.find(&segments(path), method)?;
        Some((found.is_callback, found.params["provider"].clone()))
    };
    assert_eq!(found("/login/corp", "GET"), Some((false, json!("corp"))));
    assert_eq!(found("/login/corp/callback", "GET"), Some((true, json!("corp"))));
    assert_eq!(found("/login/corp/callback", "POST"), None);
    assert!(table.find_for_submission(&segments("/login/corp/callback")).is_none());
    assert_eq!(table.methods(&segments("/login/corp/callback")), ["GET"]);
    table.remove(&entry);
    assert!(table.masks.is_empty() && table.shapes.len() == 0);
}
