package limitsrv;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.lettuce.core.RedisURI;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Tests without a server. */
class LimitsTest {
    private static final long MILLI = 1_000_000;

    private static Decision denial(long wait, long reset) {
        return new Decision(false, 1, 0, wait, reset, "", "", "");
    }

    @Test
    void memoryIsBounded() {
        Memory memory = new Memory(Duration.ofMinutes(1));
        for (int i = 0; i < 2 * Memory.MAX; i++) {
            memory.put("k" + i, denial(60_000, 0), 0);
        }
        assertEquals(Memory.MAX, memory.entries.size());
        assertNotNull(memory.get("k" + (2 * Memory.MAX - 1), 0));
    }

    private static void remembered(long wait, long longest, long after, String want) {
        Memory memory = new Memory(Duration.ofMillis(longest));
        memory.put("k", denial(wait, 20_000), 0);
        Decision got = memory.get("k", after * MILLI);
        assertEquals(want, got == null ? "none" : got.waitMillis() + " " + got.resetMillis());
    }

    @Test
    void memoryEnds() {
        remembered(10_000, 60_000, 9_999, "1 10001");
        remembered(10_000, 60_000, 10_000, "none");
        remembered(10_000, 5_000, 5_000, "none");
        remembered(-1, 5_000, 4_000, "-1 16000");
        remembered(-1, 5_000, 5_000, "none");
        remembered(10_000, 0, 0, "none");
    }

    @Test
    void addressesAreThoseOfNetworks() {
        Map.of("203.0.113.7", "203.0.113.7", "::ffff:203.0.113.7", "203.0.113.7",
                "2001:DB8:1:2:3:4:5:6", "2001:db8:1:2::/64", "2001:db8::6", "2001:db8:0:0::/64", "fe80::1%eth0", "fe80:0:0:0::/64", "", "", "a:b", "a:b")
                .forEach((address, want) -> assertEquals(want, RateLimitFilter.network(address)));
    }

    @Test
    void identitiesAreBounded() {
        assertEquals("customer-7", RateLimitFilter.bounded("customer-7"));
        assertEquals(32, RateLimitFilter.bounded("x".repeat(129)).length());
        assertEquals("2bb80d537b1da3e38bd30361aa855686", RateLimitFilter.digest("secret"));
    }

    @Test
    void argumentsAndPolicies() {
        Limit bucket = Limit.of(5, Duration.ofSeconds(1)).withBurst(10);
        assertEquals(List.of("TOKEN", "k", "10", "5/1000ms", "1"), bucket.arguments("k"));
        assertEquals("\"n\";q=10;w=2", bucket.policy("n"));
        Limit window = Limit.of(5, Duration.ofHours(1)).withAlgorithm("SLIDE");
        assertEquals(List.of("SLIDE", "k", "5", "3600000ms", "1"), window.arguments("k"));
    }

    @Test
    void wrongConfigurationIsAnError() {
        Limit limit = Limit.of(1, Duration.ofSeconds(1));
        assertThrows(IllegalArgumentException.class, () -> Limit.of(0, Duration.ofSeconds(1)));
        assertThrows(IllegalArgumentException.class, () -> Limit.of(1, Duration.ZERO));
        assertThrows(IllegalArgumentException.class, () -> limit.withAlgorithm("LEAKY"));
        try (Limiter limiter = new Limiter(RedisURI.create("redis://127.0.0.1:1"), Limiter.Options.defaults())) {
            for (String name : new String[] {null, "", "a b"}) {
                assertThrows(IllegalArgumentException.class, () -> RateLimitFilter.of(limiter, name, limit));
            }
            RateLimitFilter.of(limiter, "a", limit);
            assertThrows(IllegalArgumentException.class, () -> RateLimitFilter.of(limiter, "a", limit));
        }
    }

    @Test
    void headersNameAllLimits() {
        Decision first = new Decision(true, 10, 3, 0, 1, "\"a\"", "\"a\";q=10", "");
        Decision second = new Decision(true, 20, 9, 0, 1, "\"b\"", "\"b\";q=20", "");
        Map<String, String> headers = Decision.headers(List.of(first, second));
        assertEquals("10", headers.get("X-RateLimit-Limit"));
        assertEquals("\"a\";r=3;t=1, \"b\";r=9;t=1", headers.get("RateLimit"));
        assertEquals("\"a\";q=10, \"b\";q=20", headers.get("RateLimit-Policy"));
    }
}
