package limitsrv;

import java.time.Duration;
import java.util.List;

/**
 * A number of requests in a time, for each address or key.
 *
 * @param requests from 1 on
 * @param per from a millisecond on
 * @param burst the capacity of the bucket of TOKEN; the other algorithms do not use it
 * @param algorithm TOKEN, or FIXED, SLIDE or LOG, which count in windows of per
 */
public record Limit(long requests, Duration per, long burst, String algorithm) {
    private static final List<String> ALGORITHMS = List.of("TOKEN", "FIXED", "SLIDE", "LOG");

    public Limit {
        if (requests < 1 || per.toMillis() < 1 || burst < 1) {
            throw new IllegalArgumentException("limitsrv: a limit needs requests and a burst from 1 on and a time"
                    + " from 1 ms on, got " + requests + " per " + per + " with a burst of " + burst);
        }
        if (!ALGORITHMS.contains(algorithm)) {
            throw new IllegalArgumentException("limitsrv: the algorithm is of " + ALGORITHMS + ", got " + algorithm);
        }
    }

    /** Returns a token bucket of this capacity, which is full again after per. */
    public static Limit of(long requests, Duration per) {
        return new Limit(requests, per, requests, "TOKEN");
    }

    public Limit withBurst(long burst) {
        return new Limit(requests, per, burst, algorithm);
    }

    public Limit withAlgorithm(String algorithm) {
        return new Limit(requests, per, burst, algorithm);
    }

    private boolean isBucket() { return algorithm.equals("TOKEN"); }

    private long quota() { return isBucket() ? burst : requests; }

    /** Returns the arguments for one token of a key, in the form of RL.ALL. */
    List<String> arguments(String key) {
        String time = per.toMillis() + "ms";
        return List.of(algorithm, key, Long.toString(quota()), isBucket() ? requests + "/" + time : time, "1");
    }

    /** Returns an item of the header RateLimit-Policy: w is the window, for a bucket the time to fill it. */
    String policy(String name) {
        double millis = isBucket() ? (double) per.toMillis() * burst / requests : per.toMillis();
        return "\"" + name + "\";q=" + quota() + ";w=" + (long) Math.ceil(millis / 1000);
    }
}
