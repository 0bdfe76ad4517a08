//! The handle of the live data.

use std::fmt;
use std::future::ready;
use std::sync::Arc;

use actix_supervision::{ChildSpec, GroupSpec, Placement, SpawnError, StartError, Tree};
use parking_lot::Mutex;
use slog::Logger;
use svc_channels::ChannelMetrics;
use svc_store::Store;
use tokio::sync::Notify;

use crate::figures::FiguresWriter;
use crate::live::sampler::LiveSampler;
use crate::live::state::LiveState;
use crate::live::{HistoryRequest, LiveStream, TooManyViewers, WatchRequest};
use crate::metrics::ConsoleMetrics;
use crate::shared::{ConsoleShared, FiguresState};
use crate::view::ServiceView;

/// The settings of the live data.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Streams that may be open at once.
    pub max_viewers: usize,
    /// Paths of the nodes that the writer of figures needs.
    pub needs: Vec<String>,
}

/// The sources of the live data.
pub struct ConsoleParts {
    /// The database.
    pub store: Store,
    /// The counts of messages and the ends of runs.
    pub channels: ChannelMetrics,
    /// The rest of the service.
    pub view: Arc<dyn ServiceView>,
    pub settings: Settings,
    /// The metrics of the crate.
    pub metrics: ConsoleMetrics,
    /// The logger.
    pub log: Logger,
}

/// The live data of this process, usable from any thread. Cheap to clone.
#[derive(Clone)]
pub struct ConsoleHandle {
    shared: Arc<ConsoleShared>,
}

impl ConsoleHandle {
    /// Adds the group `path` with the sampler and the writer of figures.
    ///
    /// # Errors
    /// [`SpawnError`] if the path is taken, the placement is gone, or a needed node does not exist.
    pub async fn supervise(
        tree: &Tree,
        path: &str,
        at: Placement,
        parts: ConsoleParts,
    ) -> Result<Self, SpawnError> {
        let ConsoleParts { store, channels, view, settings, metrics, log } = parts;
        let shared = Arc::new(ConsoleShared {
            view,
            tree: tree.clone(),
            channels,
            leases: store.nodes(),
            groups: store.error_groups(),
            max_viewers: settings.max_viewers,
            metrics,
            log,
            live: Mutex::new(LiveState::new()),
            begun: Notify::new(),
            figures: Mutex::new(FiguresState::default()),
        });
        tree.add_group(path, GroupSpec::new()).await?;
        let of_sampler = Arc::clone(&shared);
        let sampler = move |_| ready(Ok::<_, StartError>(LiveSampler::new(Arc::clone(&of_sampler))));
        tree.spawn(&format!("{path}/live"), ChildSpec::new(), at.clone(), sampler).await?;
        let of_writer = Arc::clone(&shared);
        let writer = move |_| ready(Ok::<_, StartError>(FiguresWriter::new(Arc::clone(&of_writer))));
        let spec = ChildSpec::new().needs(&settings.needs);
        tree.spawn(&format!("{path}/figures"), spec, at, writer).await?;
        Ok(Self { shared })
    }

    /// Opens a stream: the events since the one that the viewer got last, or a picture; then one event a second.
    ///
    /// # Errors
    /// [`TooManyViewers`] if as many streams are open as may be.
    pub fn watch(&self, request: &WatchRequest) -> Result<LiveStream, TooManyViewers> {
        self.shared.watch(request)
    }

    /// Returns a stream that ends after one picture and takes no place.
    pub fn show_once(&self, history: HistoryRequest) -> LiveStream {
        self.shared.show_once(history)
    }
}

impl fmt::Debug for ConsoleHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConsoleHandle").finish_non_exhaustive()
    }
}
