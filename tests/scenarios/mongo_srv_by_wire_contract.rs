//! `mongodb+srv://`: servers found through a DNS server of the test's own.

use std::net::Ipv4Addr;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use svc_testkit::dns::{DnsRecord, DnsServer};
use svc_testkit::http::HttpClient;
use svc_testkit::mongo::Mongo;
use svc_testkit::peer::report_missing;
use svc_testkit::server::ServerCommand;

use crate::support::serve;

const CONNECTORS: &str = "/api/v1/admin/connectors";

/// Makes the name spaces of the process: it sees a `resolv.conf` of its own.
const APART: [&str; 4] = ["--user", "--map-root-user", "--mount", "--"];
/// Takes the file in place of the machine's own, and runs the rest of the command line.
const WITH_RESOLVER: &str = r#"mount --bind "$0" /etc/resolv.conf && exec "$@""#;

/// Prepares the binary under test with a `resolv.conf` of its own; `None` if that is not possible here.
fn launch_with_resolver(config: &str) -> Option<ServerCommand> {
    let may = Command::new("unshare").args(APART).arg("true").stderr(Stdio::null()).status();
    if !may.is_ok_and(|status| status.success()) {
        report_missing("a resolver of its own", "unshare may not make name spaces here");
        return None;
    }
    let server = ServerCommand::new("unshare").unwrap();
    let file = server.directory().join("resolv.conf");
    std::fs::write(&file, config).unwrap();
    let binary = env!("CARGO_BIN_EXE_svc-server");
    Some(server.args(&APART).args(&["sh", "-c", WITH_RESOLVER, file.to_str().unwrap(), binary]))
}

fn records(port: u16) -> Vec<DnsRecord> {
    let srv = |name: &str, target: &str| DnsRecord::Srv {
        name: format!("_mongodb._tcp.{name}.test.example"),
        target: target.to_owned(),
        port,
    };
    vec![
        srv("crm", "db.test.example"),
        DnsRecord::Txt { name: "crm.test.example".to_owned(), text: "authSource=admin".to_owned() },
        DnsRecord::A { name: "db.test.example".to_owned(), address: Ipv4Addr::LOCALHOST },
        srv("strange", "db.other.example"),
        DnsRecord::A { name: "db.other.example".to_owned(), address: Ipv4Addr::LOCALHOST },
    ]
}

/// Creates a connector for the servers of a name, and returns the error of its probe, or null.
fn probe(client: &mut HttpClient, name: &str, allow_private_urls: bool) -> Value {
    let id = format!("{name}-{allow_private_urls}");
    let url = format!("mongodb+srv://svc:pencil@{name}.test.example/shop?tls=false");
    let config = json!({"connection_string": url, "allow_private_urls": allow_private_urls});
    let connector = json!({"id": id, "name": id, "connector_type": "db", "config": config});
    let answer = client.json("POST", CONNECTORS, &connector).unwrap();
    assert_eq!(answer.status, 201, "{}", answer.text());
    let probed = client.json("POST", &format!("{CONNECTORS}/{id}/test"), &json!({})).unwrap().json();
    probed["data"]["error"].clone()
}

#[test]
fn servers_of_srv_record_are_checked_and_used() {
    let Some(mongo) = Mongo::shared() else { return };
    let port = mongo.url().rsplit_once(':').and_then(|(_, port)| port.trim_end_matches('/').parse().ok());
    let dns = match DnsServer::start(records(port.expect("the URL of the server ends with its port"))) {
        Ok(dns) => dns,
        Err(error) => return report_missing("a DNS server", &error.to_string()),
    };
    let Some(launch) = launch_with_resolver(&dns.resolver_config()) else { return };
    let server = launch.start().unwrap();
    let mut client = server.client();
    assert_eq!(probe(&mut client, "crm", true), Value::Null);
    let refused = probe(&mut client, "crm", false);
    assert!(
        refused.as_str().is_some_and(|text| text.starts_with("SSRF protection: 'db.test.example'")),
        "{refused}"
    );
    for name in ["strange", "absent"] {
        let refused = probe(&mut client, name, true);
        assert_eq!(refused, "the host of the connection string cannot be resolved", "{name}");
    }
    let collection = format!("srv_{}", std::process::id());
    let write = json!({"connector": "crm-true", "database": "shop", "collection": collection, "op": "insert_one",
        "document": {"n": 7}, "output": "data.written"});
    let read = json!({"connector": "crm-true", "database": "shop", "collection": collection, "filter": {"n": 7},
        "output": "data.found"});
    serve(
        &mut client,
        "shop",
        json!([
            {"id": "write", "name": "", "function": {"name": "mongo_write", "input": write}},
            {"id": "read", "name": "", "function": {"name": "mongo_read", "input": read}}]),
    );
    let answer = client.json("POST", "/api/v1/data/shop", &json!({})).unwrap();
    assert_eq!(answer.json()["data"]["found"][0]["n"], 7, "{}", answer.text());
}
