//! The probe of a mail server.

use svc_outbound::Outbound;
use tokio::time::timeout;

use super::dial::dial;
use super::settings::SmtpSettings;
use crate::probe::{ConnectorProbe, PROBE_TIMEOUT};

/// The operation that a probe tries.
const OPERATION: &str = "connect, EHLO, TLS, auth, NOOP";

/// Connects and logs in as for a mail, and sends none.
pub(crate) async fn probe(smtp: &SmtpSettings, outbound: &Outbound) -> ConnectorProbe {
    let conversation = async {
        let mut connection = dial(smtp, outbound).await.map_err(|error| error.to_string())?;
        if !connection.test_connected().await {
            return Err("it did not answer NOOP".to_owned());
        }
        // It has answered; whether it says goodbye changes nothing.
        let _ = connection.quit().await;
        Ok(())
    };
    match timeout(PROBE_TIMEOUT, conversation).await {
        Ok(Ok(())) => ConnectorProbe::reached(OPERATION),
        Ok(Err(error)) => ConnectorProbe::failed(OPERATION, error),
        Err(_) => {
            ConnectorProbe::failed(OPERATION, format!("no answer within {} ms", PROBE_TIMEOUT.as_millis()))
        }
    }
}
