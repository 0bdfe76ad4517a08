//! A REST API behind tokens: PostgreSQL, Redis and the key set of an issuer.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64URL;
use openssl::hash::MessageDigest;
use openssl::pkey::{PKey, Private};
use openssl::rsa::Rsa;
use openssl::sign::Signer;
use serde_json::{Value, json};
use svc_testkit::http::{HttpClient, HttpResponse};
use svc_testkit::postgres::{Postgres, PostgresDatabase};
use svc_testkit::redis::Redis;
use svc_testkit::server::ServerProcess;
use svc_testkit::tls::{Behaviour, HttpsServer};

use super::{Project, examples, problem, scalar};
use crate::offline::repeat_offline;
use crate::refusals::unix_time;

const ISSUER: &str = "https://id.shop.example";
const ORDERS: &str = "/api/v1/data/orders";

/// An issuer of tokens with one key.
struct Issuer {
    key: PKey<Private>,
    keys: HttpsServer,
}

impl Issuer {
    fn start() -> Self {
        let rsa = Rsa::generate(2048).unwrap();
        let encode = |number: &openssl::bn::BigNumRef| BASE64URL.encode(number.to_vec());
        let key =
            json!({"kty": "RSA", "kid": "k1", "alg": "RS256", "n": encode(rsa.n()), "e": encode(rsa.e())});
        let keys = HttpsServer::start(Behaviour::json(json!({"keys": [key]}).to_string(), &[])).unwrap();
        Self { key: PKey::from_rsa(rsa).unwrap(), keys }
    }

    fn token(&self, subject: &str, scope: &str) -> String {
        let expires = unix_time() + 600;
        let claims =
            json!({"iss": ISSUER, "aud": "orders-api", "sub": subject, "scope": scope, "exp": expires});
        let part = |value: Value| BASE64URL.encode(value.to_string());
        let signed = format!("{}.{}", part(json!({"alg": "RS256", "kid": "k1"})), part(claims));
        let mut signer = Signer::new(MessageDigest::sha256(), &self.key).unwrap();
        signer.update(signed.as_bytes()).unwrap();
        format!("{signed}.{}", BASE64URL.encode(signer.sign_to_vec().unwrap()))
    }
}

/// The project, running.
struct World {
    issuer: Issuer,
    server: ServerProcess,
    database: PostgresDatabase,
    _redis: Redis,
    _postgres: Postgres,
}

/// Starts the project; `None` if a peer is missing.
fn world() -> Option<World> {
    world_with(&[])
}

fn world_with(replacements: &[(&str, &str)]) -> Option<World> {
    let (postgres, redis) = (Postgres::shared()?, Redis::own()?);
    let issuer = Issuer::start();
    let keys = issuer.keys.url("/jwks.json");
    let replaced = [&[("https://id.shop.example/jwks.json", keys.as_str())], replacements].concat();
    let project = Project::copy("orders", &replaced);
    let database = project.database(&postgres);
    let launch = project.launch();
    let authority = issuer.keys.write_authority(launch.directory()).unwrap();
    let server = launch
        .env("SSL_CERT_FILE", authority.to_str().unwrap())
        .env("SVC_JWT__ALLOW_PRIVATE_JWKS_URLS", "true")
        .env("SHOP_DB", database.url())
        .env("SHOP_REDIS", redis.url())
        .start()
        .unwrap();
    project.load(&server);
    Some(World { issuer, server, database, _redis: redis, _postgres: postgres })
}

impl World {
    /// A client with a token.
    fn client(&self, subject: &str, scope: &str) -> HttpClient {
        let token = format!("Bearer {}", self.issuer.token(subject, scope));
        self.server.client().with_header("authorization", &token)
    }
}

fn order(client: &mut HttpClient, item: &str) -> HttpResponse {
    client.json("POST", ORDERS, &json!({"item": item, "qty": 2})).unwrap()
}

fn get(client: &mut HttpClient, path: &str) -> HttpResponse {
    client.get(&format!("{ORDERS}{path}")).unwrap()
}

#[test]
fn dry_runs_of_orders_answer_like_the_service() {
    let traced = (
        "\"config\": {\n    \"auth\"",
        "\"config\": {\n    \"tracing\": {\"task_details\": true},\n    \"auth\"",
    );
    let Some(world) = world_with(&[traced]) else { return };
    let mut ada = world.client("ada", "orders:read orders:write");
    assert_eq!(order(&mut ada, "lamp").status, 201);
    assert_eq!(order(&mut ada, "").status, 422);
    assert_eq!((get(&mut ada, "/1").status, get(&mut ada, "/none").status), (200, 404));
    assert_eq!(get(&mut ada, "?limit=1").status, 200);
    for expected in [204, 404] {
        assert_eq!(ada.send("DELETE", &format!("{ORDERS}/1"), &[], b"").unwrap().status, expected);
    }
    let channels = ["order-create", "order-get", "order-list", "order-cancel"];
    let mut client = world.server.client();
    assert_eq!(repeat_offline(&mut client, &examples().join("orders"), &channels, &json!({"sub": "ada"})), 7);
}

#[test]
fn order_is_used_by_its_owner_alone() {
    let Some(world) = world() else { return };
    let mut ada = world.client("ada", "orders:read orders:write");
    let mut bob = world.client("bob", "orders:read");
    let created = order(&mut ada, "lamp");
    assert_eq!((created.status, created.header("location")), (201, Some("/api/v1/data/orders/1")));
    let lamp = created.json();
    let shown = |key: &str| lamp[key].clone();
    assert_eq!([shown("item"), shown("qty"), shown("state")], [json!("lamp"), json!(2), json!("open")]);
    assert_eq!(scalar(&world.database, "SELECT owner FROM orders WHERE item = 'lamp'"), "ada");
    assert_eq!(get(&mut ada, "/1").json(), lamp);
    assert_eq!(problem(&get(&mut bob, "/1")), (404, json!("No such order")));
    assert_eq!(problem(&get(&mut ada, "/none")), (404, json!("No such order")));
    assert_eq!(problem(&order(&mut bob, "chair")).0, 403);

    for item in ["chair", "desk"] {
        assert_eq!(order(&mut ada, item).status, 201);
    }
    let items = |page: &Value| -> Vec<_> {
        page["items"].as_array().unwrap().iter().map(|order| order["item"].clone()).collect()
    };
    let first = get(&mut ada, "?limit=2").json();
    assert_eq!(items(&first), ["lamp", "chair"]);
    let rest = ada.get(first["next"].as_str().unwrap()).unwrap().json();
    assert_eq!((items(&rest), rest.get("next")), (vec![json!("desk")], None));
    assert_eq!(get(&mut bob, "").json(), json!({"items": []}));
    for query in ["?limit=0", "?limit=101", "?limit=many", "?after=x"] {
        assert_eq!(problem(&get(&mut ada, query)).0, 400, "{query}");
    }

    let delete = |client: &mut HttpClient| client.send("DELETE", &format!("{ORDERS}/1"), &[], b"").unwrap();
    assert_eq!(problem(&delete(&mut world.client("eve", "orders:write"))).0, 404);
    let cancelled = delete(&mut ada);
    assert_eq!((cancelled.status, cancelled.text()), (204, String::new()));
    assert_eq!(problem(&delete(&mut ada)).0, 404);
    assert_eq!(get(&mut ada, "/1").json()["state"], "cancelled");
}

#[test]
fn wrong_bodies_and_tokens_store_nothing() {
    let Some(world) = world() else { return };
    let mut ada = world.client("ada", "orders:write");
    let refused = ada.json("POST", ORDERS, &json!({"item": "", "qty": 2.5})).unwrap();
    assert_eq!(problem(&refused), (422, json!("The order is not valid")));
    let fields: Vec<_> =
        refused.json()["errors"].as_array().unwrap().iter().map(|e| e["field"].clone()).collect();
    assert_eq!(fields, ["item", "qty"]);
    // Not even a body that looks like an envelope gets past the checks.
    let wrapped = ada.json("POST", ORDERS, &json!({"data": {"item": "lamp", "qty": 1}})).unwrap();
    assert_eq!(problem(&wrapped).0, 422);
    let mut stranger = world.server.client();
    assert_eq!(problem(&order(&mut stranger, "lamp")).0, 401);
    assert_eq!(scalar(&world.database, "SELECT count(*) FROM orders"), "0");
}

#[test]
fn repeated_key_orders_once_statistics_use_redis() {
    let Some(world) = world() else { return };
    let mut ada = world.client("ada", "orders:write").with_header("idempotency-key", "a-1");
    assert_eq!(order(&mut ada, "lamp").status, 201);
    assert_eq!(problem(&order(&mut ada, "lamp")).0, 409);
    let stats = || world.server.client().get("/api/v1/data/order-stats").unwrap().json();
    let counted = stats();
    assert_eq!(counted, json!({"states": [{"state": "open", "orders": 1, "items": 2}]}));
    world.database.rows("UPDATE orders SET state = 'lost'").unwrap();
    assert_eq!(stats(), counted, "half a minute has not passed");
}
