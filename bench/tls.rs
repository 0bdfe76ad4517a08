//! TLS beside plain text, over connections that stay open.

use std::io;

use svc_testkit::example;
use svc_testkit::tls::issue_certificate;

use crate::{BenchContext, compare};

/// Measures the quickstart channel of two servers, traces off; the one in plain text is the yardstick.
pub(crate) fn measure(setting: &BenchContext) -> io::Result<()> {
    let plain = setting.serve("off")?;
    let certificate = issue_certificate().map_err(io::Error::other)?;
    let launch = setting.launch()?.env("SVC_TRACE_STORAGE__MODE", "off");
    let encrypted = launch.over_tls(&certificate)?.start()?;
    example::load(&mut encrypted.client(), &setting.quickstart)?;
    let order = setting.order()?;
    let sides =
        [("plain text", plain.address(), order.clone()), ("TLS 1.3", encrypted.address(), order.over_tls())];
    compare("TLS", &sides).map(drop)
}
