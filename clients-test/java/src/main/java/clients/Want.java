package clients;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Callable;

/** Checks of replies: integers, ranges of them, strings, null, and lists of all these. */
final class Want {
    private Want() {}

    /** A reply differs from the expected one. */
    static final class Mismatch extends RuntimeException {
        Mismatch(Object got, Object want) {
            super("got " + show(got) + ", want " + show(want));
        }
    }

    /** An integer from low to high. */
    record Range(long low, long high) {}

    /** A duration in milliseconds, or up to a minute less: the remainder of a time seen earlier in the case. */
    static Range lately(long millis) {
        return new Range(millis - 60_000, millis);
    }

    static List<Object> list(Object... items) {
        return Arrays.asList(items);
    }

    /** The first reply to RL.TOKEN with 10 10/h. */
    static final List<Object> FRESH = list(1, 10, 9, 0, 360_000);

    /** The reply of RL.PEEK after it. */
    static final List<Object> PEEKED = list("TOKEN", 10, 9, 0, lately(360_000));

    /** The error of an RL.TOKEN with too few arguments. */
    static final String ARGUMENTS = "ERR wrong number of arguments for 'rl.token' command; usage: RL.TOKEN key capacity rate [n] [PARTIAL] [SHADOW] [ONCE id [FOR duration]]";

    /** Fails unless a reply matches. */
    static void reply(Object got, Object want) {
        if (!matches(got, want)) {
            throw new Mismatch(got, want);
        }
    }

    private static boolean matches(Object got, Object want) {
        if (want instanceof Integer n) {
            return got instanceof Long m && m == (long) n;
        }
        if (want instanceof Range range) {
            return got instanceof Long n && range.low <= n && n <= range.high;
        }
        if (want instanceof String text) {
            return text.equals(got instanceof byte[] bytes ? new String(bytes, StandardCharsets.UTF_8) : got);
        }
        if (want instanceof List<?> wants) {
            if (!(got instanceof List<?> items) || items.size() != wants.size()) {
                return false;
            }
            for (int i = 0; i < wants.size(); i++) {
                if (!matches(items.get(i), wants.get(i))) {
                    return false;
                }
            }
            return true;
        }
        return got == null && want == null;
    }

    /** Fails unless these are the replies to a pipeline of 100 times RL.TOKEN with 50 50/h. */
    static void piped(List<?> replies) {
        equal(replies.size(), 100);
        for (int i = 0; i < 100; i++) {
            Range hour = new Range(0, 3_600_000);
            reply(replies.get(i), i < 50 ? list(1, 50, 49 - i, 0, hour) : list(0, 50, 0, lately(72_000), hour));
        }
    }

    static void equal(Object got, Object want) {
        if (!Objects.equals(got, want)) {
            throw new Mismatch(got, want);
        }
    }

    /** Fails unless all keys are found. */
    static void found(List<byte[]> found, List<byte[]> keys) {
        for (byte[] key : keys) {
            if (found.stream().noneMatch(other -> Arrays.equals(other, key))) {
                throw new Mismatch(found, key);
            }
        }
    }

    /**
     * Fails unless the error has this text, or this code followed by any text.
     * Clients may omit "ERR " and a trailing blank.
     */
    static void error(Callable<?> call, String want) {
        Object got;
        try {
            got = call.call();
        } catch (Exception error) {
            String text = text(error).stripTrailing();
            boolean isCode = !want.contains(" ") && text.startsWith(want + " ");
            if (isCode || text.equals(want) || want.equals("ERR " + text)) {
                return;
            }
            got = "error " + text;
        }
        throw new Mismatch(got, "error " + want);
    }

    /** Returns the text of the root cause of an error. */
    static String text(Throwable error) {
        while (error.getCause() != null) {
            error = error.getCause();
        }
        return String.valueOf(error.getMessage());
    }

    private static String show(Object value) {
        if (value instanceof List<?> items) {
            return items.stream().map(Want::show).toList().toString();
        }
        if (value instanceof byte[] bytes) {
            return '"' + new String(bytes, StandardCharsets.ISO_8859_1) + '"';
        }
        return String.valueOf(value);
    }
}
