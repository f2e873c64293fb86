//! The session of redis-rs, the crate redis.

use clients::*;
use redis::cluster::ClusterClient;
use redis::{
    Client, Commands, Connection, ConnectionInfo, ConnectionLike, ErrorKind, RedisError, RedisResult, ToRedisArgs,
    Value, cmd, pipe,
};
use std::str::FromStr;

fn main() {
    let mut connection = open(&url(&given("ADDR"))).expect("no connection");
    let mut session = Session::default();
    session.case("connect", || connect(&mut connection));
    session.decisions(&mut |words| {
        let mut words = words.split(' ');
        let mut command = cmd(words.next().unwrap());
        answer(words.fold(&mut command, |command, word| command.arg(word)).query(&mut connection))
    });
    session.case("pipeline", || pipeline(&mut connection));
    session.case("transaction", || transaction(&mut connection));
    session.case("binary-keys", || binary(&mut connection));
    session.case("resp2", || protocol(2));
    session.case("resp3", || protocol(3));
    session.case("reconnect", reconnect);
    session.case("wrong-password", wrong_password);
    session.case("password", password);
    session.cluster(cluster);
    session.end()
}

fn open(url: &str) -> RedisResult<Connection> {
    Client::open(url)?.get_connection()
}

fn url(addr: &str) -> String {
    format!("redis://{addr}/")
}

/// Returns the text of an error, in which the client separates the code.
fn text(error: RedisError) -> String {
    match error.code() {
        Some(code) => format!("{code} {}", error.detail().unwrap_or(&error.to_string())),
        None => error.to_string(),
    }
}

fn reply(value: Value) -> Reply {
    match value {
        Value::Nil => Reply::Nil,
        Value::Int(n) => Reply::Int(n),
        Value::BulkString(bytes) => Reply::Bytes(bytes),
        Value::SimpleString(text) => Reply::Bytes(text.into()),
        Value::Array(items) => Reply::List(items.into_iter().map(reply).collect()),
        other => panic!("{other:?} is in no reply"),
    }
}

fn answer(result: RedisResult<Value>) -> Answer {
    result.map(reply).map_err(text)
}

/// Takes n tokens of a bucket of 10 with 10 per hour.
fn token(connection: &mut impl ConnectionLike, key: impl ToRedisArgs, n: i64) -> Answer {
    answer(cmd("RL.TOKEN").arg(key).arg(10).arg("10/h").arg(n).query(connection))
}

fn peek(connection: &mut impl ConnectionLike, key: impl ToRedisArgs) -> Answer {
    answer(cmd("RL.PEEK").arg(key).query(connection))
}

/// The client has no log.
fn connect(connection: &mut Connection) -> Outcome {
    let pong: String = connection.ping().map_err(text)?;
    check(pong == "PONG", pong, "PONG")
}

fn pipeline(connection: &mut Connection) -> Outcome {
    let mut pipe = pipe();
    for _ in 0..100 {
        pipe.cmd("RL.TOKEN").arg("pipeline").arg(50).arg("50/h");
    }
    let values: Vec<Value> = pipe.query(connection).map_err(text)?;
    want_piped(values.into_iter().map(reply).collect())
}

fn transaction(connection: &mut Connection) -> Outcome {
    let (token, log) = pipe()
        .atomic()
        .cmd("RL.TOKEN")
        .arg("transaction:token")
        .arg(10)
        .arg("10/h")
        .arg(4)
        .cmd("RL.LOG")
        .arg("transaction:log")
        .arg(2)
        .arg("1h")
        .query(connection)
        .map_err(text)?;
    want(Ok(reply(token)), list![1, 10, 6, 0, 1_440_000])?;
    want(Ok(reply(log)), list![1, 2, 1, 0, 3_600_000])?;

    let short = pipe().atomic().cmd("RL.TOKEN").arg("transaction:token").query(connection);
    want_error(answer(short), "EXECABORT")
}

fn binary(connection: &mut Connection) -> Outcome {
    for key in &binary_keys() {
        want(token(connection, key, 1), FRESH)?;
        want(peek(connection, key), PEEKED)?;
    }
    let found: Vec<Vec<u8>> = connection.scan().map_err(text)?.collect::<Result<_, _>>().map_err(text)?;
    check(binary_keys().iter().all(|key| found.contains(key)), found, binary_keys())
}

fn protocol(version: i64) -> Outcome {
    let mut connection = open(&format!("{}?protocol=resp{version}", url(&given("ADDR")))).map_err(text)?;
    let hello: Value = cmd("HELLO").query(&mut connection).map_err(text)?;
    let right_kind = matches!((&hello, version), (Value::Array(_), 2) | (Value::Map(_), 3));
    let proto = hello.as_map_iter().and_then(|mut fields| {
        fields.find(|(name, _)| **name == Value::BulkString(b"proto".into())).map(|(_, field)| field.clone())
    });
    check(right_kind && proto == Some(Value::Int(version)), hello, version)?;
    want(token(&mut connection, format!("resp{version}"), 1), FRESH)?;
    want(peek(&mut connection, "none"), Want::Nil)?;
    Ok(())
}

/// A connection does not reconnect; the client opens a new one.
fn reconnect() -> Outcome {
    let client = Client::open(url(&given("RESTART_ADDR"))).map_err(text)?;
    let take = || token(&mut client.get_connection().map_err(text)?, "reconnect", 4);
    want(take(), list![1, 10, 6, 0, 1_440_000])?;
    restart()?;
    want(retry(take), list![1, 10, 6, 0, 1_440_000])?;
    Ok(())
}

/// The client hides the server's error for a wrong password, except in RESP3.
fn wrong_password() -> Outcome {
    let addr = given("PASSWORD_ADDR");
    let wrong = open(&format!("redis://:wrong@{addr}/")).err().map(|error| error.kind());
    check(wrong == Some(ErrorKind::AuthenticationFailed), wrong, "AuthenticationFailed")?;
    let wrong = open(&format!("redis://:wrong@{addr}/?protocol=resp3")).map_err(text);
    want_error(wrong.map(|_| Reply::Nil), "WRONGPASS")?;

    let mut none = open(&url(&addr)).map_err(text)?;
    want_error(token(&mut none, "password", 1), "NOAUTH")
}

fn password() -> Outcome {
    let with = ConnectionInfo::from_str(&url(&given("PASSWORD_ADDR"))).map_err(text)?;
    let settings = with.redis_settings().clone().set_password(given("PASSWORD"));
    let client = Client::open(with.set_redis_settings(settings)).map_err(text)?;
    want(token(&mut client.get_connection().map_err(text)?, "password", 1), FRESH)?;
    Ok(())
}

fn cluster(addr: &str) -> Outcome {
    let client = ClusterClient::new(vec![url(addr)]).map_err(text)?;
    let mut connection = client.get_connection().map_err(text)?;
    for key in cluster_keys() {
        want(token(&mut connection, &key, 1), FRESH)?;
        want(peek(&mut connection, &key), PEEKED)?;
    }
    Ok(())
}
