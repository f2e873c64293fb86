package limitsrv;

import io.lettuce.core.ClientOptions;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisURI;
import io.lettuce.core.SocketOptions;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.output.NestedMultiOutput;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.ProtocolKeyword;
import io.lettuce.core.protocol.ProtocolVersion;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;

/**
 * Asks one limitsrv server. It connects at the first request, and again by itself. It is safe for threads, and an
 * application needs one.
 */
public final class Limiter implements AutoCloseable {
    // After FAILURES_TO_PAUSE failures without a success between them, nothing is sent for PAUSE; then one request
    // is sent to try again.
    private static final int FAILURES_TO_PAUSE = 5;
    private static final long PAUSE = 250_000_000L; // ns
    private static final long REPORT_PERIOD = 10_000_000_000L; // ns at least, between two reports of errors

    /**
     * The options of a limiter.
     *
     * @param timeout the longest time that a request waits for limitsrv, connecting included
     * @param failClosed whether requests get 503 while limitsrv is unavailable; otherwise they pass
     * @param remember the longest time for which a denial is answered without asking again, at most until the
     *     request would pass; zero for none
     * @param onError gets errors of limitsrv, at most one in 10 s
     */
    public record Options(Duration timeout, boolean failClosed, Duration remember, Consumer<Throwable> onError) {
        /** Returns 100 ms, requests that pass, 10 s, and a warning of System.Logger. */
        public static Options defaults() {
            return new Options(Duration.ofMillis(100), false, Duration.ofSeconds(10), Options::warn);
        }

        public static void warn(Throwable error) {
            System.getLogger("limitsrv").log(System.Logger.Level.WARNING, "limitsrv failed: " + error);
        }
    }

    /** limitsrv did not answer in time, or not with a decision. */
    public static final class Unavailable extends Exception {
        Unavailable(String message, Throwable cause) {
            super(message, cause);
        }
    }

    final Options options;
    final Memory denied;
    private final RedisURI uri;
    private final RedisClient client = RedisClient.create();
    private final Set<String> names = new HashSet<>();
    private CompletableFuture<StatefulRedisConnection<String, String>> connection;
    private volatile int failures; // since the last success
    private long pausedUntil = System.nanoTime();
    private long reported = System.nanoTime() - REPORT_PERIOD;

    public Limiter(RedisURI uri, Options options) {
        this.uri = uri;
        this.options = options;
        denied = new Memory(options.remember);
        uri.setTimeout(options.timeout);
        client.setOptions(ClientOptions.builder()
                .autoReconnect(false) // connections are made anew below
                .protocolVersion(ProtocolVersion.RESP2)
                .socketOptions(SocketOptions.builder().connectTimeout(options.timeout).build())
                .build());
    }

    /** Takes the name of a limit, which two limits may not share: they would share a bucket. */
    synchronized void claim(String name) {
        if (name == null || !name.matches("[A-Za-z0-9._-]{1,64}")) {
            throw new IllegalArgumentException(
                    "limitsrv: a limit needs a name of 1 to 64 of A-Z a-z 0-9 . _ -, got " + name);
        }
        if (!names.add(name)) {
            throw new IllegalArgumentException("limitsrv: two limits have the name " + name
                    + " and would share their counters: use one limit for both, or another name");
        }
    }

    /** Sends a command that is answered by an array, and returns the reply within the timeout. */
    public List<Object> command(String name, List<String> arguments) throws Unavailable {
        CompletableFuture<StatefulRedisConnection<String, String>> used = connected();
        ProtocolKeyword keyword = () -> name.getBytes(StandardCharsets.US_ASCII);
        CommandArgs<String, String> args = new CommandArgs<>(StringCodec.UTF8);
        arguments.forEach(args::add);
        CompletableFuture<List<Object>> asked = used.thenCompose(some ->
                some.async().dispatch(keyword, new NestedMultiOutput<>(StringCodec.UTF8), args));
        try {
            List<Object> reply = asked.get(options.timeout.toNanos(), TimeUnit.NANOSECONDS);
            failures = 0;
            return reply;
        } catch (ExecutionException error) {
            if (error.getCause() instanceof RedisCommandExecutionException && !used.isCompletedExceptionally()) {
                failures = 0; // an answer in time
            } else {
                failed(used, true);
            }
            throw unavailable(error.getCause());
        } catch (TimeoutException error) {
            asked.cancel(false);
            failed(used, false);
            throw unavailable(new TimeoutException("no answer in " + options.timeout));
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
            throw new Unavailable("interrupted", error);
        }
    }

    private synchronized CompletableFuture<StatefulRedisConnection<String, String>> connected() throws Unavailable {
        long now = System.nanoTime();
        if (failures >= FAILURES_TO_PAUSE && now - pausedUntil < 0) {
            throw new Unavailable("not asked, because its last answers failed", null);
        }
        pausedUntil = now + PAUSE;
        if (connection == null) {
            connection = client.connectAsync(StringCodec.UTF8, uri).toCompletableFuture();
        }
        return connection;
    }

    private synchronized void failed(CompletableFuture<StatefulRedisConnection<String, String>> used, boolean broken) {
        failures++;
        pausedUntil = System.nanoTime() + PAUSE;
        if ((broken || failures >= FAILURES_TO_PAUSE) && connection == used) {
            connection = null;
            used.thenAccept(StatefulRedisConnection::closeAsync);
        }
    }

    private synchronized Unavailable unavailable(Throwable error) {
        if (System.nanoTime() - reported >= REPORT_PERIOD) {
            reported = System.nanoTime();
            options.onError.accept(error);
        }
        return new Unavailable(error.toString(), error);
    }

    /** One token of a key, and the policy's item in headers. */
    record Take(Limit limit, String key, String policy) {}

    /** Takes one token of each key or none. A key that is known to be denied is not asked for. */
    Decision takeAll(List<Take> takes) throws Unavailable {
        String policies = String.join(", ", takes.stream().map(Take::policy).toList());
        List<String> arguments = new ArrayList<>();
        long asked = System.nanoTime();
        for (Take take : takes) {
            Decision known = denied.get(take.key, asked);
            if (known != null) {
                return known;
            }
            arguments.addAll(take.limit.arguments(take.key));
        }
        List<Object> reply = command("RL.ALL", arguments);
        try {
            List<Decision> decisions = new ArrayList<>();
            for (Take take : takes) {
                Object row = reply.get(2 + decisions.size());
                Decision decision = Decision.parse(row, Decision.nameOf(take.policy), policies, "");
                decisions.add(decision);
                if (!decision.allowed()) {
                    denied.put(take.key, decision, asked);
                }
            }
            return decisions.get(((Long) reply.get(1)).intValue());
        } catch (RuntimeException error) {
            throw unavailable(new IllegalStateException("an unexpected reply: " + reply, error));
        }
    }

    /** Decides by the rules of a domain. */
    Decision check(String domain, List<String> attributes) throws Unavailable {
        List<String> arguments = new ArrayList<>(List.of(domain));
        arguments.addAll(attributes);
        String key = String.join("\0", arguments);
        long asked = System.nanoTime();
        Decision known = denied.get(key, asked);
        if (known != null) {
            return known;
        }
        arguments.add("HEADERS");
        List<Object> reply = command("RL.CHECK", arguments);
        try {
            String name = "";
            String policies = "";
            List<?> headers = (List<?>) reply.get(7);
            for (int i = 0; i < headers.size(); i += 2) {
                String value = headers.get(i + 1).toString();
                name = headers.get(i).equals("RateLimit") ? Decision.nameOf(value) : name;
                policies = headers.get(i).equals("RateLimit-Policy") ? value : policies;
            }
            Decision decision = Decision.parse(reply, name, policies, reply.get(6).toString());
            if (!decision.allowed()) {
                denied.put(key, decision, asked);
            }
            return decision;
        } catch (RuntimeException error) {
            throw unavailable(new IllegalStateException("an unexpected reply: " + reply, error));
        }
    }

    @Override
    public void close() {
        client.shutdown(Duration.ZERO, Duration.ofSeconds(2));
    }
}
