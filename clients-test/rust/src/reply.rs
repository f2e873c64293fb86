use crate::{Outcome, check};

/// A reply, in types common to all clients.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    Nil,
    Int(i64),
    Bytes(Vec<u8>),
    List(Vec<Reply>),
}

/// The result of a command: a reply, or the text of its error.
pub type Answer = Result<Reply, String>;

/// An expected reply.
#[derive(Debug, Clone, Copy)]
pub enum Want<'a> {
    Nil,
    Int(i64),
    /// An integer in this inclusive range.
    Between(i64, i64),
    Text(&'a str),
    List(&'a [Want<'a>]),
}

impl From<i64> for Want<'_> {
    fn from(n: i64) -> Self {
        Want::Int(n)
    }
}

/// A duration in milliseconds, or up to a minute less: the remainder of a time seen earlier in the case.
pub const fn lately(millis: i64) -> Want<'static> {
    Want::Between(millis - 60_000, millis)
}

/// An expected array of integers and other expected replies.
#[macro_export]
macro_rules! list {
    ($($item:expr),* $(,)?) => { $crate::Want::List(&[$($crate::Want::from($item)),*]) };
}

/// The first reply to RL.TOKEN with 10 10/h.
pub const FRESH: Want = Want::List(&[Want::Int(1), Want::Int(10), Want::Int(9), Want::Int(0), Want::Int(360_000)]);

/// The reply of RL.PEEK after it.
pub const PEEKED: Want = Want::List(&[Want::Text("TOKEN"), Want::Int(10), Want::Int(9), Want::Int(0), lately(360_000)]);

/// The error of an RL.TOKEN with too few arguments.
pub const ARGUMENTS: &str = "ERR wrong number of arguments for 'rl.token' command; usage: RL.TOKEN key capacity rate [n] [PARTIAL] [SHADOW] [ONCE id [FOR duration]]";

/// Fails unless an answer matches; returns the answer.
pub fn want(answer: Answer, want: Want) -> Answer {
    match answer {
        Ok(reply) if matches(&reply, want) => Ok(reply),
        other => Err(format!("got {other:?}, want {want:?}")),
    }
}

fn matches(reply: &Reply, want: Want) -> bool {
    match (reply, want) {
        (Reply::Nil, Want::Nil) => true,
        (Reply::Int(n), Want::Int(m)) => *n == m,
        (Reply::Int(n), Want::Between(low, high)) => (low..=high).contains(n),
        (Reply::Bytes(bytes), Want::Text(text)) => bytes == text.as_bytes(),
        (Reply::List(items), Want::List(wants)) => {
            items.len() == wants.len() && items.iter().zip(wants).all(|(item, want)| matches(item, *want))
        }
        _ => false,
    }
}

/// Fails unless an answer is an error with this text, or with this code followed by any text.
/// Clients may omit "ERR " and a trailing blank.
pub fn want_error(answer: Answer, want: &str) -> Outcome {
    let fits = answer.as_ref().is_err_and(|text| {
        let got = text.trim_end();
        let is_code = !want.contains(' ') && got.starts_with(&format!("{want} "));
        is_code || got == want || Some(got) == want.strip_prefix("ERR ")
    });
    check(fits, answer, want)
}

/// Fails unless these are the replies to a pipeline of 100 times RL.TOKEN with 50 50/h.
pub fn want_piped(replies: Vec<Reply>) -> Outcome {
    check(replies.len() == 100, &replies, "100 replies")?;
    for (i, reply) in (0..).zip(replies) {
        let hour = Want::Between(0, 3_600_000);
        if i < 50 {
            want(Ok(reply), list![1, 50, 49 - i, 0, hour])?;
        } else {
            want(Ok(reply), list![0, 50, 0, lately(72_000), hour])?;
        }
    }
    Ok(())
}

impl Reply {
    /// Returns the fifth integer of a decision.
    pub fn reset(&self) -> i64 {
        match self {
            Reply::List(fields) => match fields.get(4) {
                Some(Reply::Int(n)) => *n,
                _ => 0,
            },
            _ => 0,
        }
    }
}
