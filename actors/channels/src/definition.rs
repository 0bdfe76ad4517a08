//! A channel made ready to run: its row, its guards compiled, its workflow.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use svc_engine::{Expression, Flow};
use svc_model::config::{Backpressure, BodyMode, ResponseMode};
use svc_model::{Channel, ChannelConfig, is_unreadable};
use tokio::sync::Semaphore;

use crate::metrics::Meters;
use crate::series::FlowMeters;
use crate::toolbox::Toolbox;

/// A channel ready to run. Immutable; shared by its actors on all threads.
pub struct Definition {
    pub(crate) name: Arc<str>,
    pub(crate) flow: Flow,
    pub(crate) envelope: bool,
    pub(crate) cookies: Vec<String>,
    pub(crate) origins: Option<Vec<String>>,
    pub(crate) validation: Option<Expression>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) permits: Option<Permits>,
    pub(crate) tools: Toolbox,
    pub(crate) meters: Meters,
    pub(crate) flow_meters: FlowMeters,
    version: i64,
}

/// The permits of a channel on this node, shared by its threads and, while their number stays, by its generations.
#[derive(Clone, Debug)]
pub(crate) struct Permits {
    limit: u64,
    pub(crate) pool: Arc<Semaphore>,
}

impl Permits {
    fn new(limit: u64) -> Self {
        let permits = usize::try_from(limit).unwrap_or(usize::MAX).min(Semaphore::MAX_PERMITS);
        Self { limit, pool: Arc::new(Semaphore::new(permits)) }
    }
}

impl Definition {
    /// Builds a channel from its stored row and the workflow it names.
    ///
    /// `previous` is what served until now: what must outlive a reload, such as taken permits, is carried over.
    ///
    /// # Errors
    /// The reason to quarantine the channel: a config that does not parse, an expression that does not compile, or a
    /// guard this version does not enforce. A channel is never served without a guard it was given.
    pub fn build(
        row: &Channel,
        flow: Flow,
        tools: &Toolbox,
        previous: Option<&Self>,
    ) -> Result<Self, String> {
        let config = ChannelConfig::parse(&row.content.config).map_err(|errors| {
            let errors: Vec<_> = errors.iter().map(ToString::to_string).collect();
            format!("config_json does not parse: {}", errors.join("; "))
        })?;
        if is_unreadable(&row.content.transport_config) {
            return Err("transport_config_json does not parse".to_owned());
        }
        if let Some(block) = unenforced(&config) {
            return Err(format!(
                "{block}: this version does not enforce the block, so it refuses the channel"
            ));
        }
        let validation = match &config.validation_logic {
            None => None,
            Some(logic) => Some(
                tools
                    .engine
                    .compile_expression(logic)
                    .map_err(|error| format!("validation_logic does not compile: {error}"))?,
            ),
        };
        Ok(Self {
            name: row.content.name.as_str().into(),
            flow_meters: tools.metrics.of_flow(&flow),
            flow,
            envelope: config.request.body_mode == BodyMode::Auto,
            cookies: config.request.cookies_to_metadata,
            origins: config.origin_allow_list,
            validation,
            timeout: config.timeout_ms.map(Duration::from_millis),
            permits: config.backpressure.map(|block| permits(block, previous)),
            meters: tools.metrics.of(&row.content.name),
            tools: tools.clone(),
            version: row.version,
        })
    }

    /// The name callers use.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The version of the channel this was built from.
    pub fn version(&self) -> i64 {
        self.version
    }
}

impl fmt::Debug for Definition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Definition")
            .field("name", &self.name)
            .field("version", &self.version)
            .finish_non_exhaustive()
    }
}

fn permits(block: Backpressure, previous: Option<&Definition>) -> Permits {
    let limit = block.max_concurrent_per_node;
    let kept =
        previous.and_then(|previous| previous.permits.as_ref()).filter(|permits| permits.limit == limit);
    kept.cloned().unwrap_or_else(|| Permits::new(limit))
}

/// The first block that asks for something this version does not do.
fn unenforced(config: &ChannelConfig) -> Option<&'static str> {
    let shaped = config.response.mode == ResponseMode::Shaped || !config.response.error_bodies.is_empty();
    [
        ("auth", config.auth.is_some()),
        ("rate_limit", config.rate_limit.is_some()),
        ("principal_rate_limit", config.principal_rate_limit.is_some()),
        ("deduplication", config.deduplication.is_some()),
        ("cache", config.cache.as_ref().is_some_and(|cache| cache.enabled)),
        ("response", shaped),
    ]
    .into_iter()
    .find_map(|(block, asked)| asked.then_some(block))
}
