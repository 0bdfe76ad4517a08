//! The service inside a larger application: its routes below a prefix, parts of it alone, work, actors and metrics of the
//! host.

use std::fs;
use std::time::Duration;

use actix::{Actor, Handler, Message};
use actix_rt::time::timeout;
use actix_rt::{Arbiter, System};
use actix_supervision::{ChildSpec, Context, NodeState, Placement, SpawnError, Supervised};
use actix_web::body::MessageBody;
use actix_web::dev::ServiceResponse;
use actix_web::http::StatusCode;
use actix_web::test::{TestRequest, call_service, init_service, read_body};
use actix_web::{App, Error, HttpResponse, web};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::registry::Registry;
use serde_json::{Value, json};
use svc::{Config, Options, Service};
use svc_testkit::state::eventually;

const KEY: &str = "an-admin-key-of-the-host";

/// Runs a test with a service that has an admin key and a database of its own.
fn with_host(options: Options, test: impl AsyncFnOnce(Service)) {
    with_host_of(options, |_| {}, test);
}

/// As [`with_host`], with further settings.
fn with_host_of(options: Options, set_up: impl FnOnce(&mut Config), test: impl AsyncFnOnce(Service)) {
    let directory = tempfile::tempdir().unwrap();
    System::new().block_on(async {
        let mut config = Config::default();
        config.storage.url = format!("sqlite:{}", directory.path().join("svc.db").display());
        config.admin_auth.enabled = true;
        config.admin_auth.api_keys = vec![svc::config::AdminKey::unnamed(KEY)];
        config.metrics.enabled = true;
        set_up(&mut config);
        let service = Service::start(config, options).await.unwrap();
        test(service.clone()).await;
        service.shutdown(Duration::from_secs(5)).await;
    });
}

/// Sends a request to an application and returns status and body.
async fn send<S, B>(app: &S, request: TestRequest) -> (StatusCode, String)
where
    S: actix_web::dev::Service<actix_http::Request, Response = ServiceResponse<B>, Error = Error>,
    B: MessageBody,
{
    let response = call_service(app, request.to_request()).await;
    let status = response.status();
    (status, String::from_utf8(read_body(response).await.to_vec()).unwrap())
}

/// Waits until the service is ready: the thread that mounted it has become a worker.
async fn ready<S, B>(app: &S, path: &str)
where
    S: actix_web::dev::Service<actix_http::Request, Response = ServiceResponse<B>, Error = Error>,
    B: MessageBody,
{
    eventually("the service is ready", async || send(app, get(path)).await.0 == 200).await;
}

fn get(path: &str) -> TestRequest {
    TestRequest::get().uri(path)
}

fn with_key(request: TestRequest) -> TestRequest {
    request.insert_header(("authorization", format!("Bearer {KEY}")))
}

/// Creates and activates a channel `orders` that answers with its payload, by an admin API below `base`.
async fn create_orders<S, B>(app: &S, base: &str, channel_type: &str)
where
    S: actix_web::dev::Service<actix_http::Request, Response = ServiceResponse<B>, Error = Error>,
    B: MessageBody,
{
    let workflow = json!({"workflow_id": "w", "name": "w", "tasks": [{"id": "t", "name": "t", "function":
        {"name": "map", "input": {"mappings": [{"path": "data.seen", "logic": {"var": "payload.n"}}]}}}]});
    let channel = json!({"channel_id": "orders", "name": "orders", "channel_type": channel_type,
        "protocol": "rest", "methods": ["POST"], "route_pattern": "/orders/{id}", "workflow_id": "w", "config": {}});
    for (kind, id, body) in [("workflows", "w", workflow), ("channels", "orders", channel)] {
        let create = TestRequest::post().uri(&format!("{base}/api/v1/admin/{kind}")).set_json(body);
        let (status, text) = send(app, with_key(create)).await;
        assert_eq!(status, 201, "{text}");
        let activate = TestRequest::patch().uri(&format!("{base}/api/v1/admin/{kind}/{id}/status"));
        let (status, text) = send(app, with_key(activate.set_json(json!({"status": "active"})))).await;
        assert_eq!(status, 200, "{text}");
    }
}

async fn page() -> HttpResponse {
    HttpResponse::Ok().body("the host's")
}

#[test]
fn service_below_prefix_answers_as_at_root() {
    with_host(Options::default(), async |service| {
        let scope = web::scope("/automation").configure(service.routes()).route("/own", web::get().to(page));
        let app = init_service(App::new().service(scope).route("/health", web::get().to(page))).await;
        create_orders(&app, "/automation", "sync").await;

        let posted = TestRequest::post().uri("/automation/api/v1/data/orders/7").set_json(json!({"n": 3}));
        let (status, text) = send(&app, posted).await;
        assert_eq!((status.as_u16(), text.contains(r#""seen":3"#)), (200, true), "{text}");
        ready(&app, "/automation/readyz").await;
        for path in [
            "/automation/healthz",
            "/automation/health",
            "/automation/docs",
            "/automation/console",
            "/automation/console/runs/7",
        ] {
            assert_eq!(send(&app, get(path)).await.0, 200, "{path}");
        }
        assert_eq!(send(&app, get("/health")).await.1, "the host's");
        assert_eq!(send(&app, get("/automation/own")).await.1, "the host's");
        let left = call_service(&app, get("/automation/nothing").to_request()).await;
        assert_eq!(
            (left.status().as_u16(), left.headers().get("x-request-id")),
            (404, None),
            "left to the host"
        );

        // No spelling of the prefix or of the path opens the admin API.
        for path in [
            "/automation/api/v1/admin/workflows",
            "/automation/api/v1/%61dmin/workflows",
            "/%61utomation/api/v1/admin/workflows",
            "/automation/api/v1/admin/traces/x/y",
            "/automation/metrics",
        ] {
            let (status, text) = send(&app, get(path)).await;
            assert_eq!(status, 401, "{path}: {text}");
            assert!(text.contains("UNAUTHORIZED"), "{path}: {text}");
        }
        let listed = send(&app, with_key(get("/automation/api/v1/admin/workflows?statsu=active"))).await;
        assert!(listed.0 == 400 && listed.1.contains("unknown query parameter"), "{listed:?}");
        let metrics = send(&app, with_key(get("/automation/metrics"))).await.1;
        assert!(metrics.contains(r#"path="/api/v1/admin/workflows""#), "without the prefix of the host");

        let document = send(&app, get("/automation/api/v1/openapi.json")).await.1;
        let document: Value = serde_json::from_str(&document).unwrap();
        assert_eq!(document["servers"], json!([{"url": "/automation"}]));
        let page = send(&app, get("/automation/docs")).await.1;
        assert!(page.contains(r#"src="docs/page.js""#) && !page.contains(r#""/docs"#), "{page}");
        assert_eq!(send(&app, get("/automation/docs/page.js")).await.0, 200);
        let console = send(&app, get("/automation/console/runs/7")).await.1;
        let names_prefix = console.contains(r#"data-base="/automation/console" data-api="/automation""#);
        assert!(names_prefix || console.contains("make console"), "{console}");
    });
}

#[test]
fn location_of_accepted_work_keeps_mount_prefix() {
    let set_up = |config: &mut Config| config.server.data_mounts = vec!["/orders".to_owned()];
    with_host_of(Options::default(), set_up, async |service| {
        let scope = web::scope("/automation").configure(service.routes());
        let app = init_service(App::new().service(scope)).await;
        create_orders(&app, "/automation", "async").await;
        for base in ["/automation/api/v1/data", "/automation", "/%61utomation"] {
            let path = format!("{base}/orders/7/async");
            let submit = TestRequest::post().uri(&path).set_json(json!({"n": 3})).to_request();
            let accepted = call_service(&app, submit).await;
            assert_eq!(accepted.status(), 202, "{path}");
            let location = accepted.headers().get("location").unwrap().to_str().unwrap().to_owned();
            let body: Value = serde_json::from_slice(&read_body(accepted).await).unwrap();
            let prefix = base.trim_end_matches("/api/v1/data");
            assert!(location.starts_with(&format!("{prefix}/api/v1/data/orders/async/")), "{location}");
            let token = body["trace_token"].as_str().unwrap();
            let (status, text) = send(&app, get(&location).insert_header(("x-trace-token", token))).await;
            assert_eq!(status, 200, "{location}: {text}");
        }
    });
}

#[test]
fn prefix_with_parameter_keeps_the_rules() {
    with_host(Options::default(), async |service| {
        let scope = web::scope("/tenants/{tenant}").configure(service.routes());
        let app = init_service(App::new().service(scope)).await;
        ready(&app, "/tenants/a%20b/readyz").await;
        assert_eq!(send(&app, get("/tenants/a%20b/api/v1/admin/workflows")).await.0, 401);
        assert_eq!(send(&app, with_key(get("/tenants/a%20b/api/v1/admin/workflows"))).await.0, 200);
    });
}

#[test]
fn parts_are_mounted_alone_and_together() {
    with_host(Options::default(), async |service| {
        let outside = init_service(App::new().configure(service.data_routes())).await;
        let internal = init_service(
            App::new()
                .service(web::scope("/admin").configure(service.admin_routes()))
                .configure(service.health_routes())
                .service(web::scope("/docs-of").configure(service.docs_routes()))
                .service(web::scope("/page").configure(service.console_routes())),
        )
        .await;
        create_orders(&internal, "/admin", "sync").await;
        let posted = || TestRequest::post().uri("/api/v1/data/orders/7").set_json(json!({"n": 3}));
        assert_eq!(send(&outside, posted()).await.0, 200);
        for path in
            ["/api/v1/admin/workflows", "/health", "/metrics", "/docs", "/api/v1/openapi.json", "/console"]
        {
            let answer = call_service(&outside, with_key(get(path)).to_request()).await;
            assert_eq!(
                (answer.status().as_u16(), answer.headers().get("x-request-id")),
                (404, None),
                "{path}"
            );
        }
        assert_eq!(send(&internal, posted()).await.0, 404);
        for path in
            ["/health", "/healthz", "/docs-of/docs", "/docs-of/api/v1/openapi.json", "/page/console/runs"]
        {
            assert_eq!(send(&internal, get(path)).await.0, 200, "{path}");
        }
        let wrong = call_service(&internal, TestRequest::post().uri("/health").to_request()).await;
        assert_eq!(wrong.status(), 405);
        assert!(wrong.headers().contains_key("x-request-id"), "refused with the envelope");
    });
}

#[test]
fn accepted_work_of_host_is_stored_and_runs() {
    with_host(Options::default(), async |service| {
        let app = init_service(App::new().configure(service.routes())).await;
        create_orders(&app, "", "async").await;
        let answer = service.submit_async("orders", json!({"n": 3})).await.unwrap();
        assert_eq!(answer.status, 202);
        let body: Value = serde_json::from_slice(&answer.body).unwrap();
        let path = format!("/api/v1/admin/traces/{}", body["trace_id"].as_str().unwrap());
        let is_completed = async || {
            let trace: Value = serde_json::from_str(&send(&app, with_key(get(&path))).await.1).unwrap();
            assert_ne!(trace["data"]["status"], "failed", "{trace}");
            trace["data"]["status"] == "completed" || trace["status"] == "completed"
        };
        eventually("the accepted work is completed", is_completed).await;
        let unknown = service.submit_async("nothing", json!({})).await.unwrap_err();
        assert_eq!(unknown.status(), 404);
        service.shutdown(Duration::from_secs(5)).await;
        let late = service.submit_async("orders", json!({})).await.unwrap_err();
        assert_eq!((late.status(), late.message()), (503, "Channel 'orders' is stopping"));
        assert_eq!(late.retry_after(), Some(1));
    });
}

/// An actor of the host that fails on command.
struct Greeter;

impl Actor for Greeter {
    type Context = Context<Self>;
}

impl Supervised for Greeter {}

#[derive(Debug, Message)]
#[rtype(result = "String")]
struct Greet(bool);

impl Handler<Greet> for Greeter {
    type Result = String;

    fn handle(&mut self, Greet(well): Greet, _: &mut Context<Self>) -> String {
        assert!(well, "planned");
        "hello".to_owned()
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a host has threads of its own")]
fn host_actors_are_supervised_and_shown() {
    with_host(Options::default(), async |service| {
        let app = init_service(App::new().configure(service.routes())).await;
        let thread = Arbiter::new();
        let start = |spec| {
            let at = Placement::On(thread.handle());
            service.supervise("greeter", spec, at, |_| async { Ok(Greeter) })
        };
        let greeter = start(ChildSpec::new()).await.unwrap();
        let is_running = async || greeter.vitals().state == NodeState::Running;
        eventually("the actor runs", is_running).await;
        assert_eq!(greeter.call(Greet(true)).await.unwrap(), "hello");
        assert!(matches!(start(ChildSpec::new()).await, Err(SpawnError::Duplicate { .. })));
        let actors = send(&app, with_key(get("/api/v1/admin/actors"))).await.1;
        assert!(actors.contains("host/greeter"), "{actors}");
        greeter.call(Greet(false)).await.unwrap_err();
        let is_restarted = async || greeter.call(Greet(true)).await.is_ok();
        eventually("the actor is restarted", is_restarted).await;
        let restart = TestRequest::post().uri("/api/v1/admin/actors/host/greeter/restart");
        let (status, text) = send(&app, with_key(restart)).await;
        assert!(status.is_success(), "an operator restarts it like the others: {status} {text}");
    });
}

#[test]
fn drain_of_an_operator_reaches_the_host() {
    with_host(Options::default(), async |service| {
        let app = init_service(App::new().configure(service.routes())).await;
        ready(&app, "/readyz").await;
        let (_, nodes) = send(&app, with_key(get("/api/v1/admin/nodes"))).await;
        let nodes: Value = serde_json::from_str(&nodes).unwrap();
        let path = format!("/api/v1/admin/nodes/drain?node={}", nodes["data"][0]["id"].as_str().unwrap());
        let (status, answer) = send(&app, with_key(TestRequest::post().uri(&path))).await;
        assert_eq!(status, StatusCode::ACCEPTED, "{answer}");
        timeout(Duration::from_secs(60), service.wait_until_draining()).await.unwrap();
        assert_eq!(send(&app, get("/readyz")).await.0, StatusCode::SERVICE_UNAVAILABLE);
    });
}

#[test]
fn host_metrics_keep_their_own_names() {
    let (orders, mut registry) = (Counter::<u64>::default(), Registry::default());
    registry.register("shop_orders", "Orders of the shop", orders.clone());
    with_host(Options { metrics: registry, ..Options::default() }, async |service| {
        orders.inc_by(3);
        let text = service.render_metrics().unwrap();
        assert!(text.contains("\nshop_orders_total 3\n"), "{text}");
        assert!(text.contains("svc_build_info{"), "{text}");
        let app = init_service(App::new().configure(service.health_routes())).await;
        assert!(send(&app, with_key(get("/metrics"))).await.1.contains("\nshop_orders_total 3\n"));
    });
}

#[test]
fn configuration_is_read_from_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("svc.toml");
    fs::write(&path, "[server]\nport = 9191\n").unwrap();
    assert_eq!(Config::from_file(&path).unwrap().server.port, 9191);
    fs::write(&path, "[server]\nprot = 9191\n").unwrap();
    let error = Config::from_file(&path).unwrap_err().to_string();
    assert!(error.contains("did you mean server.port?"), "{error}");
}
