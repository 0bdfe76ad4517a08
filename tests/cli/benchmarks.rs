//! `benchmark`: what it measures, and that nothing of it stays behind.

use serde_json::{Value, json};

use crate::support::{CliClient, serve_echo, start};

#[test]
fn benchmark_measures_and_leaves_nothing_behind() {
    let server = start();
    let cli = CliClient::with_server(&server);
    for scenario in ["simple", "chain", "async"] {
        let report = cli.json(&["bench", "-n", "30", "-c", "4", "--scenario", scenario]);
        assert_eq!((&report["requests"], &report["failed"]), (&json!(30), &json!(0)), "{report}");
        let counted: u64 =
            report["histogram"].as_array().unwrap().iter().map(|row| row["count"].as_u64().unwrap()).sum();
        assert_eq!(counted, 30, "{report}");
        let [min, p99, max] = ["min", "p99", "max"].map(|name| report["latency_ms"][name].as_f64().unwrap());
        assert!(0.005 < min && min <= p99 && p99 <= max, "no answer comes within 5 microseconds: {report}");
    }
    let text = cli.ok(&["benchmark", "-n", "10"]);
    assert!(text.starts_with("10 messages in ") && text.contains("p99") && text.contains('#'), "{text}");
    assert_eq!(cli.json(&["channels", "list"])["total"], 0);
    assert_eq!(cli.json(&["workflows", "list"])["total"], 0);
    cli.ok(&["benchmark", "--cleanup-only"]);
}

#[test]
fn benchmark_of_what_exists_leaves_it_and_counts_failures() {
    let server = start();
    let cli = CliClient::with_server(&server);
    serve_echo(&cli, "a");
    assert_eq!(cli.json(&["benchmark", "-n", "5", "--channel", "a", "-d", "{}"])["failed"], 0);
    assert_eq!(cli.json(&["benchmark", "-n", "5", "--workflow", "a"])["failed"], 0);
    assert_eq!(cli.ok(&["workflows", "list", "-q"]), "a\n");
    assert_eq!(cli.ok(&["channels", "list", "-q"]), "a\n");
    let run = cli.run(&["benchmark", "-n", "5", "--channel", "absent", "-o", "json"]);
    assert_eq!(run.code, 1, "{run:?}");
    assert_eq!(serde_json::from_str::<Value>(&run.out).unwrap()["errors"]["NOT_FOUND"], 5);
}
