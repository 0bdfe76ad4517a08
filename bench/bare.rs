//! The yardstick: an actix-web handler that parses the quickstart order and builds the same answer, with
//! nothing else.

use actix_web::{App, HttpResponse, HttpServer, web};
use serde_json::{Value, json};

async fn order(body: web::Bytes) -> HttpResponse {
    let Ok(order) = serde_json::from_slice::<Value>(&body) else {
        return HttpResponse::BadRequest().finish();
    };
    let total = order["qty"].as_i64().unwrap_or(0) * order["price"].as_i64().unwrap_or(0);
    let tier = if total > 100 { "gold" } else { "standard" };
    let answer = json!({
        "id": uuid::Uuid::now_v7().to_string(),
        "status": "ok",
        "data": {"order": order, "total": total, "tier": tier},
        "errors": [],
    });
    HttpResponse::Ok().json(answer)
}

#[actix_web::main]
async fn main() -> std::io::Result<()> {
    let port = std::env::args().nth(1).and_then(|port| port.parse().ok()).unwrap_or(8081);
    HttpServer::new(|| App::new().route("/api/v1/data/orders", web::post().to(order)))
        .bind(("127.0.0.1", port))?
        .run()
        .await
}
