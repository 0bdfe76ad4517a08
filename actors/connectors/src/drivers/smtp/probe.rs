//! Whether a mail server answers.

use svc_outbound::Outbound;
use tokio::time::timeout;

use super::dial::dial;
use super::settings::SmtpSettings;
use crate::probe::{LIMIT, Probe};

/// Connects and logs in as for a mail, and sends none.
pub(crate) async fn probe(smtp: &SmtpSettings, outbound: &Outbound) -> Probe {
    let what = "connect, EHLO, TLS, auth, NOOP";
    let asked = async {
        let mut connection = dial(smtp, outbound).await.map_err(|error| error.to_string())?;
        if !connection.test_connected().await {
            return Err("it did not answer NOOP".to_owned());
        }
        // It has answered; whether it says goodbye changes nothing.
        let _ = connection.quit().await;
        Ok(())
    };
    match timeout(LIMIT, asked).await {
        Ok(Ok(())) => Probe { reachable: true, supported: true, probe: what, error: None },
        Ok(Err(error)) => Probe::failed(true, what, error),
        Err(_) => Probe::failed(true, what, format!("no answer within {} ms", LIMIT.as_millis())),
    }
}
