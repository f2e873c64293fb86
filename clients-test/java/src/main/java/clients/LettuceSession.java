package clients;

import static clients.Session.given;
import static clients.Want.FRESH;
import static clients.Want.PEEKED;
import static clients.Want.list;

import io.lettuce.core.ClientOptions;
import io.lettuce.core.LettuceFutures;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisFuture;
import io.lettuce.core.RedisURI;
import io.lettuce.core.ScanIterator;
import io.lettuce.core.TrackingArgs;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.sync.BaseRedisCommands;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.cluster.RedisClusterClient;
import io.lettuce.core.cluster.api.StatefulRedisClusterConnection;
import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.codec.RedisCodec;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.output.IntegerOutput;
import io.lettuce.core.output.NestedMultiOutput;
import io.lettuce.core.output.ObjectOutput;
import io.lettuce.core.output.StatusOutput;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.CommandType;
import io.lettuce.core.protocol.ProtocolKeyword;
import io.lettuce.core.protocol.ProtocolVersion;
import io.lettuce.core.support.caching.CacheAccessor;
import io.lettuce.core.support.caching.CacheFrontend;
import io.lettuce.core.support.caching.ClientSideCaching;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/** The session of Lettuce. */
final class LettuceSession {
    private LettuceSession() {}

    private static final RedisCodec<String, String> UTF8 = StringCodec.UTF8;
    private static final ProtocolKeyword TOKEN = command("RL.TOKEN");
    private static final ProtocolKeyword LOG = command("RL.LOG");
    private static final ProtocolKeyword PEEK = command("RL.PEEK");

    private static ProtocolKeyword command(String name) {
        return new ProtocolKeyword() {
            @Override
            public byte[] getBytes() {
                return name.getBytes();
            }

            @Override
            public String toString() {
                return name;
            }
        };
    }

    public static void main(String[] args) {
        Session session = new Session();
        RedisClient client = RedisClient.create(uri("ADDR"));
        StatefulRedisConnection<String, String> connection = client.connect();
        session.test("connect", () -> {
            Want.equal(connection.sync().ping(), "PONG");
            Want.equal(session.logged, List.of());
        });
        Decisions.test(session, asking(connection));
        session.test("pipeline", () -> pipeline(connection));
        session.test("transaction", () -> transaction(connection.sync()));
        session.test("binary-keys", () -> binaryKeys(client));
        session.test("resp2", LettuceSession::resp2);
        session.test("resp3", LettuceSession::resp3);
        session.test("reconnect", LettuceSession::reconnect);
        session.test("wrong-password", LettuceSession::wrongPassword);
        session.test("password", LettuceSession::password);
        session.cluster(LettuceSession::cluster);
        session.test("cache", () -> cache(client, connection));
        session.end();
    }

    private static Decisions.Ask asking(StatefulRedisConnection<String, String> connection) {
        return words -> {
            CommandArgs<String, String> rest = new CommandArgs<>(UTF8);
            for (int i = 1; i < words.length; i++) {
                rest.add(words[i]);
            }
            return send(connection.sync(), words[0], rest);
        };
    }

    private static void cache(RedisClient client, StatefulRedisConnection<String, String> other) throws Exception {
        AtomicLong hits = new AtomicLong();
        Map<String, String> values = new ConcurrentHashMap<>() {
            @Override
            public String get(Object key) {
                String value = super.get(key);
                if (value != null) {
                    hits.incrementAndGet();
                }
                return value;
            }
        };
        try (StatefulRedisConnection<String, String> keeping = client.connect()) {
            CacheFrontend<String, String> cache =
                    ClientSideCaching.enable(CacheAccessor.forMap(values), keeping, TrackingArgs.Builder.enabled());
            // CacheFrontend can't read the message of FLUSHALL, which has a null in place of keys.
            Caches.test(cache::get, hits::get, asking(other), "flush");
        }
    }

    private static RedisURI uri(String server) {
        return RedisURI.create("redis://" + given(server));
    }

    /** Returns the reply to a command, of a type that the caller selects. */
    private static Object send(RedisCommands<String, String> commands, String name, CommandArgs<String, String> args) {
        ProtocolKeyword command = command(name);
        return switch (name) {
            case "PING" -> commands.dispatch(command, new StatusOutput<>(UTF8), args);
            case "RL.RELEASE", "RL.RESET" -> commands.dispatch(command, new IntegerOutput<>(UTF8), args);
            default -> orNull(commands.dispatch(command, new NestedMultiOutput<>(UTF8), args));
        };
    }

    /** NestedMultiOutput returns an empty list for the null of RESP2, and a list of null for the null of RESP3. */
    private static List<Object> orNull(List<Object> reply) {
        return reply.isEmpty() || reply.get(0) == null ? null : reply;
    }

    /** Takes n tokens of a bucket of 10 with 10 per hour. */
    private static <K> Object take(BaseRedisCommands<K, K> commands, RedisCodec<K, K> codec, K key, int n) {
        CommandArgs<K, K> args = new CommandArgs<>(codec).addKey(key).add(10).add("10/h").add(n);
        return commands.dispatch(TOKEN, new NestedMultiOutput<>(codec), args);
    }

    private static <K> Object peek(BaseRedisCommands<K, K> commands, RedisCodec<K, K> codec, K key) {
        return orNull(commands.dispatch(PEEK, new NestedMultiOutput<>(codec), new CommandArgs<>(codec).addKey(key)));
    }

    private static void pipeline(StatefulRedisConnection<String, String> connection) throws Exception {
        connection.setAutoFlushCommands(false);
        List<RedisFuture<List<Object>>> futures = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            CommandArgs<String, String> args = new CommandArgs<>(UTF8).addKey("pipeline").add(50).add("50/h");
            futures.add(connection.async().dispatch(TOKEN, new NestedMultiOutput<>(UTF8), args));
        }
        connection.flushCommands();
        connection.setAutoFlushCommands(true);
        LettuceFutures.awaitAll(Duration.ofSeconds(10), futures.toArray(RedisFuture[]::new));
        List<Object> replies = new ArrayList<>();
        for (RedisFuture<List<Object>> future : futures) {
            replies.add(future.get());
        }
        Want.piped(replies);
    }

    private static void transaction(RedisCommands<String, String> commands) {
        commands.multi();
        CommandArgs<String, String> token = new CommandArgs<>(UTF8).addKey("transaction:token");
        commands.dispatch(TOKEN, new NestedMultiOutput<>(UTF8), token.add(10).add("10/h").add(4));
        CommandArgs<String, String> log = new CommandArgs<>(UTF8).addKey("transaction:log");
        commands.dispatch(LOG, new NestedMultiOutput<>(UTF8), log.add(2).add("1h"));
        List<Object> replies = commands.exec().stream().toList();
        Want.reply(replies, list(list(1, 10, 6, 0, 1_440_000), list(1, 2, 1, 0, 3_600_000)));

        commands.multi();
        CommandArgs<String, String> tooShort = new CommandArgs<>(UTF8).addKey("transaction:token");
        commands.dispatch(TOKEN, new NestedMultiOutput<>(UTF8), tooShort);
        Want.error(commands::exec, "EXECABORT");
    }

    private static void binaryKeys(RedisClient client) {
        RedisCodec<byte[], byte[]> bytes = ByteArrayCodec.INSTANCE;
        try (StatefulRedisConnection<byte[], byte[]> connection = client.connect(bytes)) {
            RedisCommands<byte[], byte[]> commands = connection.sync();
            for (byte[] key : Session.binaryKeys()) {
                Want.reply(take(commands, bytes, key, 1), FRESH);
                Want.reply(peek(commands, bytes, key), PEEKED);
            }
            List<byte[]> found = new ArrayList<>();
            ScanIterator.scan(commands).forEachRemaining(found::add);
            Want.found(found, Session.binaryKeys());
        }
    }

    private static void resp2() {
        try (RedisClient client = speaking(ProtocolVersion.RESP2)) {
            RedisCommands<String, String> commands = client.connect().sync();
            List<?> hello = (List<?>) commands.dispatch(CommandType.HELLO, new ObjectOutput<>(UTF8));
            Want.reply(hello.subList(4, 6), list("proto", 2));
            Want.reply(take(commands, UTF8, "resp2", 1), FRESH);
            Want.reply(peek(commands, UTF8, "none"), null);
        }
    }

    private static void resp3() {
        try (RedisClient client = speaking(ProtocolVersion.RESP3)) {
            RedisCommands<String, String> commands = client.connect().sync();
            Map<?, ?> hello = (Map<?, ?>) commands.dispatch(CommandType.HELLO, new ObjectOutput<>(UTF8));
            Want.reply(hello.get("proto"), 3);
            Want.reply(take(commands, UTF8, "resp3", 1), FRESH);
            Want.reply(peek(commands, UTF8, "none"), null);
        }
    }

    private static RedisClient speaking(ProtocolVersion version) {
        RedisClient client = RedisClient.create(uri("ADDR"));
        client.setOptions(ClientOptions.builder().protocolVersion(version).build());
        return client;
    }

    private static void reconnect() throws Exception {
        try (RedisClient client = RedisClient.create(uri("RESTART_ADDR"))) {
            RedisCommands<String, String> commands = client.connect().sync();
            Want.reply(take(commands, UTF8, "reconnect", 4), list(1, 10, 6, 0, 1_440_000));
            Session.restart();
            Object again = Session.retry(() -> take(commands, UTF8, "reconnect", 4));
            Want.reply(again, list(1, 10, 6, 0, 1_440_000));
        }
    }

    /** The client fails when connecting, before any command. */
    private static void wrongPassword() {
        RedisURI uri = uri("PASSWORD_ADDR");
        try (RedisClient none = RedisClient.create(uri)) {
            Want.error(none::connect, "NOAUTH");
        }
        try (RedisClient wrong = RedisClient.create(RedisURI.builder(uri).withPassword("wrong".toCharArray()).build())) {
            Want.error(wrong::connect, "WRONGPASS");
        }
    }

    private static void password() {
        RedisURI uri = RedisURI.builder(uri("PASSWORD_ADDR")).withPassword(given("PASSWORD").toCharArray()).build();
        try (RedisClient client = RedisClient.create(uri)) {
            Want.reply(take(client.connect().sync(), UTF8, "password", 1), FRESH);
        }
    }

    private static void cluster() {
        try (RedisClusterClient client = RedisClusterClient.create(uri("CLUSTER_ADDR"));
                StatefulRedisClusterConnection<String, String> connection = client.connect()) {
            for (String key : Session.clusterKeys()) {
                Want.reply(take(connection.sync(), UTF8, key, 1), FRESH);
                Want.reply(peek(connection.sync(), UTF8, key), PEEKED);
            }
        }
    }
}
