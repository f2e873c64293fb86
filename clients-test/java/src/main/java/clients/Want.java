package clients;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Callable;

/** What is wanted of a reply: integers, ranges of them, strings, null, and lists of all these. */
final class Want {
    private Want() {}

    /** Got and want differ. */
    static final class Mismatch extends RuntimeException {
        Mismatch(Object got, Object want) {
            super("got " + show(got) + ", want " + show(want));
        }
    }

    /** An integer from low to high. */
    record Range(long low, long high) {}

    /** So many milliseconds, or up to a minute less: what is left of them that a case has just seen. */
    static Range lately(long millis) {
        return new Range(millis - 60_000, millis);
    }

    static List<Object> list(Object... items) {
        return Arrays.asList(items);
    }

    /** The first answer for RL.TOKEN with 10 10/h. */
    static final List<Object> FRESH = list(1, 10, 9, 0, 360_000);

    /** What RL.PEEK tells of that. */
    static final List<Object> PEEKED = list("TOKEN", 10, 9, 0, lately(360_000));

    /** The error for an RL.TOKEN that is too short. */
    static final String ARGUMENTS = "ERR wrong number of arguments for 'rl.token' command; usage: RL.TOKEN key capacity rate [n] [PARTIAL] [SHADOW]";

    /** Fails unless a reply is what is wanted. */
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

    /** Fails unless these are the answers to RL.TOKEN with 50 50/h, in a pipeline of 100. */
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

    /** Fails unless all keys are among those found. */
    static void found(List<byte[]> found, List<byte[]> keys) {
        for (byte[] key : keys) {
            if (found.stream().noneMatch(other -> Arrays.equals(other, key))) {
                throw new Mismatch(found, key);
            }
        }
    }

    /**
     * Fails unless there is an error of this text, or of this code followed by anything.
     * Clients may leave out "ERR " and a blank at the end.
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

    /** The text of what was at the root of an error. */
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
