//! The collector, over either protocol of OTLP.

use std::time::Duration;

use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::logs::v1::logs_service_client::LogsServiceClient;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::metrics::v1::metrics_service_client::MetricsServiceClient;
use prost::Message;
use svc_outbound::header::HeaderMap;
use svc_outbound::{Method, Outbound, PeerClient, PeerRequest, RequestBody, Url, describe_cause};
use tonic::transport::{Channel, ClientTlsConfig, Endpoint};

use crate::config::{OtlpProtocol, TelemetrySection};

/// Time limit of one request.
const REQUEST: Duration = Duration::from_secs(8);
/// Longest body of an answer that is read.
const ANSWER_BYTES: usize = 64 * 1024;
/// Media type of a request over HTTP.
const PROTOBUF: &str = "application/x-protobuf";

/// The client of a collector. Cheap to clone.
#[derive(Clone)]
pub(super) enum CollectorClient {
    Grpc { metrics: MetricsServiceClient<Channel>, logs: LogsServiceClient<Channel> },
    Http { client: PeerClient, metrics: Url, logs: Url },
}

impl CollectorClient {
    /// Makes a client of the collector of the settings; called on a runtime. No connection is made yet.
    ///
    /// # Errors
    /// The reason why the endpoint cannot be dialled.
    pub(super) fn new(section: &TelemetrySection, outbound: &Outbound) -> Result<Self, String> {
        match section.protocol {
            OtlpProtocol::Grpc => {
                let endpoint = Endpoint::from_shared(section.endpoint.clone())
                    .map_err(|error| describe_cause(&error))?
                    .timeout(REQUEST);
                let endpoint = match section.endpoint.starts_with("https:") {
                    true => endpoint
                        .tls_config(ClientTlsConfig::new().with_native_roots())
                        .map_err(|error| describe_cause(&error))?,
                    false => endpoint,
                };
                let channel = endpoint.connect_lazy();
                Ok(Self::Grpc {
                    metrics: MetricsServiceClient::new(channel.clone()),
                    logs: LogsServiceClient::new(channel),
                })
            }
            OtlpProtocol::HttpProtobuf => {
                let base = section.endpoint.trim_end_matches('/');
                let url =
                    |path: &str| Url::parse(&format!("{base}{path}")).map_err(|error| error.to_string());
                let (metrics, logs) = (url("/v1/metrics")?, url("/v1/logs")?);
                let client = outbound.peer(&metrics, true).map_err(|error| error.to_string())?;
                Ok(Self::Http { client, metrics, logs })
            }
        }
    }

    /// Sends metrics.
    ///
    /// # Errors
    /// The reason why the collector has not taken all of them.
    pub(super) async fn send_metrics(&self, request: ExportMetricsServiceRequest) -> Result<(), String> {
        match self {
            Self::Grpc { metrics, .. } => {
                let answer =
                    metrics.clone().export(request).await.map_err(|status| describe_cause(&status))?;
                let partial = answer.into_inner().partial_success.unwrap_or_default();
                refuse_partial(partial.rejected_data_points, &partial.error_message)
            }
            Self::Http { client, metrics, .. } => post(client, metrics, request.encode_to_vec()).await,
        }
    }

    /// Sends messages of the log.
    ///
    /// # Errors
    /// The reason why the collector has not taken all of them.
    pub(super) async fn send_logs(&self, request: ExportLogsServiceRequest) -> Result<(), String> {
        match self {
            Self::Grpc { logs, .. } => {
                let answer = logs.clone().export(request).await.map_err(|status| describe_cause(&status))?;
                let partial = answer.into_inner().partial_success.unwrap_or_default();
                refuse_partial(partial.rejected_log_records, &partial.error_message)
            }
            Self::Http { client, logs, .. } => post(client, logs, request.encode_to_vec()).await,
        }
    }
}

fn refuse_partial(rejected: i64, message: &str) -> Result<(), String> {
    if rejected > 0 { Err(format!("the collector refused {rejected}: {message}")) } else { Ok(()) }
}

async fn post(client: &PeerClient, url: &Url, body: Vec<u8>) -> Result<(), String> {
    let request = PeerRequest {
        method: Method::POST,
        url: url.clone(),
        headers: HeaderMap::new(),
        params: Vec::new(),
        body: Some(RequestBody { content_type: PROTOBUF, bytes: body.into() }),
        timeout: REQUEST,
        cap: ANSWER_BYTES,
        follow: false,
    };
    let answer = client.send(request).await.map_err(|error| error.to_string())?;
    if answer.status.is_success() {
        Ok(())
    } else {
        Err(format!("the collector answers {}", answer.status.as_u16()))
    }
}
