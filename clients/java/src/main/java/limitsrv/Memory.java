package limitsrv;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;

/** Denied keys, at most MAX, each until the request would pass and at most for longest. Safe for threads. */
final class Memory {
    static final int MAX = 10_000;

    record Denial(Decision decision, long asked, long untilNanos) {}

    private final long longestMillis;
    final Map<String, Denial> entries = new LinkedHashMap<>() {
        @Override
        protected boolean removeEldestEntry(Map.Entry<String, Denial> eldest) {
            return size() > MAX;
        }
    };

    Memory(Duration longest) {
        longestMillis = longest.toMillis();
    }

    synchronized void put(String key, Decision decision, long asked) {
        long millis = decision.waitMillis() < 0 ? longestMillis : Math.min(longestMillis, decision.waitMillis());
        if (millis > 0) {
            entries.remove(key);
            entries.put(key, new Denial(decision, asked, asked + millis * 1_000_000));
        }
    }

    /** Returns the denial of a key as limitsrv would answer at now of System.nanoTime, or null. */
    synchronized Decision get(String key, long now) {
        Denial denial = entries.get(key);
        if (denial == null) {
            return null;
        }
        if (now - denial.untilNanos >= 0) {
            entries.remove(key);
            return null;
        }
        return denial.decision.after((now - denial.asked) / 1_000_000);
    }
}
