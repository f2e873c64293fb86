//! The application that tests the limit.

mod limit;

use axum::routing::get;
use axum::{Json, Router, middleware};
use limit::{Limit, limited};
use redis::aio::{ConnectionManager, ConnectionManagerConfig};
use std::env::var;
use std::error::Error;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let client = redis::Client::open(format!("redis://{}/", var("LIMITSRV_ADDR")?))?;
    let config = ConnectionManagerConfig::new().set_max_delay(Duration::from_secs(1));
    let limit = Limit {
        redis: ConnectionManager::new_lazy_with_config(client, config)?,
        timeout: Duration::from_millis(var("TIMEOUT")?.parse()?),
        open: var("FAIL")? == "open",
        capacity: 3,
        rate: "3/h",
    };
    let app = Router::new()
        .route("/", get(|| async { Json(serde_json::json!({"hello": "world"})) }))
        .layer(middleware::from_fn_with_state(limit, limited));
    let listener = TcpListener::bind(("127.0.0.1", var("PORT")?.parse()?)).await?;
    axum::serve(listener, app.into_make_service_with_connect_info::<SocketAddr>()).await?;
    Ok(())
}
