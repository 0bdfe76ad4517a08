//! `docs/endpoints.md`: every endpoint by its area.

use svc_api::{Access, Endpoint, Tag, endpoints};

use super::{assert_golden, table};

/// The credential of an endpoint, in words.
fn credential(access: Access) -> &'static str {
    match access {
        Access::Open => "none",
        Access::Admin => "admin key",
        Access::Optional => "none; an admin key for details",
        Access::TraceToken => "admin key, or the token of the trace",
        Access::Token => "the token of the trace",
        Access::Channel => "that of the channel",
        Access::Consumer => "API key of the consumer",
    }
}

fn row(endpoint: &Endpoint) -> Vec<String> {
    vec![
        format!("`{} {}`", endpoint.method.name(), endpoint.path),
        endpoint.summary.to_owned(),
        credential(endpoint.access).to_owned(),
    ]
}

fn page() -> String {
    let mut page = include_str!("endpoints.md").to_owned();
    for tag in Tag::ALL {
        let endpoints = endpoints::all().filter(|endpoint| endpoint.tag == tag);
        page.push_str(&format!("\n## {}\n\n", tag.name()));
        table(&mut page, &["Request", "Does", "Credential"], endpoints.map(row));
    }
    page
}

#[test]
fn page_of_endpoints_has_every_endpoint() {
    assert_golden("endpoints.md", &page());
}
