package limitsrv;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * An answer of limitsrv, for the binding limit.
 *
 * @param limit -1 without a limit
 * @param waitMillis -1 if the request can never pass
 * @param name quoted, as in the header RateLimit; empty without a limit
 * @param policies the header RateLimit-Policy; empty without a limit
 * @param reason of a denial by rules, otherwise empty
 */
record Decision(boolean allowed, long limit, long remaining, long waitMillis, long resetMillis, String name,
        String policies, String reason) {

    /** Reads the five integers at the begin of a reply. */
    static Decision parse(Object reply, String name, String policies, String reason) {
        Long[] five = ((List<?>) reply).subList(0, 5).toArray(new Long[0]);
        return new Decision(five[0] != 0, five[1], five[2], five[3], five[4], name, policies, reason);
    }

    /** Returns the quoted name at the begin of an item of the headers RateLimit and RateLimit-Policy. */
    static String nameOf(String item) {
        return item.replaceFirst(";[rq]=[^\"]*$", "");
    }

    /** Returns the same denial as limitsrv would answer later. */
    Decision after(long millis) {
        long wait = waitMillis < 0 ? waitMillis : Math.max(0, waitMillis - millis);
        return new Decision(allowed, limit, remaining, wait, Math.max(0, resetMillis - millis), name, policies, reason);
    }

    private static long seconds(long millis) {
        return (millis + 999) / 1000;
    }

    private String state() {
        long left = allowed ? seconds(resetMillis) : Math.max(1, seconds(waitMillis));
        return name + ";r=" + remaining + (waitMillis < 0 ? "" : ";t=" + left);
    }

    /**
     * Returns the headers of a response after these decisions, the last of which may be a denial. X-RateLimit-*
     * are of the limit that denies, or has the least remaining.
     */
    static Map<String, String> headers(List<Decision> decisions) {
        Map<String, String> headers = new LinkedHashMap<>();
        Decision last = decisions.get(decisions.size() - 1);
        Decision shown = last;
        for (Decision other : !last.allowed && last.limit >= 0 ? List.<Decision>of() : decisions) {
            if (other.limit >= 0 && (shown.limit < 0 || other.remaining < shown.remaining)) {
                shown = other;
            }
        }
        if (shown.limit >= 0) {
            headers.put("X-RateLimit-Limit", Long.toString(shown.limit));
            headers.put("X-RateLimit-Remaining", Long.toString(shown.remaining));
            headers.put("X-RateLimit-Reset", Long.toString(seconds(shown.resetMillis)));
        }
        List<Decision> named = decisions.stream().filter(some -> !some.name.isEmpty()).toList();
        if (!named.isEmpty()) {
            headers.put("RateLimit-Policy", named.stream().map(Decision::policies).collect(Collectors.joining(", ")));
            headers.put("RateLimit", named.stream().map(Decision::state).collect(Collectors.joining(", ")));
        }
        if (!last.allowed && last.waitMillis >= 0) {
            headers.put("Retry-After", Long.toString(Math.max(1, seconds(last.waitMillis))));
        }
        return headers;
    }
}
