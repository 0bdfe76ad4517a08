//! Connections of the driver by way of the hop, TLS included.

use serde_json::json;
use svc_model::ConnectorType;
use svc_model::config::connector::ConnectorConfig;
use svc_outbound::Trust;
use svc_testkit::mongo::Mongo;
use svc_testkit::trap::Trap;

use super::*;

fn settings(url: &str, allow_private: bool) -> MongoSettings {
    let config =
        json!({"connection_string": url, "allow_private_urls": allow_private, "connect_timeout_ms": 1000});
    match ConnectorConfig::parse(ConnectorType::Db, &config) {
        Ok(ConnectorConfig::Db(config)) => MongoSettings::new(&config).unwrap(),
        other => panic!("{other:?}"),
    }
}

/// A client of a deployment by way of a hop, whatever its addresses were when they were looked at before.
async fn through_hop(url: &str, allow_private: bool, outbound: &Outbound) -> Connected {
    let settings = settings(url, allow_private);
    let options = ClientOptions::parse(url).await.unwrap();
    let hop = Hop::open(outbound.clone(), allow_private, settings.connect_timeout).await.unwrap();
    make(options, &settings, outbound, Some(Arc::new(hop))).unwrap()
}

async fn ping(connected: &Connected) -> Result<(), mongodb::error::Error> {
    connected.client.database("admin").run_command(doc! {"ping": 1}).await.map(drop)
}

#[tokio::test(flavor = "multi_thread")]
async fn hop_keeps_tls_server_name_by_wire_contract() {
    let Some(server) = Mongo::encrypted() else { return };
    let outbound = Outbound::new(&Trust::Only(server.authority().to_owned())).unwrap();
    ping(&through_hop(server.url(), true, &outbound).await).await.unwrap();
    // A stranger's certificate is refused by the driver: the hop ends no TLS.
    let stranger = Outbound::new(&Trust::Only(String::new())).unwrap();
    assert!(ping(&through_hop(server.url(), true, &stranger).await).await.is_err());
}

/// As when a name is answered with another address after it was checked, or a deployment names a server.
#[tokio::test(flavor = "multi_thread")]
async fn address_turned_private_is_refused_whatever_tls() {
    let outbound = Outbound::new(&Trust::Only(String::new())).unwrap();
    let trap = Trap::bind().unwrap();
    for tls in ["false", "true"] {
        let url = format!("mongodb://localhost:{}/?tls={tls}", trap.port());
        let connected = through_hop(&url, false, &outbound).await;
        assert!(ping(&connected).await.is_err());
        let refused = connected.check().unwrap_err();
        assert!(refused.to_string().starts_with("SSRF protection: "), "{refused}");
    }
    assert_eq!(trap.take_connection_count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn machine_tokens_and_authored_proxies_are_refused() {
    let outbound = Outbound::new(&Trust::Only(String::new())).unwrap();
    let oidc = "mongodb://8.8.8.8/?authMechanism=MONGODB-OIDC&authMechanismProperties=ENVIRONMENT:k8s";
    for allow_private in [false, true] {
        let refused = open(&settings(oidc, allow_private), &outbound).await.err().unwrap();
        assert!(refused.to_string().starts_with("MONGODB-OIDC"), "{refused}");
    }
    let trap = Trap::bind().unwrap();
    let proxied = format!("mongodb://8.8.8.8/?proxyHost=127.0.0.1&proxyPort={}", trap.port());
    let refused = open(&settings(&proxied, false), &outbound).await.err().unwrap();
    assert!(refused.to_string().contains("allow_private_urls"), "{refused}");
    assert_eq!(trap.take_connection_count(), 0);
}
