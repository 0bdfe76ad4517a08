//! TLS compared with plain text, over connections that stay open.
//!
//! Client and service share the cores, and the client's own TLS costs more than the service's: requests a second of
//! both together say little about the service. Its processor time of a request does, which is what a core of it serves.

use std::io;
use std::time::Duration;

use svc_testkit::example;
use svc_testkit::server::ServerProcess;
use svc_testkit::tls::issue_certificate;

use crate::load::{Load, wrk};
use crate::process::{children_time, processor_time};
use crate::{BenchContext, CONNECTIONS, ROUND, ROUNDS, compare};

/// Measures the quickstart channel of two servers, traces off; the one in plain text is the yardstick.
pub(crate) fn measure(setting: &BenchContext) -> io::Result<()> {
    let plain = setting.serve("off")?;
    let certificate = issue_certificate().map_err(io::Error::other)?;
    let launch = setting.launch()?.env("SVC_TRACE_STORAGE__MODE", "off");
    let encrypted = launch.over_tls(&certificate)?.start()?;
    example::load(&mut encrypted.client(), &setting.quickstart)?;
    let order = setting.order()?;
    let sides = [
        ("plain text", plain.address(), order.clone()),
        ("TLS 1.3", encrypted.address(), order.clone().over_tls()),
    ];
    compare("TLS", &sides)?;
    compare_processor_time(&[
        ("plain text", &plain, order.clone()),
        ("TLS 1.3", &encrypted, order.over_tls()),
    ])
}

/// Prints the processor time of a request on both sides of the connection, the medians of alternating rounds.
#[expect(clippy::print_stdout, reason = "the report is what a bench is for")]
fn compare_processor_time(sides: &[(&str, &ServerProcess, Load)]) -> io::Result<()> {
    let mut rounds = vec![(Vec::new(), Vec::new()); sides.len()];
    for _ in 0..ROUNDS {
        for ((_, server, load), (services, clients)) in sides.iter().zip(&mut rounds) {
            let (service, client) = (processor_time(server.pid())?, children_time()?);
            let answered = wrk(server.address(), load, CONNECTIONS, ROUND)?.clean()?.requests;
            services.push(micros(processor_time(server.pid())?.saturating_sub(service), answered));
            clients.push(micros(children_time()?.saturating_sub(client), answered));
        }
    }
    println!("  {:<34} {:>10} {:>11} {:>6}", "processor time of a request", "service", "client", "ratio");
    let medians: Vec<_> =
        rounds.into_iter().map(|(services, clients)| (median(services), median(clients))).collect();
    for ((name, ..), (service, client)) in sides.iter().zip(&medians) {
        println!("  {name:<34} {service:>7.1} µs {client:>8.1} µs {:>6.2}", medians[0].0 / service);
    }
    Ok(())
}

fn micros(time: Duration, requests: u64) -> f64 {
    time.as_secs_f64() * 1e6 / requests.max(1) as f64
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(f64::NAN)
}
