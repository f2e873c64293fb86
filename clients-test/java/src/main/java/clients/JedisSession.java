package clients;

import static clients.Session.given;
import static clients.Want.FRESH;
import static clients.Want.PEEKED;
import static clients.Want.list;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import redis.clients.jedis.AbstractPipeline;
import redis.clients.jedis.AbstractTransaction;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Protocol;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.RedisClusterClient;
import redis.clients.jedis.RedisProtocol;
import redis.clients.jedis.Response;
import redis.clients.jedis.UnifiedJedis;
import redis.clients.jedis.commands.ProtocolCommand;
import redis.clients.jedis.csc.CacheConfig;
import redis.clients.jedis.resps.ScanResult;
import redis.clients.jedis.util.KeyValue;
import redis.clients.jedis.util.SafeEncoder;

/** The session of Jedis. */
final class JedisSession {
    private JedisSession() {}

    private static final ProtocolCommand TOKEN = command("RL.TOKEN");
    private static final ProtocolCommand LOG = command("RL.LOG");
    private static final ProtocolCommand PEEK = command("RL.PEEK");

    private static ProtocolCommand command(String name) {
        return () -> SafeEncoder.encode(name);
    }

    public static void main(String[] args) {
        Session session = new Session();
        HostAndPort addr = HostAndPort.from(given("ADDR"));
        RedisClient jedis = RedisClient.create(addr);
        session.test("connect", () -> {
            Want.equal(jedis.ping(), "PONG");
            Want.equal(session.logged, List.of());
        });
        Decisions.test(session, words ->
                jedis.sendCommand(command(words[0]), Arrays.copyOfRange(words, 1, words.length)));
        session.test("pipeline", () -> pipeline(jedis));
        session.test("transaction", () -> transaction(jedis));
        session.test("binary-keys", () -> binaryKeys(jedis));
        session.test("resp2", () -> resp2(addr));
        session.test("resp3", () -> resp3(addr));
        session.test("reconnect", JedisSession::reconnect);
        session.test("wrong-password", JedisSession::wrongPassword);
        session.test("password", JedisSession::password);
        session.cluster(JedisSession::cluster);
        session.test("cache", () -> cache(addr, jedis));
        session.end();
    }

    private static void cache(HostAndPort addr, RedisClient jedis) throws Exception {
        DefaultJedisClientConfig three = DefaultJedisClientConfig.builder().protocol(RedisProtocol.RESP3).build();
        CacheConfig config = CacheConfig.builder().maxSize(100).build();
        try (RedisClient keeping = RedisClient.builder().hostAndPort(addr).clientConfig(three).cacheConfig(config).build()) {
            Caches.test(
                    keeping::get,
                    () -> keeping.getCache().getStats().getHitCount(),
                    words -> jedis.sendCommand(command(words[0]), Arrays.copyOfRange(words, 1, words.length)));
        }
    }

    /** Takes n tokens of a bucket of 10 with 10 per hour; key is a String or byte[]. */
    private static CommandArguments take(Object key, int n) {
        return new CommandArguments(TOKEN).key(key).add(10).add("10/h").add(n);
    }

    private static CommandArguments peek(Object key) {
        return new CommandArguments(PEEK).key(key);
    }

    private static void pipeline(RedisClient jedis) {
        List<Response<Object>> responses = new ArrayList<>();
        try (AbstractPipeline pipeline = jedis.pipelined()) {
            for (int i = 0; i < 100; i++) {
                responses.add(pipeline.sendCommand(TOKEN, "pipeline", "50", "50/h"));
            }
        }
        Want.piped(responses.stream().map(Response::get).toList());
    }

    private static void transaction(RedisClient jedis) {
        try (AbstractTransaction both = jedis.multi()) {
            Response<Object> token = both.sendCommand(take("transaction:token", 4));
            Response<Object> log = both.sendCommand(LOG, "transaction:log", "2", "1h");
            both.exec();
            Want.reply(token.get(), list(1, 10, 6, 0, 1_440_000));
            Want.reply(log.get(), list(1, 2, 1, 0, 3_600_000));
        }
        try (AbstractTransaction tooShort = jedis.multi()) {
            tooShort.sendCommand(TOKEN, "transaction:token");
            Want.error(tooShort::exec, "EXECABORT");
        }
    }

    private static void binaryKeys(RedisClient jedis) {
        for (byte[] key : Session.binaryKeys()) {
            Want.reply(jedis.executeCommand(take(key, 1)), FRESH);
            Want.reply(jedis.executeCommand(peek(key)), PEEKED);
        }
        List<byte[]> found = new ArrayList<>();
        byte[] cursor = {'0'};
        do {
            ScanResult<byte[]> page = jedis.scan(cursor);
            found.addAll(page.getResult());
            cursor = page.getCursorAsBytes();
        } while (!Arrays.equals(cursor, new byte[] {'0'}));
        Want.found(found, Session.binaryKeys());
    }

    private static RedisClient speaking(HostAndPort addr, RedisProtocol protocol) {
        DefaultJedisClientConfig config = DefaultJedisClientConfig.builder().protocol(protocol).build();
        return RedisClient.builder().hostAndPort(addr).clientConfig(config).build();
    }

    private static void resp2(HostAndPort addr) {
        try (RedisClient jedis = speaking(addr, RedisProtocol.RESP2)) {
            List<?> hello = (List<?>) jedis.sendCommand(Protocol.Command.HELLO);
            Want.reply(hello.subList(4, 6), list("proto", 2));
            Want.reply(jedis.executeCommand(take("resp2", 1)), FRESH);
            Want.reply(jedis.executeCommand(peek("none")), null);
        }
    }

    private static void resp3(HostAndPort addr) {
        try (RedisClient jedis = speaking(addr, RedisProtocol.RESP3)) {
            List<?> hello = (List<?>) jedis.sendCommand(Protocol.Command.HELLO);
            KeyValue<?, ?> third = (KeyValue<?, ?>) hello.get(2);
            Want.reply(list(third.getKey(), third.getValue()), list("proto", 3));
            Want.reply(jedis.executeCommand(take("resp3", 1)), FRESH);
            Want.reply(jedis.executeCommand(peek("none")), null);
        }
    }

    private static void reconnect() throws Exception {
        try (RedisClient jedis = RedisClient.create(HostAndPort.from(given("RESTART_ADDR")))) {
            Want.reply(jedis.executeCommand(take("reconnect", 4)), list(1, 10, 6, 0, 1_440_000));
            Session.restart();
            Object again = Session.retry(() -> jedis.executeCommand(take("reconnect", 4)));
            Want.reply(again, list(1, 10, 6, 0, 1_440_000));
        }
    }

    private static RedisClient withPassword(String password) {
        DefaultJedisClientConfig config = DefaultJedisClientConfig.builder().password(password).build();
        HostAndPort addr = HostAndPort.from(given("PASSWORD_ADDR"));
        return RedisClient.builder().hostAndPort(addr).clientConfig(config).build();
    }

    private static void wrongPassword() {
        try (RedisClient wrong = withPassword("wrong")) {
            Want.error(wrong::ping, "WRONGPASS");
        }
        try (RedisClient none = RedisClient.create(HostAndPort.from(given("PASSWORD_ADDR")))) {
            Want.error(() -> none.executeCommand(take("password", 1)), "NOAUTH");
        }
    }

    private static void password() {
        try (RedisClient jedis = withPassword(given("PASSWORD"))) {
            Want.reply(jedis.executeCommand(take("password", 1)), FRESH);
        }
    }

    private static void cluster() {
        try (UnifiedJedis jedis = RedisClusterClient.create(HostAndPort.from(given("CLUSTER_ADDR")))) {
            for (String key : Session.clusterKeys()) {
                Want.reply(jedis.executeCommand(take(key, 1)), FRESH);
                Want.reply(jedis.executeCommand(peek(key)), PEEKED);
            }
        }
    }
}
