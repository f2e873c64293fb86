//! The parts shared by the clients: the addresses of the servers, the lines of output,
//! the checks of replies, and the cases of single commands.

mod decisions;
mod reply;

pub use reply::*;

use std::process::Command;
use std::time::{Duration, Instant};
use std::{env, fmt, thread};

/// The result of a case; the error describes the failure.
pub type Outcome = Result<(), String>;

/// An environment variable by its name without LIMITSRV_; see ../../README.md.
pub fn given(name: &str) -> String {
    env::var(format!("LIMITSRV_{name}")).unwrap_or_default()
}

/// A run of the cases.
#[derive(Default)]
pub struct Session {
    failed: bool,
}

impl Session {
    /// Runs a case and prints its line.
    pub fn case(&mut self, name: &str, case: impl FnOnce() -> Outcome) {
        match case() {
            Ok(()) => println!("ok {name}"),
            Err(wrong) => {
                println!("FAIL {name}: {}", wrong.replace('\n', "\\n"));
                self.failed = true;
            }
        }
    }

    /// Runs the case cluster, if there is a server for it.
    pub fn cluster(&mut self, case: impl FnOnce(&str) -> Outcome) {
        let addr = given("CLUSTER_ADDR");
        if !addr.is_empty() {
            self.case("cluster", || case(&addr));
        }
    }

    /// Exits, with 1 if a case failed.
    pub fn end(self) -> ! {
        std::process::exit(self.failed.into())
    }
}

/// Restarts the server at RESTART_ADDR.
pub fn restart() -> Outcome {
    let status = Command::new(given("RESTART")).status().map_err(|e| e.to_string())?;
    check(status.success(), status, "exit status 0 of the restart")
}

/// Repeats a call until it succeeds, for up to 10 s.
pub fn retry<T, E>(mut ask: impl FnMut() -> Result<T, E>) -> Result<T, E> {
    let end = Instant::now() + Duration::from_secs(10);
    loop {
        let answer = ask();
        if answer.is_ok() || Instant::now() > end {
            return answer;
        }
        thread::sleep(Duration::from_millis(50));
    }
}

/// Fails unless a condition holds.
pub fn check(is_so: bool, got: impl fmt::Debug, want: impl fmt::Debug) -> Outcome {
    if is_so { Ok(()) } else { Err(format!("got {got:?}, want {want:?}")) }
}

/// Keys with arbitrary bytes.
pub fn binary_keys() -> [Vec<u8>; 3] {
    [(0..=255).collect(), b"a\r\nb".to_vec(), vec![0]]
}

/// Keys in different slots: CRC16 differs if only the last byte differs.
pub fn cluster_keys() -> impl Iterator<Item = String> {
    ('A'..).take(32).map(|last| format!("cluster:{last}"))
}
