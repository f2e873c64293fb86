package clients;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.function.LongSupplier;

/** The case cache, of a client that keeps values. */
final class Caches {
    private Caches() {}

    interface Get {
        String get(String key) throws Exception;
    }

    private record Change(String want, String... command) {}

    private static final String KEY = "KEY";

    /** Changes of a key, with the value afterwards. */
    private static final Map<String, Change> CHANGES = new LinkedHashMap<>();

    static {
        CHANGES.put("set", new Change("new", "SET", KEY, "new"));
        CHANGES.put("delete", new Change(null, "DEL", KEY));
        CHANGES.put("expire", new Change(null, "PEXPIRE", KEY, "50"));
        CHANGES.put("script", new Change("new", "EVAL", "return redis.call('SET', KEYS[1], 'new')", "1", KEY));
        CHANGES.put("rename", new Change(null, "RENAME", KEY, "cache:renamed"));
        CHANGES.put("flush", new Change(null, "FLUSHALL"));
    }

    /** Reads by a client that keeps values, hits counts its kept ones, and other has no cache. */
    static void test(Get keeping, LongSupplier hits, Decisions.Ask other, String... except) throws Exception {
        for (Map.Entry<String, Change> change : CHANGES.entrySet()) {
            if (List.of(except).contains(change.getKey())) {
                continue;
            }
            String key = "cache:" + change.getKey();
            other.ask("SET", key, "old");
            until(key + " is kept", () -> {
                long before = hits.getAsLong();
                Want.equal(keeping.get(key), "old");
                return hits.getAsLong() == before + 1;
            });
            String[] command = change.getValue().command.clone();
            for (int i = 0; i < command.length; i++) {
                command[i] = command[i].equals(KEY) ? key : command[i];
            }
            other.ask(command);
            String want = change.getValue().want;
            until(key + " is " + want, () -> Objects.equals(keeping.get(key), want));
        }
    }

    /** Waits for an event, for up to 10 s. */
    private static void until(String event, Callable<Boolean> happens) throws Exception {
        boolean happened = happens.call();
        for (long end = System.nanoTime() + 10_000_000_000L; !happened && System.nanoTime() < end; happened = happens.call()) {
            Thread.sleep(5);
        }
        Want.equal(event + ": " + happened, event + ": true");
    }
}
