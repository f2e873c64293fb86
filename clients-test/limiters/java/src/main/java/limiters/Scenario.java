package limiters;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** The scenario of a limiter, as ../README.md describes it. */
final class Scenario {
    /** Seconds, so long that no limit of burst and crowd is refilled. */
    static final int DAY = 86400;

    /** A library's limiter. */
    interface Limiter {
        /** Returns the remaining requests, or -1 if the request is denied. */
        long take(String key) throws Exception;
    }

    /** Creates a limiter with connections of its own. */
    interface Factory {
        Limiter create(int limit, int seconds) throws Exception;
    }

    private Scenario() {}

    /** Prints the transcript of the limiters of a factory. */
    static void play(Factory factory) throws Exception {
        Limiter limiter = factory.create(5, DAY);
        System.out.println("burst" + inTurn(limiter, "a", 8));
        Limiter other = factory.create(5, DAY);
        System.out.println("keys " + sign(other.take("b")) + " " + sign(other.take("a")) + " " + sign(limiter.take("b")));
        System.out.println("crowd " + crowd(factory.create(20, DAY)) + " of 50");
        refill(factory.create(3, 1));
    }

    private static int crowd(Limiter limiter) throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(50);
        List<Callable<Long>> calls = new ArrayList<>();
        for (int n = 0; n < 50; n++) {
            calls.add(() -> limiter.take("c"));
        }
        int allowed = 0;
        for (Future<Long> taken : threads.invokeAll(calls)) {
            allowed += taken.get() >= 0 ? 1 : 0;
        }
        threads.shutdown();
        return allowed;
    }

    /** Uses up a limiter of 3 requests per second, and waits until it is full again. */
    private static void refill(Limiter limiter) throws Exception {
        for (int n = 0; limiter.take("d") >= 0; n++) {
            if (n == 100) {
                System.out.println("refill: never denied");
                return;
            }
        }
        Thread.sleep(2200);
        System.out.println("refill" + inTurn(limiter, "d", 3).replaceAll("\\d", ""));
    }

    private static String inTurn(Limiter limiter, String key, int times) throws Exception {
        StringBuilder line = new StringBuilder();
        for (int n = 0; n < times; n++) {
            line.append(" ").append(sign(limiter.take(key)));
        }
        return line.toString();
    }

    private static String sign(long remaining) {
        return remaining < 0 ? "-" : "+" + remaining;
    }
}
