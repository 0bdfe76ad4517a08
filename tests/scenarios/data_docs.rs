//! The documents of the channels that a server serves, for their callers.

use serde_json::json;

use crate::support::{echo, launch, start};

const OPENAPI: &str = "/api/v1/data/openapi.json";
const PAGE: &str = "/api/v1/data/docs";

#[test]
fn documents_are_off_unless_switched_on() {
    let server = start();
    let mut client = server.client();
    for path in [OPENAPI, PAGE] {
        assert_eq!(client.get(path).unwrap().status, 404, "{path}");
    }
}

#[test]
fn documents_show_serving_channels_of_their_tag() {
    let server = launch().env("SVC_SERVER__DATA_DOCS__ENABLED", "true").start().unwrap();
    let mut client = server.client();
    let schema = json!({"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}}});
    echo(&mut client, "orders", json!({"request": {"schema": schema}}));
    echo(&mut client, "hidden", json!({"document": false}));
    let answer = client.get(OPENAPI).unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());
    let document = answer.json();
    let paths: Vec<_> = document["paths"].as_object().unwrap().keys().cloned().collect();
    assert_eq!(paths, ["/api/v1/data/orders"]);
    assert_eq!(document["components"]["schemas"]["orders.request"]["required"], json!(["id"]));
    let page = client.get(PAGE).unwrap();
    assert!(page.status == 200 && page.text().contains("POST /api/v1/data/orders"), "{}", page.text());
    let tagged = client.get(&format!("{OPENAPI}?tag=shop")).unwrap().json();
    assert_eq!(tagged["paths"], json!({}));
    // One that was made before is not taken for another.
    assert_eq!(client.get(OPENAPI).unwrap().json(), document);
    assert_eq!(client.get(PAGE).unwrap().text(), page.text());
    let refused = client.get(&format!("{OPENAPI}?tags=shop")).unwrap();
    assert!(
        refused.status == 400 && refused.text().contains("tags: unknown parameter"),
        "{}",
        refused.text()
    );
    let posted = client.json("POST", OPENAPI, &json!({})).unwrap();
    assert_eq!((posted.status, posted.header("allow")), (405, Some("GET, HEAD")), "{}", posted.text());
    // A payload outside of the schema names its fault.
    let refused = client.json("POST", "/api/v1/data/orders", &json!({"id": "x"})).unwrap();
    assert_eq!(refused.status, 400);
    assert_eq!(refused.json()["error"]["details"][0]["path"], "body.id");
    // What is served anew is documented anew, and a channel of such a name wins.
    echo(&mut client, "later", json!({}));
    assert!(client.get(OPENAPI).unwrap().json()["paths"]["/api/v1/data/later"].is_object());
    echo(&mut client, "docs", json!({}));
    assert_eq!(client.get(PAGE).unwrap().status, 405);
}
