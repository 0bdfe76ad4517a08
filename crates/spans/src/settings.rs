//! The settings of spans.

/// The settings of the spans of a process.
#[derive(Clone, Debug)]
pub struct SpanSettings {
    /// Name of the service in its spans.
    pub service_name: String,
    /// Version of the service.
    pub version: String,
    /// Name of this process among those of the service.
    pub instance_id: String,
    /// Share of the traces begun here that is exported, from 0 to 1. A trace that came in keeps the decision of
    /// its sender.
    pub sample_rate: f64,
}
