use axum::Json;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use redis::aio::ConnectionManager;
use serde_json::json;
use std::net::SocketAddr;
use std::time::Duration;

/// A limit on requests, kept in limitsrv.
#[derive(Clone)]
pub struct Limit {
    pub redis: ConnectionManager,
    /// Of requests to limitsrv.
    pub timeout: Duration,
    /// Whether requests are allowed while limitsrv is unavailable.
    pub open: bool,
    /// Tokens per key, in the form of RL.TOKEN.
    pub capacity: u64,
    /// Refill rate: "5", "100/1m".
    pub rate: &'static str,
}

/// Middleware for middleware::from_fn_with_state(limit, limited). The application must be served
/// with into_make_service_with_connect_info::<SocketAddr>().
pub async fn limited(State(mut limit): State<Limit>, request: Request, next: Next) -> Response {
    let mut command = redis::cmd("RL.TOKEN");
    command.arg(key(&request)).arg(limit.capacity).arg(limit.rate);
    let decision = tokio::time::timeout(limit.timeout, command.query_async(&mut limit.redis)).await;
    let Ok(Ok((allowed, most, remaining, wait_ms, reset_ms))) = decision else {
        if limit.open {
            return next.run(request).await;
        }
        let error = json!({"error": "the rate limiter does not answer"});
        return (StatusCode::SERVICE_UNAVAILABLE, Json(error)).into_response();
    };
    let (allowed, wait_ms): (bool, i64) = (allowed, wait_ms);
    let mut response = if allowed {
        next.run(request).await
    } else {
        let error = json!({"error": "too many requests", "retry_after_ms": wait_ms});
        (StatusCode::TOO_MANY_REQUESTS, Json(error)).into_response()
    };
    let mut set = |name, value: i64| response.headers_mut().insert(name, HeaderValue::from(value));
    set("x-ratelimit-limit", most);
    set("x-ratelimit-remaining", remaining);
    set("x-ratelimit-reset", seconds(reset_ms));
    if !allowed {
        set("retry-after", seconds(wait_ms));
    }
    response
}

/// Returns the key of a request: the API key (validate it first!) or else the address.
fn key(request: &Request) -> String {
    if let Some(api_key) = request.headers().get("x-api-key") {
        return format!("key:{}", String::from_utf8_lossy(api_key.as_bytes()));
    }
    let ConnectInfo(address) = request.extensions().get::<ConnectInfo<SocketAddr>>().expect("no ConnectInfo");
    format!("ip:{}", address.ip())
}

/// Converts milliseconds to seconds, rounded up.
fn seconds(millis: i64) -> i64 {
    (millis + 999) / 1000
}
