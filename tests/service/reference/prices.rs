//! The price list of the page about sizing, made from the figures that `make prices` keeps.

use std::path::Path;

use serde_json::Value;

use super::{assert_golden, docs, table};

const PAGE: &str = "scaling.md";
const BEGIN: &str = "<!-- This table is made from bench/prices.json. -->\n";
const END: &str = "<!-- End of the table. -->\n";

#[test]
fn price_list_has_the_figures_of_the_bench() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("bench/prices.json");
    let list: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let mut made = format!("Measured on a machine of {}:\n\n", text(&list["machine"]));
    let prices = list["prices"].as_array().unwrap();
    let micros = |price: &Value| {
        let [micros, spread] = ["micros", "spread"].map(|name| price[name].as_f64().unwrap());
        let least = spread.max(1.0).ceil();
        if micros.abs() < least { format!("below {least:.0}") } else { format!("{:.0}", micros.round()) }
    };
    let row = |price: &Value| {
        vec![text(&price["kind"]), text(&price["name"]), micros(price), text(&price["measured"])]
    };
    table(&mut made, &["Kind", "One use", "µs of processor time", "Measured"], prices.iter().map(row));
    let page = std::fs::read_to_string(docs(PAGE)).unwrap();
    let (before, rest) = page.split_once(BEGIN).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    assert_golden(PAGE, &format!("{before}{BEGIN}\n{made}\n{END}{after}"));
}
