package clients;

import static clients.Want.FRESH;
import static clients.Want.lately;
import static clients.Want.list;

import clients.Want.Range;
import java.util.List;

/** The cases that send single commands. */
final class Decisions {
    /** Sends a command in the client's way. */
    interface Ask {
        Object ask(String... words) throws Exception;
    }

    private final Ask client;

    private Decisions(Ask client) {
        this.client = client;
    }

    static void test(Session session, Ask client) {
        Decisions cases = new Decisions(client);
        session.test("decide-token", cases::token);
        session.test("decide-leaky", cases::leaky);
        session.test("decide-fixed", cases::fixed);
        session.test("decide-slide", cases::slide);
        session.test("decide-log", cases::log);
        session.test("acquire-release", cases::acquire);
        session.test("all", cases::all);
        session.test("peek-refund-charge", cases::peek);
        session.test("errors", cases::errors);
        session.test("wrongtype", cases::wrongType);
    }

    private Object ask(String words) throws Exception {
        return client.ask(words.split(" "));
    }

    private Object want(String words, Object want) throws Exception {
        Object got = ask(words);
        Want.reply(got, want);
        return got;
    }

    private void wantError(String words, String want) {
        Want.error(() -> ask(words), want);
    }

    private static long reset(Object decision) {
        return (Long) ((List<?>) decision).get(4);
    }

    private void token() throws Exception {
        want("RL.TOKEN token 10 10/h", FRESH);
        want("RL.TOKEN token 10 10/h 9", list(1, 10, 0, 0, lately(3_600_000)));
        want("RL.TOKEN token 10 10/h", list(0, 10, 0, lately(360_000), lately(3_600_000)));
        want("RL.TOKEN token 10 10/h 11", list(0, 10, 0, -1, lately(3_600_000)));
    }

    private void leaky() throws Exception {
        want("RL.LEAKY leaky 2 2/h", list(1, 2, 1, 0, 1_800_000));
        want("RL.LEAKY leaky 2 2/h", list(1, 2, 0, lately(1_800_000), lately(3_600_000)));
        want("RL.LEAKY leaky 2 2/h", list(0, 2, 0, lately(1_800_000), lately(3_600_000)));
    }

    private void fixed() throws Exception {
        Object first = want("RL.FIXED fixed 2 year", list(1, 2, 1, 0, new Range(1, 31_622_400_000L)));
        Range left = lately(reset(first));
        Object second = want("RL.FIXED fixed 2 year 2", list(0, 2, 1, left, left));
        Range same = new Range(reset(second), reset(second));
        Want.reply(second, list(0, 2, 1, same, same));
    }

    private void slide() throws Exception {
        Object first = want("RL.SLIDE slide 2 365d", list(1, 2, 1, 0, new Range(1, 63_072_000_000L)));
        want("RL.SLIDE slide 2 365d 2", list(0, 2, 1, new Range(1, reset(first)), lately(reset(first))));
    }

    private void log() throws Exception {
        Range hour = lately(3_600_000);
        want("RL.LOG log 2 1h", list(1, 2, 1, 0, 3_600_000));
        want("RL.LOG log 2 1h 2", list(0, 2, 1, hour, hour));
        want("RL.LOG log 2 1h 2 PARTIAL", list(1, 2, 0, 0, hour));
        want("RL.LOG log 2 1h 1 SHADOW", list(1, 2, 0, hour, hour));
    }

    private void acquire() throws Exception {
        Range hour = lately(3_600_000);
        want("RL.ACQUIRE places 1 1h a", list(1, 1, 0, 0, 3_600_000));
        want("RL.ACQUIRE places 1 1h b", list(0, 1, 0, hour, hour));
        want("RL.RELEASE places a", 1);
        want("RL.RELEASE places a", 0);
        want("RL.ACQUIRE places 1 1h b", list(1, 1, 0, 0, 3_600_000));
    }

    private void all() throws Exception {
        String both = "RL.ALL TOKEN all:user 10 10/h 1 LOG all:ip 1 1h 1";
        want(both, list(1, 1, FRESH, list(1, 1, 0, 0, 3_600_000)));
        List<Object> user = list(1, 10, 9, 0, lately(360_000));
        List<Object> ip = list(0, 1, 0, lately(3_600_000), lately(3_600_000));
        want(both, list(0, 1, user, ip));
    }

    private void peek() throws Exception {
        want("RL.PEEK peek", null);
        want("RL.REFUND peek 1", null);
        want("RL.CHARGE peek 1", null);
        want("RL.TOKEN peek 10 10/h 4", list(1, 10, 6, 0, 1_440_000));
        want("RL.PEEK peek", list("TOKEN", 10, 6, 0, lately(1_440_000)));
        want("RL.REFUND peek 2", list(1, 10, 8, 0, lately(720_000)));
        want("RL.CHARGE peek 10", list(1, 10, 0, lately(720_000), lately(4_320_000)));
        want("RL.RESET peek", 1);
    }

    private void errors() throws Exception {
        wantError("RL.NOSUCH k", "ERR unknown command 'RL.NOSUCH', with args beginning with: 'k'");
        wantError("RL.TOKEN k", Want.ARGUMENTS);
        wantError("RL.TOKEN k -1 1", "ERR capacity must be a whole number from 0 to 1000000000000, got '-1'");
        want("PING", "PONG");
    }

    private void wrongType() throws Exception {
        want("RL.TOKEN type 10 10/h", FRESH);
        wantError("RL.FIXED type 10 60", "WRONGTYPE");
    }
}
