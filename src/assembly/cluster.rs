//! The Redis server that the nodes of a cluster share.

use std::time::Duration;

use slog::{Logger, info, warn};
use svc_outbound::{AddressError, Outbound};
use svc_redis::{RedisClient, RedisFailure, RedisTarget};
use svc_store::RetryWindow;
use tokio::runtime::Handle;
use tokio::time::sleep;

use crate::config::Config;
use crate::error::ServiceStartError;

/// Time limit of opening a connection, and of an answer. An operation takes at most twice as long.
const OPERATION_LIMIT: Duration = Duration::from_millis(500);

/// Connects to the Redis server of the cluster; `None` outside cluster mode. A server that is away is tried again for
/// `storage.connect_retry_secs`.
///
/// # Errors
/// - [`ServiceStartError::Config`] for a URL that cannot be used.
/// - [`ServiceStartError::Redis`] if the server does not answer in time, or refuses.
pub(crate) async fn connect_redis(
    config: &Config,
    outbound: &Outbound,
    runtime: &Handle,
    log: &Logger,
) -> Result<Option<RedisClient>, ServiceStartError> {
    if !config.cluster.enabled {
        return Ok(None);
    }
    // The operator names the server, so that its address may be private.
    let target = RedisTarget::new(&config.cluster.redis_url, true)
        .map_err(|reason| ServiceStartError::Config(format!("cluster.redis_url: {reason}")))?;
    let client = RedisClient::new(target, outbound.clone(), runtime.clone(), OPERATION_LIMIT);
    let mut window = RetryWindow::new(Duration::from_secs(config.storage.connect_retry_secs));
    loop {
        match client.connect().await {
            Ok(()) => {
                info!(log, "connected to the Redis server of the cluster"; "place" => client.place());
                return Ok(Some(client));
            }
            Err(failure)
                if may_heal(&failure)
                    && let Some(pause) = window.next_pause() =>
            {
                warn!(log, "the Redis server of the cluster is not there yet"; "detail" => %failure);
                sleep(pause).await;
            }
            Err(failure) => {
                return Err(ServiceStartError::Redis(format!("cluster.redis_url: {failure}")));
            }
        }
    }
}

fn may_heal(failure: &RedisFailure) -> bool {
    match failure {
        RedisFailure::Unreachable(_) | RedisFailure::Broken(_) | RedisFailure::Timeout(_) => true,
        RedisFailure::Address(error) => matches!(error, AddressError::Unresolved { .. }),
        RedisFailure::Refused(_) => false,
    }
}
