package clients;

import static clients.Session.given;
import static clients.Want.FRESH;
import static clients.Want.PEEKED;
import static clients.Want.list;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.redisson.Redisson;
import org.redisson.api.BatchOptions;
import org.redisson.api.BatchOptions.ExecutionMode;
import org.redisson.api.RFuture;
import org.redisson.api.redisnode.RedisNodes;
import org.redisson.client.RedisException;
import org.redisson.client.codec.ByteArrayCodec;
import org.redisson.client.codec.Codec;
import org.redisson.client.codec.StringCodec;
import org.redisson.client.protocol.RedisCommand;
import org.redisson.client.protocol.decoder.ObjectListReplayDecoder;
import org.redisson.command.CommandAsyncExecutor;
import org.redisson.command.CommandBatchService;
import org.redisson.config.Config;
import org.redisson.config.Protocol;

/** The session of Redisson. Only its executor has a method for unknown commands. */
final class RedissonSession {
    private RedissonSession() {}

    private static final RedisCommand<Object> TOKEN = command("RL.TOKEN");
    private static final RedisCommand<Object> LOG = command("RL.LOG");
    private static final RedisCommand<Object> PEEK = command("RL.PEEK");

    @SuppressWarnings({"unchecked", "rawtypes"})
    private static RedisCommand<Object> command(String name) {
        return new RedisCommand(name, new ObjectListReplayDecoder<>());
    }

    public static void main(String[] args) {
        Session session = new Session();
        Redisson redisson = create(server("ADDR"));
        CommandAsyncExecutor executor = redisson.getCommandExecutor();
        session.test("connect", () -> {
            Want.equal(redisson.getRedisNodes(RedisNodes.SINGLE).pingAll(), true);
            Want.equal(session.logged, List.of());
        });
        Decisions.test(session, words -> {
            String key = words.length > 1 ? words[1] : "";
            Object[] rest = Arrays.copyOfRange(words, 1, words.length, Object[].class);
            try {
                return orNull(executor.get(executor.writeAsync(key, StringCodec.INSTANCE, command(words[0]), rest)));
            } catch (RedisException error) {
                throw new RedisException(said(error));
            }
        });
        session.test("pipeline", () -> pipeline(executor));
        session.test("transaction", () -> transaction(executor));
        session.test("binary-keys", () -> binaryKeys(redisson));
        session.test("resp2", RedissonSession::resp2);
        session.test("resp3", RedissonSession::resp3);
        session.test("reconnect", RedissonSession::reconnect);
        session.test("wrong-password", RedissonSession::wrongPassword);
        session.test("password", RedissonSession::password);
        session.cluster(RedissonSession::cluster);
        session.end();
    }

    private static Config server(String name) {
        Config config = new Config();
        config.useSingleServer().setAddress("redis://" + given(name));
        return config;
    }

    private static Redisson create(Config config) {
        return (Redisson) Redisson.create(config);
    }

    /** Returns the server's error, to which the client appends the connection and the command. */
    private static String said(RedisException error) {
        return error.getMessage().replaceFirst("\\. channel: .*", "");
    }

    /** The client returns an empty list for the null array of RESP2. */
    private static Object orNull(Object reply) {
        return List.of().equals(reply) ? null : reply;
    }

    private static Object send(CommandAsyncExecutor executor, RedisCommand<Object> command, String key, Object... rest) {
        return executor.get(queue(executor, command, key, rest));
    }

    private static RFuture<Object> queue(
            CommandAsyncExecutor executor, RedisCommand<Object> command, String key, Object... rest) {
        List<Object> args = new ArrayList<>(List.of(key));
        args.addAll(Arrays.asList(rest));
        return executor.writeAsync(key, StringCodec.INSTANCE, command, args.toArray());
    }

    private static Object token(Redisson redisson, String key) {
        return send(redisson.getCommandExecutor(), TOKEN, key, 10, "10/h");
    }

    private static void pipeline(CommandAsyncExecutor executor) {
        CommandBatchService batch = executor.createCommandBatchService(BatchOptions.defaults());
        for (int i = 0; i < 100; i++) {
            queue(batch, TOKEN, "pipeline", 50, "50/h");
        }
        Want.piped(batch.execute().getResponses());
    }

    private static CommandBatchService atomic(CommandAsyncExecutor executor) {
        return executor.createCommandBatchService(
                BatchOptions.defaults().executionMode(ExecutionMode.IN_MEMORY_ATOMIC));
    }

    private static void transaction(CommandAsyncExecutor executor) {
        CommandBatchService both = atomic(executor);
        queue(both, TOKEN, "transaction:token", 10, "10/h", 4);
        queue(both, LOG, "transaction:log", 2, "1h");
        Want.reply(both.execute().getResponses(), list(list(1, 10, 6, 0, 1_440_000), list(1, 2, 1, 0, 3_600_000)));

        CommandBatchService tooShort = atomic(executor);
        queue(tooShort, TOKEN, "transaction:token");
        Want.error(tooShort::execute, "EXECABORT");
    }

    private static void binaryKeys(Redisson redisson) {
        Codec bytes = ByteArrayCodec.INSTANCE;
        CommandAsyncExecutor executor = redisson.getCommandExecutor();
        for (byte[] key : Session.binaryKeys()) {
            Want.reply(executor.get(executor.writeAsync(key, bytes, TOKEN, key, 10, "10/h")), FRESH);
            Want.reply(executor.get(executor.writeAsync(key, bytes, PEEK, key)), PEEKED);
        }
        List<byte[]> found = new ArrayList<>();
        byte[] cursor = {'0'};
        do {
            List<?> page = (List<?>) executor.get(executor.writeAsync("", bytes, command("SCAN"), (Object) cursor));
            cursor = (byte[]) page.get(0);
            ((List<?>) page.get(1)).forEach(key -> found.add((byte[]) key));
        } while (!Arrays.equals(cursor, new byte[] {'0'}));
        Want.found(found, Session.binaryKeys());
    }

    private static void resp2() {
        Redisson redisson = create(server("ADDR").setProtocol(Protocol.RESP2));
        List<?> hello = (List<?>) hello(redisson);
        Want.reply(hello.subList(4, 6), list("proto", 2));
        Want.reply(token(redisson, "resp2"), FRESH);
        Want.reply(orNull(send(redisson.getCommandExecutor(), PEEK, "none")), null);
        redisson.shutdown();
    }

    private static void resp3() {
        Redisson redisson = create(server("ADDR").setProtocol(Protocol.RESP3));
        List<?> hello = (List<?>) hello(redisson);
        Want.reply(hello.subList(4, 6), list("proto", 3));
        Want.reply(token(redisson, "resp3"), FRESH);
        Want.reply(orNull(send(redisson.getCommandExecutor(), PEEK, "none")), null);
        redisson.shutdown();
    }

    /** The client returns a list for both an array and a map. */
    private static Object hello(Redisson redisson) {
        CommandAsyncExecutor executor = redisson.getCommandExecutor();
        return executor.get(executor.writeAsync("", StringCodec.INSTANCE, command("HELLO")));
    }

    private static void reconnect() throws Exception {
        Redisson redisson = create(server("RESTART_ADDR"));
        CommandAsyncExecutor executor = redisson.getCommandExecutor();
        Want.reply(send(executor, TOKEN, "reconnect", 10, "10/h", 4), list(1, 10, 6, 0, 1_440_000));
        Session.restart();
        Object again = Session.retry(() -> send(executor, TOKEN, "reconnect", 10, "10/h", 4));
        Want.reply(again, list(1, 10, 6, 0, 1_440_000));
        redisson.shutdown();
    }

    /** The client fails when connecting, before any command. */
    private static void wrongPassword() {
        Want.error(() -> create(server("PASSWORD_ADDR").setPassword("wrong")), "WRONGPASS");
        Want.error(() -> create(server("PASSWORD_ADDR")), "NOAUTH");
    }

    private static void password() {
        Redisson redisson = create(server("PASSWORD_ADDR").setPassword(given("PASSWORD")));
        Want.reply(token(redisson, "password"), FRESH);
        redisson.shutdown();
    }

    private static void cluster() {
        Config config = new Config();
        config.useClusterServers().addNodeAddress("redis://" + given("CLUSTER_ADDR"));
        Redisson redisson = create(config);
        for (String key : Session.clusterKeys()) {
            Want.reply(token(redisson, key), FRESH);
            Want.reply(send(redisson.getCommandExecutor(), PEEK, key), PEEKED);
        }
        redisson.shutdown();
    }
}
