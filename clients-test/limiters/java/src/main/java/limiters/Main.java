package limiters;

import io.github.bucket4j.Bandwidth;
import io.github.bucket4j.BucketConfiguration;
import io.github.bucket4j.ConsumptionProbe;
import io.github.bucket4j.distributed.proxy.ProxyManager;
import io.github.bucket4j.redis.jedis.Bucket4jJedis;
import io.github.bucket4j.redis.lettuce.Bucket4jLettuce;
import io.github.bucket4j.redis.redisson.Bucket4jRedisson;
import io.lettuce.core.RedisClient;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import org.redisson.Redisson;
import org.redisson.api.RRateLimiter;
import org.redisson.api.RateType;
import org.redisson.api.RedissonClient;
import org.redisson.command.CommandAsyncExecutor;
import org.redisson.config.Config;
import redis.clients.jedis.JedisPool;
import redis.clients.jedis.JedisPoolConfig;

/** Runs a library's scenario: Main LIBRARY HOST:PORT. */
public final class Main {
    private final String address;

    private Main(String address) {
        this.address = address;
    }

    public static void main(String[] args) throws Exception {
        Main main = new Main(args[1]);
        Scenario.play(switch (args[0]) {
            case "bucket4j-jedis" -> main::bucketOverJedis;
            case "bucket4j-lettuce" -> main::bucketOverLettuce;
            case "bucket4j-redisson" -> main::bucketOverRedisson;
            case "redisson" -> main::redissonLimiter;
            default -> throw new IllegalArgumentException(args[0]);
        });
        System.exit(0); // the connections are open
    }

    private Scenario.Limiter bucketOverJedis(int limit, int seconds) {
        JedisPoolConfig config = new JedisPoolConfig();
        config.setMaxTotal(50);
        String[] parts = address.split(":");
        JedisPool pool = new JedisPool(config, parts[0], Integer.parseInt(parts[1]));
        ProxyManager<byte[]> proxies = Bucket4jJedis.casBasedBuilder(pool).build();
        return key -> take(proxies, bytes(limit + key), limit, seconds);
    }

    private Scenario.Limiter bucketOverLettuce(int limit, int seconds) {
        ProxyManager<byte[]> proxies = Bucket4jLettuce.casBasedBuilder(RedisClient.create("redis://" + address)).build();
        return key -> take(proxies, bytes(limit + key), limit, seconds);
    }

    private Scenario.Limiter bucketOverRedisson(int limit, int seconds) {
        CommandAsyncExecutor executor = ((Redisson) redisson()).getCommandExecutor();
        ProxyManager<String> proxies = Bucket4jRedisson.casBasedBuilder(executor).build();
        return key -> take(proxies, limit + key, limit, seconds);
    }

    private static byte[] bytes(String key) {
        return key.getBytes(StandardCharsets.UTF_8);
    }

    private static <K> long take(ProxyManager<K> proxies, K key, int limit, int seconds) {
        Bandwidth bandwidth = Bandwidth.builder().capacity(limit).refillIntervally(limit, Duration.ofSeconds(seconds)).build();
        BucketConfiguration configuration = BucketConfiguration.builder().addLimit(bandwidth).build();
        ConsumptionProbe probe = proxies.builder().build(key, () -> configuration).tryConsumeAndReturnRemaining(1);
        return probe.isConsumed() ? probe.getRemainingTokens() : -1;
    }

    private RedissonClient redisson() {
        Config config = new Config();
        config.useSingleServer().setAddress("redis://" + address).setConnectionMinimumIdleSize(1);
        return Redisson.create(config);
    }

    private Scenario.Limiter redissonLimiter(int limit, int seconds) {
        RedissonClient client = redisson();
        return key -> {
            RRateLimiter limiter = client.getRateLimiter(limit + key);
            limiter.trySetRate(RateType.OVERALL, limit, Duration.ofSeconds(seconds));
            return limiter.tryAcquire() ? 0 : -1;
        };
    }
}
