//! The service inside a larger actix-web application.
//!
//! The host has routes of its own. Next to them it mounts the service, and one of its handlers sends orders to
//! a channel in-process, without HTTP. It registers a function of its own, which workflows call like those of
//! the service, and an actor of its own in the tree of the service, which counts what was sold. A panic inside
//! the service costs the request it happened in and nothing else; when the host ends, the service drains with
//! it.
//!
//! `cargo run --example embed`, then:
//!
//! ```text
//! curl localhost:8080/                                         the host's own page
//! curl localhost:8080/checkout -d '{"qty": 3, "price": 50}' -H 'content-type: application/json'
//! curl localhost:8080/health                                   the service's
//! ```

use std::error::Error;
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, Handler, Message};
use actix_supervision::{Address, ChildSpec, Context, Placement, Supervised};
use actix_web::dev::ServerHandle;
use actix_web::http::StatusCode;
use actix_web::{App, HttpResponse, HttpServer, web};
use serde_json::{Map, Value};
use svc::engine::catalogue::{FunctionEntry, InputField, PluginIdentity};
use svc::engine::{ClosureFunction, TaskError};
use svc::{Config, Options, PlannedFault, Service, TreeExit};

/// The larger application: a shop.
struct Shop {
    service: Service,
    server: ServerHandle,
}

impl Shop {
    /// Starts the service, then the host's server with both sets of routes.
    async fn open(
        database: &Path,
        listener: TcpListener,
        faults: Vec<PlannedFault>,
    ) -> Result<Self, Box<dyn Error>> {
        let mut config = Config::default();
        config.storage.url = format!("sqlite:{}", database.display());
        let service = Service::start(
            config,
            Options {
                functions: vec![Arc::new(ClosureFunction::new(&SHIPPING_COST, shipping_cost))],
                faults,
                ..Options::default()
            },
        )
        .await?;
        let till =
            service.supervise("till", ChildSpec::new(), Placement::Here, |_| async { Ok(Till::default()) });
        let till = web::Data::new(till.await?);
        let (routes, shared) = (service.routes(), web::Data::new(service.clone()));
        let server = HttpServer::new(move || {
            App::new()
                .app_data(shared.clone())
                .app_data(till.clone())
                .route("/", web::get().to(front_page))
                .route("/checkout", web::post().to(checkout))
                .configure(routes.clone())
        })
        .workers(2)
        .listen(listener)?
        .disable_signals()
        .run();
        let handle = server.handle();
        actix_rt::spawn(server);
        Ok(Self { service, server: handle })
    }

    /// Ends the service first, so that what is in flight is answered, then the server.
    async fn close(self) -> TreeExit {
        let exit = self.service.shutdown(Duration::from_secs(10)).await;
        self.server.stop(true).await;
        exit
    }
}

/// An actor of the host in the tree of the service: it is restarted, shown to operators and drained like the others.
#[derive(Default)]
struct Till {
    sold: u64,
}

impl Actor for Till {
    type Context = Context<Self>;
}

impl Supervised for Till {}

/// Counts an order; returns the number of orders since the actor was started last.
#[derive(Debug, Message)]
#[rtype(result = "u64")]
struct Sold;

impl Handler<Sold> for Till {
    type Result = u64;

    fn handle(&mut self, _: Sold, _: &mut Context<Self>) -> u64 {
        self.sold += 1;
        self.sold
    }
}

/// The entry of [`shipping_cost`], by which its tasks are checked.
static SHIPPING_COST: FunctionEntry = FunctionEntry {
    retry_safety: "pure",
    accepts_any_input: false,
    plugin: Some(PluginIdentity { id: "shop", version: env!("CARGO_PKG_VERSION") }),
    fields: &[
        InputField::number("weight_kg", "Weight of the parcel in kilograms").required().resolvable(),
        InputField::output(),
    ],
    ..FunctionEntry::plugin("shipping_cost", "Computes the cost of shipping a parcel")
};

/// Computes the cost of shipping, for workflows that call the function like those of the service.
fn shipping_cost(inputs: &Map<String, Value>) -> Result<Value, TaskError> {
    let weight = inputs.get("weight_kg").and_then(Value::as_f64).unwrap_or_default();
    Ok((4.5 + 1.2 * weight.ceil()).into())
}

async fn front_page() -> &'static str {
    "welcome to the shop"
}

/// The host's own endpoint: the order goes to the channel `orders` without leaving the process, on this very
/// thread. Then the till counts it; an order is good without its number while the till restarts.
async fn checkout(
    service: web::Data<Service>,
    till: web::Data<Address<Till>>,
    order: web::Json<Value>,
) -> HttpResponse {
    match service.submit("orders", order.into_inner()).await {
        Ok(answer) => {
            let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::OK);
            let mut response = HttpResponse::build(status);
            if let Ok(number) = till.call(Sold).await {
                response.insert_header(("x-order-number", number.to_string()));
            }
            response.content_type("application/json").body(answer.body)
        }
        Err(error) => {
            let status = StatusCode::from_u16(error.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            HttpResponse::build(status).json(error.body(None))
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    actix_rt::System::new().block_on(async {
        let listener = TcpListener::bind("127.0.0.1:8080")?;
        let shop = Shop::open(Path::new("shop.db"), listener, Vec::new()).await?;
        let mut signals = svc::signals::Signals::install()?;
        tokio::select! {
            () = signals.terminate() => {}
            // An essential part failed for good: the host decides what that means for it.
            _ = shop.service.wait_until_ended() => {}
        }
        match shop.close().await {
            TreeExit::Shutdown => Ok(()),
            failed => Err(format!("the service ended with {failed:?}").into()),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use svc::FaultKind;
    use svc_testkit::http::HttpClient;

    /// Runs a test against an open shop with the quickstart definitions loaded, then closes the shop.
    fn in_shop(faults: Vec<PlannedFault>, test: impl FnOnce(&mut HttpClient) + Send + 'static) {
        let directory = tempfile::tempdir().unwrap();
        actix_rt::System::new().block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let mut client = HttpClient::new(listener.local_addr().unwrap());
            let shop = Shop::open(&directory.path().join("shop.db"), listener, faults).await.unwrap();
            let tested = web::block(move || {
                let ready = svc_testkit::server::wait_until(Duration::from_secs(30), || {
                    Ok(client.get("/readyz")?.status == 200)
                });
                assert!(ready.unwrap());
                let quickstart = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/quickstart");
                svc_testkit::example::load(&mut client, &quickstart).unwrap();
                test(&mut client);
                client
            });
            let mut client = tested.await.unwrap();
            assert_eq!(shop.close().await, TreeExit::Shutdown);
            assert!(client.get("/").is_err(), "the host has ended too");
        });
    }

    fn order() -> Value {
        json!({"order_id": "A-1", "qty": 3, "price": 50})
    }

    #[test]
    fn host_and_service_answer_their_own_paths() {
        in_shop(vec![], |client| {
            assert_eq!(client.get("/").unwrap().text(), "welcome to the shop");
            assert_eq!(client.get("/health").unwrap().json()["status"], "ok");
            let unknown = client.get("/nothing/of/mine").unwrap();
            assert_eq!((unknown.status, unknown.header("x-request-id")), (404, None), "left to the host");
            let inside = client.json("POST", "/checkout", &order()).unwrap();
            let outside = client.json("POST", "/api/v1/data/orders", &order()).unwrap();
            assert_eq!((inside.status, outside.status), (200, 200), "{}", inside.text());
            assert_eq!(inside.json()["data"], outside.json()["data"]);
            assert_eq!(inside.json()["data"]["total"], 150);
        });
    }

    #[test]
    fn actor_of_the_host_counts_and_is_shown() {
        in_shop(vec![], |client| {
            for number in ["1", "2"] {
                let sold = client.json("POST", "/checkout", &order()).unwrap();
                assert_eq!((sold.status, sold.header("x-order-number")), (200, Some(number)));
            }
            assert!(client.get("/api/v1/admin/actors").unwrap().text().contains("host/till"));
        });
    }

    #[test]
    fn function_of_the_host_is_listed_checked_and_run() {
        in_shop(vec![], |client| {
            let functions = client.get("/api/v1/admin/functions").unwrap().json();
            let listed = functions["data"].as_array().unwrap().iter();
            let listed = listed.into_iter().find(|entry| entry["name"] == "shipping_cost").unwrap();
            assert_eq!(
                (&listed["source"], &listed["input_fields"][0]["name"]),
                (&json!("plugin"), &json!("weight_kg"))
            );
            let plugin = &listed["plugin"];
            assert_eq!((&plugin["id"], &plugin["version"]), (&json!("shop"), &json!(svc::VERSION)));
            assert!(plugin["digest"].as_str().unwrap().starts_with("sha256:"), "{plugin}");
            let workflow = |input: Value| {
                let function = json!({"name": "shipping_cost", "input": input});
                json!({"workflow_id": "shipping", "name": "Shipping", "tasks": [{"id": "cost", "name": "Cost", "function": function}]})
            };
            let refused =
                client.json("POST", "/api/v1/admin/workflows", &workflow(json!({"weight": 2}))).unwrap();
            assert_eq!(refused.status, 400, "{}", refused.text());
            let details = refused.json()["error"]["details"].clone();
            let paths: Vec<_> =
                details.as_array().unwrap().iter().map(|detail| detail["path"].as_str().unwrap()).collect();
            assert_eq!(paths, ["tasks[0].function.input.weight_kg", "tasks[0].function.input.weight"]);
            let input = json!({"weight_kg": {"var": "payload.kg"}, "output": "data.cost"});
            let created = client.json("POST", "/api/v1/admin/workflows", &workflow(input)).unwrap();
            assert_eq!(created.status, 201, "{}", created.text());
            let trial = json!({"data": {"kg": 2.5}});
            let run = client.json("POST", "/api/v1/admin/workflows/shipping/test", &trial).unwrap();
            assert_eq!(run.json()["data"]["output"], json!({"cost": 8.1}), "{}", run.text());
        });
    }

    #[test]
    fn a_panic_inside_the_service_costs_one_request() {
        let panic = PlannedFault {
            path: "channels/orders/*".into(),
            message: "Submit".into(),
            nth: 1,
            kind: FaultKind::Panic,
        };
        in_shop(vec![panic], |client| {
            // A connection stays on its worker, and each worker's actor panics once.
            let statuses: Vec<u16> =
                (0..20).map(|_| client.json("POST", "/checkout", &order()).unwrap().status).collect();
            assert!(statuses.iter().filter(|status| **status == 500).count() >= 1, "{statuses:?}");
            assert!(statuses.iter().all(|status| [200, 500].contains(status)), "{statuses:?}");
            assert_eq!(statuses.last(), Some(&200));
            assert_eq!(client.get("/").unwrap().status, 200);
            assert_eq!(client.get("/health").unwrap().json()["components"]["channels"], "ok");
        });
    }
}
