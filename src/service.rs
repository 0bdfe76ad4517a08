//! A running service as a value: start, mount into an actix-web application, submit, shut down.
//!
//! The binary is one user of this; a larger application is another. There are no globals: several services
//! can live in one process, each with its tree, its database and its threads.

use std::fmt;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use actix_supervision::{
    Address, ChildSpec, GroupSpec, Placement, SpawnError, StartContext, StartError, Supervised, TreeExit,
    TreeView,
};
use actix_web::web;
use serde_json::Value;
use svc_channels::{ChannelResponse, DataRequest, Delivery, Reservation};
use svc_model::ServiceError;
use svc_registry::{ReloadError, ReloadReport, ReloadScope};
use svc_spans::SpanDraft;
use svc_transport::{ConnectionAdmission, ConnectionLimits, RefusalReporter, TlsProvider, Transport};

use crate::assembly::parts::host::{HOST, HOST_ACTOR};
use crate::assembly::start;
use crate::boot_packages;
use crate::config::Config;
use crate::error::ServiceStartError;
use crate::http::{ExpositionFormat, level_metrics};
use crate::listeners::limits;
use crate::listeners::operations::Operations;
use crate::options::Options;
use crate::routes::{self, Part};
use crate::shutdown;
use crate::state::AppState;

/// A running service. Cheap to clone; ends with [`shutdown`](Self::shutdown). Dropping it leaves what is
/// mounted serving; the actor threads end with the last holder.
#[derive(Clone, Debug)]
pub struct Service {
    state: web::Data<AppState>,
}

impl Service {
    /// Opens the database, loads the stored definitions, and starts the supervision tree. Serves no request
    /// yet: mount [`routes`](Self::routes) for that. Must be called within an actix system.
    ///
    /// # Errors
    /// A [`ServiceStartError`] with the reason, in one line.
    pub async fn start(config: Config, options: Options) -> Result<Self, ServiceStartError> {
        let state = web::Data::new(start::start(config, options).await?);
        if let Some(telemetry) = &state.process.telemetry {
            let weak = Arc::downgrade(&state);
            telemetry.begin(move || {
                let state = weak.upgrade()?;
                level_metrics::render(&state, ExpositionFormat::OpenMetrics, None).ok()
            });
        }
        Ok(Self { state })
    }

    /// Returns the routes for a host application: the paths of the service only, so that the routes of the
    /// host keep working. They may be mounted below any scope of the host. Every thread that mounts them becomes
    /// a worker. Limits on the time and number of connections are those of the host.
    ///
    /// A host that exposes less, or guards parts of it by its own middleware, mounts
    /// [`data_routes`](Self::data_routes), [`admin_routes`](Self::admin_routes),
    /// [`health_routes`](Self::health_routes), [`docs_routes`](Self::docs_routes) and
    /// [`console_routes`](Self::console_routes) at places of its own. With a data mount at `/` the data plane answers every
    /// path that is left: mount it last.
    pub fn routes(&self) -> impl Fn(&mut web::ServiceConfig) + Clone + Send + use<> + 'static {
        self.mount_parts(&Part::ALL)
    }

    /// Returns the routes of the data plane alone: `/api/v1/data` and what `server.data_mounts` names.
    pub fn data_routes(&self) -> impl Fn(&mut web::ServiceConfig) + Clone + Send + use<> + 'static {
        self.mount_parts(&[Part::Data])
    }

    /// Returns the routes of the admin API alone: `/api/v1/admin`, which asks for an admin key as ever.
    pub fn admin_routes(&self) -> impl Fn(&mut web::ServiceConfig) + Clone + Send + use<> + 'static {
        self.mount_parts(&[Part::Admin])
    }

    /// Returns the routes of operation alone: `/healthz`, `/readyz`, `/health` and, if it has no listener of its
    /// own, `/metrics`.
    pub fn health_routes(&self) -> impl Fn(&mut web::ServiceConfig) + Clone + Send + use<> + 'static {
        self.mount_parts(&[Part::Health])
    }

    /// Returns the routes of the documentation alone: `/docs` and `/api/v1/openapi.json`.
    pub fn docs_routes(&self) -> impl Fn(&mut web::ServiceConfig) + Clone + Send + use<> + 'static {
        self.mount_parts(&[Part::Docs])
    }

    /// Returns the routes of the page of the console alone, at `server.console.path`; none if it is off. The page calls the
    /// admin API at the same prefix.
    pub fn console_routes(&self) -> impl Fn(&mut web::ServiceConfig) + Clone + Send + use<> + 'static {
        self.mount_parts(&[Part::Console])
    }

    fn mount_parts(
        &self,
        parts: &'static [Part],
    ) -> impl Fn(&mut web::ServiceConfig) + Clone + Send + use<> + 'static {
        let state = self.state.clone();
        move |cfg| routes::configure_parts(cfg, &state, parts)
    }

    /// Returns the routes of a service that is the whole application.
    pub(crate) fn mount(&self) -> impl Fn(&mut web::ServiceConfig) + Clone + Send + use<> + 'static {
        let state = self.state.clone();
        move |cfg| routes::configure(cfg, &state)
    }

    /// Serves health and metrics at `host:port`, over TLS if `metrics.tls_enabled` is true, on a thread of its own
    /// that answers while every worker is blocked.
    ///
    /// # Errors
    /// The address cannot be listened on.
    pub fn listen_for_operations(&self, address: &str) -> Result<Operations, ServiceStartError> {
        let what = format!("cannot listen on {address} (metrics.bind_addr)");
        Operations::listen(self.state.clone(), self.operations_transport(), address)
            .map_err(ServiceStartError::system(what))
    }

    /// Serves health and metrics to the connections of a socket, like
    /// [`listen_for_operations`](Self::listen_for_operations).
    pub(crate) fn serve_operations(&self, listener: TcpListener) -> Result<Operations, ServiceStartError> {
        Operations::accept_from(self.state.clone(), self.operations_transport(), listener)
            .map_err(ServiceStartError::system("cannot serve the passed socket of metrics.bind_addr"))
    }

    /// Returns the transport of the listener for operators: over TLS if `metrics.tls_enabled` is true.
    fn operations_transport(&self) -> Transport {
        let mut transport = self.transport(limits::operations_listener_limits());
        if self.state.config.metrics.tls_enabled {
            transport.certificates = self.certificates();
        }
        transport
    }

    fn certificates(&self) -> Option<Arc<dyn TlsProvider>> {
        let certificates = self.state.process.certificates.clone()?;
        Some(certificates)
    }

    /// Returns the transport of the main listener: over TLS if `server.tls.enabled` is true.
    pub(crate) fn main_transport(&self, limits: ConnectionLimits) -> Transport {
        Transport { certificates: self.certificates(), ..self.transport(limits) }
    }

    /// Returns the transport of a plain listener with these bounds.
    pub(crate) fn transport(&self, limits: ConnectionLimits) -> Transport {
        let state = self.state.clone();
        Transport {
            timeouts: limits::timeouts(&state.config),
            admission: ConnectionAdmission::new(limits),
            refusals: ConnectionAdmission::new(limits::refusal_limits()),
            reports: RefusalReporter::new(state.process.connections.clone(), state.log.clone()),
            certificates: None,
            delegate: state.into_inner(),
        }
    }

    /// Applies the packages of the settings (`packages.apply`) and returns once they serve: until then `/readyz` is
    /// 503.
    /// [`serve`](crate::serve::serve) does it by itself; a host does it once it has mounted the routes, and
    /// [shuts down](Self::shutdown) after a failure. Must be called within an actix system.
    ///
    /// # Errors
    /// [`ServiceStartError::Packages`] with the reason.
    pub async fn apply_packages(&self) -> Result<(), ServiceStartError> {
        boot_packages::apply(&self.state).await
    }

    /// Sends a payload to a channel, without HTTP. No credential and no origin is checked; validation,
    /// capacity and deadline apply as to any request. The run takes place on the current thread if that is a
    /// worker. In a process without any worker, the first call makes its thread one.
    ///
    /// # Errors
    /// The error that a caller over HTTP would get.
    ///
    /// ```no_run
    /// # async fn order(service: &svc::Service) -> Result<(), Box<dyn std::error::Error>> {
    /// let answer = service.submit("orders", serde_json::json!({"order_id": "A-1001"})).await?;
    /// assert_eq!(answer.status, 200);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn submit(&self, channel: &str, payload: Value) -> Result<ChannelResponse, ServiceError> {
        self.hand_over(channel, payload, Delivery::Sync).await
    }

    async fn hand_over(
        &self,
        channel: &str,
        payload: Value,
        delivery: Delivery,
    ) -> Result<ChannelResponse, ServiceError> {
        let workers = &self.state.process.workers;
        let worker = match workers.current_worker() {
            None if !workers.has_any(&self.state.serving.registry) => {
                workers.join(&self.state.serving.registry, &self.state.log).await
            }
            known => known,
        };
        let mut permit = self.state.edge.in_flight.permit();
        permit.grow_for_run(0, Some(&payload))?;
        let reservation = Some(Reservation::new(permit));
        let mut span = self.state.edge.spans.new_trace().begin(|| SpanDraft::submission(channel));
        let trace_context = span.context().clone();
        let message = DataRequest { reservation, trace_context, delivery, ..DataRequest::embedded(payload) };
        let answer = self.state.serving.registry.submit_to(worker, channel, Box::new(message)).await;
        if let Err(error) = &answer {
            span.fail(error.code().name());
        }
        answer
    }

    /// Hands a payload to a channel that accepts work: it is on record when this returns, and runs later, also
    /// after a restart. The answer is the 202 of `POST {route}/async`, whose body has the id of the trace. Checks
    /// apply as to [`submit`](Self::submit).
    ///
    /// # Errors
    /// The error that a caller over HTTP would get; nothing is accepted then.
    pub async fn submit_async(&self, channel: &str, payload: Value) -> Result<ChannelResponse, ServiceError> {
        self.hand_over(channel, payload, Delivery::Async).await
    }

    /// Adds an actor of the host to the supervision tree, as the node `host/{name}`: it is restarted and
    /// quarantined like those of the service, shown in `/health` and at `/api/v1/admin/actors`, and drained before
    /// the channels, so that it can submit until it has ended.
    ///
    /// # Errors
    /// The name is taken or is no name, a node that the specification needs is unknown, or the tree has ended.
    pub async fn supervise<A, F, Fut>(
        &self,
        name: &str,
        spec: ChildSpec,
        at: Placement,
        factory: F,
    ) -> Result<Address<A>, SpawnError>
    where
        A: Supervised,
        F: Fn(StartContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<A, StartError>> + 'static,
    {
        match self.state.tree.add_group(HOST.path, GroupSpec::new()).await {
            // The first actor brings the group.
            Ok(()) | Err(SpawnError::Duplicate { .. }) => {}
            Err(error) => return Err(error),
        }
        let path = format!("{}/{name}", HOST.path);
        self.state.tree.spawn(&path, spec.needs(HOST_ACTOR.need_paths()), at, factory).await
    }

    /// Returns all metrics of the process in the Prometheus text format 0.0.4: those of the host, then those of the
    /// service.
    ///
    /// # Errors
    /// A metric fails to write itself.
    pub fn render_metrics(&self) -> Result<String, fmt::Error> {
        level_metrics::render(&self.state, ExpositionFormat::PrometheusText, None)
    }

    /// Reloads the stored definitions.
    ///
    /// # Errors
    /// The reason; the previous snapshot goes on serving.
    pub async fn reload(&self) -> Result<ReloadReport, ReloadError> {
        self.state.reload(ReloadScope::All).await
    }

    /// Returns a view of the supervision tree, also while every thread is blocked.
    pub fn tree(&self) -> TreeView {
        self.state.tree.snapshot()
    }

    /// Returns the shared state of the handlers.
    pub fn state(&self) -> &web::Data<AppState> {
        &self.state
    }

    /// Begins to drain: `/readyz` fails, requests are still answered, connections are closed after their
    /// response.
    pub fn drain(&self) {
        self.state.process.lifecycle.drain();
    }

    /// Waits until the service has begun to drain: by [`drain`](Self::drain), or by the order of an operator
    /// (`POST /api/v1/admin/nodes/drain`), after which the host is expected to [shut down](Self::shutdown).
    pub async fn wait_until_draining(&self) {
        self.state.process.lifecycle.wait_until_draining().await;
    }

    /// Ends the service. It reports not ready at once and begins no accepted work and no scheduled run any
    /// more. It waits at most `deadline` for the requests and runs in progress: for accepted work no longer
    /// than `trace_queue.shutdown_timeout_secs`, for scheduled runs no longer than
    /// `cron.shutdown_timeout_secs`, for a slow body no longer than 30 seconds.
    ///
    /// Runs that are left then are dropped: accepted work stays unfinished on record, scheduled runs go back
    /// to the ledger, callers are answered 503. The tree ends in reverse order of need. Returns within two
    /// seconds after `deadline`, whatever a run waits for. Idempotent.
    pub async fn shutdown(&self, deadline: Duration) -> TreeExit {
        let exit = shutdown::shutdown(&self.state, deadline).await;
        self.state.unlock_file();
        exit
    }

    /// Waits until the tree has ended, by a shutdown or by the failure of an essential part.
    pub async fn wait_until_ended(&self) -> TreeExit {
        self.state.tree.wait_until_ended().await
    }
}

#[cfg(test)]
mod tests {
    use actix_rt::System;
    use actix_web::App;
    use actix_web::test::{TestRequest, call_service, init_service};
    use svc_engine::catalogue::FunctionEntry;
    use svc_engine::{CompileCx, CompiledTask, Function};

    use super::*;

    #[test]
    fn mounted_routes_outlive_the_last_service_handle() {
        let directory = tempfile::tempdir().unwrap();
        System::new().block_on(async {
            let mut config = Config::default();
            config.storage.url = format!("sqlite:{}", directory.path().join("svc.db").display());
            let service = Service::start(config, Options::default()).await.unwrap();
            let routes = service.routes();
            drop(service);
            let app = init_service(App::new().configure(routes)).await;
            let body = serde_json::json!({"workflow_id": "w", "name": "w", "tasks": []});
            let request = TestRequest::post().uri("/api/v1/admin/workflows/validate").set_json(&body);
            assert_eq!(call_service(&app, request.to_request()).await.status(), 200);
            let listed = TestRequest::get().uri("/api/v1/admin/workflows").to_request();
            assert_eq!(call_service(&app, listed).await.status(), 200, "the database answers");
        });
    }

    /// A function that an application brings along.
    struct Plugin(&'static FunctionEntry);

    impl Function for Plugin {
        fn entry(&self) -> &'static FunctionEntry {
            self.0
        }

        fn compile(&self, _: &Value, _: &CompileCx<'_>) -> Result<Box<dyn CompiledTask>, String> {
            Err("it is never called".to_owned())
        }
    }

    #[test]
    fn plugin_with_a_taken_name_prevents_the_start() {
        static TAKEN: FunctionEntry = FunctionEntry::plugin("http_call", "");
        static BUILT_IN: FunctionEntry = FunctionEntry::plugin("validate", "");
        static FOREIGN: FunctionEntry = FunctionEntry::utility("mine", "");
        let directory = tempfile::tempdir().unwrap();
        for (entry, reason) in [
            (&TAKEN, "has the name of another function"),
            (&BUILT_IN, "has the name of another function"),
            (&FOREIGN, "is not declared a plugin"),
        ] {
            System::new().block_on(async {
                let mut config = Config::default();
                config.storage.url = format!("sqlite:{}", directory.path().join("svc.db").display());
                let options = Options { functions: vec![Arc::new(Plugin(entry))], ..Options::default() };
                let error = Service::start(config, options).await.err().unwrap();
                assert!(error.to_string().contains(reason), "{error}");
                assert_eq!(error.exit_code(), 78);
            });
        }
    }
}
