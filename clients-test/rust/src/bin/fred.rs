//! The session of fred.

use clients::*;
use fred::prelude::*;
use fred::types::{ClusterHash, CustomCommand, RespVersion};
use futures_util::TryStreamExt;
use std::sync::Mutex;
use tokio::runtime;

fn main() {
    log::set_logger(&LOG).expect("the first logger");
    log::set_max_level(log::LevelFilter::Warn);
    let run = runtime::Builder::new_current_thread().enable_all().build().expect("no runtime");
    let client = run.block_on(open(&url(&given("ADDR")))).expect("no connection");

    let mut session = Session::default();
    session.case("connect", || run.block_on(connect(&client)));
    session.decisions(&mut |words| {
        let mut words = words.split(' ');
        let name = words.next().unwrap_or_default().to_string();
        answer(run.block_on(client.custom(command(&name), words.map(String::from).collect())))
    });
    session.case("pipeline", || run.block_on(pipeline(&client)));
    session.case("transaction", || run.block_on(transaction(&client)));
    session.case("binary-keys", || run.block_on(binary(&client)));
    session.case("resp2", || run.block_on(protocol(RespVersion::RESP2, 2)));
    session.case("resp3", || run.block_on(protocol(RespVersion::RESP3, 3)));
    session.case("reconnect", || run.block_on(reconnect()));
    session.case("wrong-password", || run.block_on(wrong_password()));
    session.case("password", || run.block_on(password()));
    session.cluster(|addr| run.block_on(cluster(addr)));
    session.end()
}

/// The log messages at the level of a warning or above.
struct Log(Mutex<Vec<String>>);

static LOG: Log = Log(Mutex::new(Vec::new()));

impl log::Log for Log {
    fn enabled(&self, entry: &log::Metadata) -> bool {
        entry.level() <= log::Level::Warn
    }

    fn log(&self, record: &log::Record) {
        self.0.lock().unwrap().push(record.args().to_string());
    }

    fn flush(&self) {}
}

fn url(addr: &str) -> String {
    format!("redis://{addr}")
}

async fn open(url: &str) -> Result<Client, Error> {
    connected(Config::from_url(url)?).await
}

async fn connected(config: Config) -> Result<Client, Error> {
    let client = Builder::from_config(config).build()?;
    client.init().await?;
    Ok(client)
}

/// A command unknown to the client; in a cluster its first argument selects the slot.
fn command(name: &str) -> CustomCommand {
    CustomCommand::new(name, ClusterHash::FirstKey, false)
}

fn text(error: Error) -> String {
    error.details().to_string()
}

fn answer(result: Result<Value, Error>) -> Answer {
    result.map(reply).map_err(text)
}

fn reply(value: Value) -> Reply {
    match value {
        Value::Null => Reply::Nil,
        Value::Integer(n) => Reply::Int(n),
        Value::String(text) => Reply::Bytes(text.as_bytes().to_vec()),
        Value::Bytes(bytes) => Reply::Bytes(bytes.to_vec()),
        Value::Array(items) => Reply::List(items.into_iter().map(reply).collect()),
        other => panic!("{other:?} is in no reply"),
    }
}

/// Takes n tokens of a bucket of 10 with 10 per hour.
async fn token(client: &Client, key: impl Into<Value>, n: i64) -> Answer {
    let args: Vec<Value> = vec![key.into(), 10.into(), "10/h".into(), n.into()];
    answer(client.custom(command("RL.TOKEN"), args).await)
}

async fn peek(client: &Client, key: impl Into<Value>) -> Answer {
    answer(client.custom(command("RL.PEEK"), vec![key.into()]).await)
}

async fn connect(client: &Client) -> Outcome {
    let pong: String = client.ping(None).await.map_err(text)?;
    check(pong == "PONG", pong, "PONG")?;
    let said = LOG.0.lock().unwrap();
    check(said.is_empty(), &said, "nothing logged")
}

async fn pipeline(client: &Client) -> Outcome {
    let pipeline = client.pipeline();
    for _ in 0..100 {
        let () = pipeline.custom(command("RL.TOKEN"), vec!["pipeline", "50", "50/h"]).await.map_err(text)?;
    }
    let values: Vec<Value> = pipeline.all().await.map_err(text)?;
    want_piped(values.into_iter().map(reply).collect())
}

async fn transaction(client: &Client) -> Outcome {
    let both = client.multi();
    let () = both.custom(command("RL.TOKEN"), vec!["transaction:token", "10", "10/h", "4"]).await.map_err(text)?;
    let () = both.custom(command("RL.LOG"), vec!["transaction:log", "2", "1h"]).await.map_err(text)?;
    let (token, log): (Value, Value) = both.exec(true).await.map_err(text)?;
    want(Ok(reply(token)), list![1, 10, 6, 0, 1_440_000])?;
    want(Ok(reply(log)), list![1, 2, 1, 0, 3_600_000])?;

    let short = client.multi();
    let () = short.custom(command("RL.TOKEN"), vec!["transaction:token"]).await.map_err(text)?;
    want_error(answer(short.exec(true).await), ARGUMENTS)
}

async fn binary(client: &Client) -> Outcome {
    for key in binary_keys() {
        want(token(client, key.as_slice(), 1).await, FRESH)?;
        want(peek(client, key.as_slice()).await, PEEKED)?;
    }
    let found: Vec<Key> = client.scan_buffered("*", None, None).try_collect().await.map_err(text)?;
    check(binary_keys().iter().all(|key| found.iter().any(|other| other.as_bytes() == key)), found, binary_keys())
}

async fn protocol(version: RespVersion, number: i64) -> Outcome {
    let config = Config { version, ..Config::from_url(&url(&given("ADDR"))).map_err(text)? };
    let client = connected(config).await.map_err(text)?;
    let hello: Value = client.custom(command("HELLO"), Vec::<Value>::new()).await.map_err(text)?;
    let right_kind = if number == 2 { hello.is_array() } else { hello.is_map() };
    let proto = hello.clone().into_map().ok().and_then(|fields| fields.get(&"proto".into()).cloned());
    check(right_kind && proto == Some(number.into()), hello, number)?;
    want(token(&client, format!("resp{number}"), 1).await, FRESH)?;
    want(peek(&client, "none").await, Want::Nil)?;
    Ok(())
}

/// The client reconnects only with a reconnect policy.
async fn reconnect() -> Outcome {
    let config = Config::from_url(&url(&given("RESTART_ADDR"))).map_err(text)?;
    let policy = ReconnectPolicy::new_exponential(0, 10, 1000, 2);
    let client = Builder::from_config(config).set_policy(policy).build().map_err(text)?;
    client.init().await.map_err(text)?;
    want(token(&client, "reconnect", 4).await, list![1, 10, 6, 0, 1_440_000])?;
    restart()?;
    want(token(&client, "reconnect", 4).await, list![1, 10, 6, 0, 1_440_000])?;
    Ok(())
}

/// The client fails when connecting, before any command.
async fn wrong_password() -> Outcome {
    let wrong = open(&format!("redis://:wrong@{}", given("PASSWORD_ADDR"))).await;
    want_error(wrong.map(|_| Reply::Nil).map_err(text), "WRONGPASS")?;
    let none = open(&url(&given("PASSWORD_ADDR"))).await;
    want_error(none.map(|_| Reply::Nil).map_err(text), "NOAUTH")
}

async fn password() -> Outcome {
    let addr = Config::from_url(&url(&given("PASSWORD_ADDR"))).map_err(text)?;
    let client = connected(Config { password: Some(given("PASSWORD")), ..addr }).await.map_err(text)?;
    want(token(&client, "password", 1).await, FRESH)?;
    Ok(())
}

async fn cluster(addr: &str) -> Outcome {
    let client = open(&format!("redis-cluster://{addr}")).await.map_err(text)?;
    for key in cluster_keys() {
        want(token(&client, key.clone(), 1).await, FRESH)?;
        want(peek(&client, key).await, PEEKED)?;
    }
    Ok(())
}
