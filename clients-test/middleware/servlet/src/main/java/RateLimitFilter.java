import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpFilter;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.List;
import redis.clients.jedis.UnifiedJedis;
import redis.clients.jedis.commands.ProtocolCommand;
import redis.clients.jedis.exceptions.JedisException;
import redis.clients.jedis.util.SafeEncoder;

/** Limits requests with limitsrv. A bean of this class limits a Spring Boot application. */
public class RateLimitFilter extends HttpFilter {
    private static final ProtocolCommand TOKEN = () -> SafeEncoder.encode("RL.TOKEN");

    private final UnifiedJedis redis;
    private final String capacity;
    private final String rate;
    private final boolean open;

    /**
     * The timeouts of redis bound the wait for limitsrv; open is whether requests are allowed while it is
     * unavailable. Capacity and rate apply to each key, in the form of RL.TOKEN: 10, "5"; 100, "100/1m".
     */
    public RateLimitFilter(UnifiedJedis redis, long capacity, String rate, boolean open) {
        this.redis = redis;
        this.capacity = Long.toString(capacity);
        this.rate = rate;
        this.open = open;
    }

    @Override
    protected void doFilter(HttpServletRequest request, HttpServletResponse response, FilterChain chain)
            throws IOException, ServletException {
        List<?> decision;
        try {
            decision = (List<?>) redis.sendCommand(TOKEN, key(request), capacity, rate);
        } catch (JedisException error) {
            if (open) {
                chain.doFilter(request, response);
            } else {
                answer(response, 503, "{\"error\": \"the rate limiter does not answer\"}");
            }
            return;
        }
        boolean allowed = (Long) decision.get(0) == 1;
        long waitMillis = (Long) decision.get(3);
        response.setHeader("X-RateLimit-Limit", decision.get(1).toString());
        response.setHeader("X-RateLimit-Remaining", decision.get(2).toString());
        response.setHeader("X-RateLimit-Reset", seconds((Long) decision.get(4)));
        if (allowed) {
            chain.doFilter(request, response);
            return;
        }
        response.setHeader("Retry-After", seconds(waitMillis));
        answer(response, 429, "{\"error\": \"too many requests\", \"retry_after_ms\": " + waitMillis + "}");
    }

    /** Returns the key of a request: the API key (validate it first!) or else the address. */
    private static String key(HttpServletRequest request) {
        String apiKey = request.getHeader("X-API-Key");
        return apiKey != null ? "key:" + apiKey : "ip:" + request.getRemoteAddr();
    }

    private static String seconds(long millis) {
        return Long.toString((millis + 999) / 1000);
    }

    private static void answer(HttpServletResponse response, int status, String json) throws IOException {
        response.setStatus(status);
        response.setContentType("application/json");
        response.getWriter().write(json);
    }
}
