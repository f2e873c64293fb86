use crate::*;

type Ask<'a> = &'a mut dyn FnMut(&str) -> Answer;

impl Session {
    /// Runs the cases of single commands. ask sends a command, given as words separated
    /// by blanks.
    pub fn decisions(&mut self, ask: Ask) {
        self.case("decide-token", || token(ask));
        self.case("decide-leaky", || leaky(ask));
        self.case("decide-fixed", || fixed(ask));
        self.case("decide-slide", || slide(ask));
        self.case("decide-log", || log(ask));
        self.case("acquire-release", || acquire(ask));
        self.case("all", || all(ask));
        self.case("peek-refund-charge", || peek(ask));
        self.case("errors", || errors(ask));
        self.case("wrongtype", || wrong_type(ask));
    }
}

fn token(ask: Ask) -> Outcome {
    want(ask("RL.TOKEN token 10 10/h"), FRESH)?;
    want(ask("RL.TOKEN token 10 10/h 9"), list![1, 10, 0, 0, lately(3_600_000)])?;
    want(ask("RL.TOKEN token 10 10/h"), list![0, 10, 0, lately(360_000), lately(3_600_000)])?;
    want(ask("RL.TOKEN token 10 10/h 11"), list![0, 10, 0, -1, lately(3_600_000)])?;
    Ok(())
}

fn leaky(ask: Ask) -> Outcome {
    want(ask("RL.LEAKY leaky 2 2/h"), list![1, 2, 1, 0, 1_800_000])?;
    want(ask("RL.LEAKY leaky 2 2/h"), list![1, 2, 0, lately(1_800_000), lately(3_600_000)])?;
    want(ask("RL.LEAKY leaky 2 2/h"), list![0, 2, 0, lately(1_800_000), lately(3_600_000)])?;
    Ok(())
}

fn fixed(ask: Ask) -> Outcome {
    let first = want(ask("RL.FIXED fixed 2 year"), list![1, 2, 1, 0, Want::Between(1, 31_622_400_000)])?;
    let left = lately(first.reset());
    let second = want(ask("RL.FIXED fixed 2 year 2"), list![0, 2, 1, left, left])?;
    let same = second.reset();
    want(Ok(second), list![0, 2, 1, same, same])?;
    Ok(())
}

fn slide(ask: Ask) -> Outcome {
    let first = want(ask("RL.SLIDE slide 2 365d"), list![1, 2, 1, 0, Want::Between(1, 63_072_000_000)])?;
    let reset = first.reset();
    want(ask("RL.SLIDE slide 2 365d 2"), list![0, 2, 1, Want::Between(1, reset), lately(reset)])?;
    Ok(())
}

fn log(ask: Ask) -> Outcome {
    let hour = lately(3_600_000);
    want(ask("RL.LOG log 2 1h"), list![1, 2, 1, 0, 3_600_000])?;
    want(ask("RL.LOG log 2 1h 2"), list![0, 2, 1, hour, hour])?;
    want(ask("RL.LOG log 2 1h 2 PARTIAL"), list![1, 2, 0, 0, hour])?;
    want(ask("RL.LOG log 2 1h 1 SHADOW"), list![1, 2, 0, hour, hour])?;
    Ok(())
}

fn acquire(ask: Ask) -> Outcome {
    let hour = lately(3_600_000);
    want(ask("RL.ACQUIRE places 1 1h a"), list![1, 1, 0, 0, 3_600_000])?;
    want(ask("RL.ACQUIRE places 1 1h b"), list![0, 1, 0, hour, hour])?;
    want(ask("RL.RELEASE places a"), Want::Int(1))?;
    want(ask("RL.RELEASE places a"), Want::Int(0))?;
    want(ask("RL.ACQUIRE places 1 1h b"), list![1, 1, 0, 0, 3_600_000])?;
    Ok(())
}

fn all(ask: Ask) -> Outcome {
    let both = "RL.ALL TOKEN all:user 10 10/h 1 LOG all:ip 1 1h 1";
    want(ask(both), list![1, 1, FRESH, list![1, 1, 0, 0, 3_600_000]])?;
    let user = list![1, 10, 9, 0, lately(360_000)];
    let ip = list![0, 1, 0, lately(3_600_000), lately(3_600_000)];
    want(ask(both), list![0, 1, user, ip])?;
    Ok(())
}

fn peek(ask: Ask) -> Outcome {
    want(ask("RL.PEEK peek"), Want::Nil)?;
    want(ask("RL.REFUND peek 1"), Want::Nil)?;
    want(ask("RL.CHARGE peek 1"), Want::Nil)?;
    want(ask("RL.TOKEN peek 10 10/h 4"), list![1, 10, 6, 0, 1_440_000])?;
    want(ask("RL.PEEK peek"), list![Want::Text("TOKEN"), 10, 6, 0, lately(1_440_000)])?;
    want(ask("RL.REFUND peek 2"), list![1, 10, 8, 0, lately(720_000)])?;
    want(ask("RL.CHARGE peek 10"), list![1, 10, 0, lately(720_000), lately(4_320_000)])?;
    want(ask("RL.RESET peek"), Want::Int(1))?;
    Ok(())
}

fn errors(ask: Ask) -> Outcome {
    want_error(ask("RL.NOSUCH k"), "ERR unknown command 'RL.NOSUCH', with args beginning with: 'k'")?;
    want_error(ask("RL.TOKEN k"), ARGUMENTS)?;
    want_error(ask("RL.TOKEN k -1 1"), "ERR capacity must be a whole number from 0 to 1000000000000, got '-1'")?;
    want(ask("PING"), Want::Text("PONG"))?;
    Ok(())
}

fn wrong_type(ask: Ask) -> Outcome {
    want(ask("RL.TOKEN type 10 10/h"), FRESH)?;
    want_error(ask("RL.FIXED type 10 60"), "WRONGTYPE")
}
