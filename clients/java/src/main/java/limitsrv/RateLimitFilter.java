package limitsrv;

import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpFilter;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import jakarta.servlet.http.HttpServletResponseWrapper;
import java.io.IOException;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/**
 * Limits requests. A request takes one token from the limit of its address and, if it has a key, from the limit of
 * the key: all or none. Without perKey no key has a limit. A bean of this class limits a Spring Boot application.
 */
public final class RateLimitFilter extends HttpFilter {
    private static final int MAX_IDENTITY_BYTES = 128; // of the part of a key that a client chooses
    private static final String DECISIONS = "limitsrv.decisions"; // of a response, in the request

    private interface Decide {
        Decision of(RateLimitFilter filter, HttpServletRequest request) throws Limiter.Unavailable;
    }

    private final Limiter limiter;
    private final Decide decide;
    private Limit perKey;
    private Function<HttpServletRequest, String> key = RateLimitFilter::apiKey;
    private Function<HttpServletRequest, String> address = HttpServletRequest::getRemoteAddr;

    private RateLimitFilter(Limiter limiter, Decide decide) {
        this.limiter = limiter;
        this.decide = decide;
    }

    /** Returns a filter. The name is a part of all keys: limits with different names share nothing. */
    public static RateLimitFilter of(Limiter limiter, String name, Limit perAddress) {
        limiter.claim(name);
        String policy = perAddress.policy(name + "/address");
        return new RateLimitFilter(limiter, (filter, request) -> {
            List<Limiter.Take> takes = new ArrayList<>(2);
            String from = bounded(network(filter.address.apply(request)));
            takes.add(new Limiter.Take(perAddress, name + ":ip:" + from, policy));
            String identity = filter.perKey == null ? null : filter.key.apply(request);
            if (identity != null && !identity.isEmpty()) {
                String full = name + ":key:" + bounded(identity);
                takes.add(new Limiter.Take(filter.perKey, full, filter.perKey.policy(name + "/key")));
            }
            return limiter.takeAll(takes);
        });
    }

    public RateLimitFilter perKey(Limit perKey) {
        this.perKey = perKey;
        return this;
    }

    /** Sets the key of a request, such as the id of a customer, or null; by default a digest of X-API-Key. */
    public RateLimitFilter key(Function<HttpServletRequest, String> key) {
        this.key = key;
        return this;
    }

    /** Sets the address of a request, by default getRemoteAddr. */
    public RateLimitFilter address(Function<HttpServletRequest, String> address) {
        this.address = address;
        return this;
    }

    /**
     * Returns a filter that asks by the rules of a domain on the server.
     *
     * @param attributes if it is null, they are path, method, ip, and api_key, a digest of X-API-Key
     */
    public static RateLimitFilter byRules(
            Limiter limiter, String domain, Function<HttpServletRequest, Map<String, String>> attributes) {
        return new RateLimitFilter(limiter, (filter, request) -> {
            List<String> words = new ArrayList<>();
            (attributes == null ? describe(request) : attributes.apply(request))
                    .forEach((name, value) -> words.addAll(List.of(name, value)));
            return limiter.check(domain, words);
        });
    }

    private static Map<String, String> describe(HttpServletRequest request) {
        Map<String, String> attributes = new LinkedHashMap<>();
        attributes.put("path", request.getRequestURI());
        attributes.put("method", request.getMethod());
        attributes.put("ip", request.getRemoteAddr());
        if (!apiKey(request).isEmpty()) {
            attributes.put("api_key", apiKey(request));
        }
        return attributes;
    }

    @Override
    protected void doFilter(HttpServletRequest request, HttpServletResponse response, FilterChain chain)
            throws IOException, ServletException {
        Decision decision;
        try {
            decision = decide.of(this, request);
        } catch (Limiter.Unavailable error) {
            if (limiter.options.failClosed()) {
                response.setHeader("Retry-After", "1");
                answer(response, 503, "{\"error\": \"the rate limiter does not answer\"}");
            } else {
                chain.doFilter(request, response);
            }
            return;
        }
        List<Decision> decisions = new ArrayList<>();
        if (request.getAttribute(DECISIONS) instanceof List<?> before) {
            before.forEach(other -> decisions.add((Decision) other));
        }
        decisions.add(decision);
        request.setAttribute(DECISIONS, decisions);
        Map<String, String> headers = Decision.headers(decisions);
        headers.forEach(response::setHeader);
        if (decision.allowed()) {
            chain.doFilter(request, new Kept(response, headers));
            return;
        }
        String reason = decision.reason().isEmpty() ? "" : ", \"reason\": \"" + decision.reason() + "\"";
        answer(response, 429,
                "{\"error\": \"too many requests\", \"retry_after_ms\": " + decision.waitMillis() + reason + "}");
    }

    /** A response whose headers of limits survive a reset by the handler. */
    private static final class Kept extends HttpServletResponseWrapper {
        private final Map<String, String> headers;

        Kept(HttpServletResponse response, Map<String, String> headers) {
            super(response);
            this.headers = headers;
        }

        @Override
        public void reset() {
            super.reset();
            headers.forEach(this::setHeader);
        }
    }

    private static void answer(HttpServletResponse response, int status, String json) throws IOException {
        response.setStatus(status);
        response.setContentType("application/json");
        response.getWriter().write(json);
    }

    private static String apiKey(HttpServletRequest request) {
        String key = request.getHeader("X-API-Key");
        return key == null ? "" : digest(key);
    }

    /** Returns the first 32 hexadecimal digits of the SHA-256 of a secret, "" for "". */
    public static String digest(String secret) {
        if (secret.isEmpty()) {
            return "";
        }
        try {
            byte[] sum = MessageDigest.getInstance("SHA-256").digest(secret.getBytes(StandardCharsets.UTF_8));
            return HexFormat.of().formatHex(sum, 0, 16);
        } catch (NoSuchAlgorithmException error) {
            throw new IllegalStateException(error); // every Java has it
        }
    }

    static String bounded(String identity) {
        return identity.getBytes(StandardCharsets.UTF_8).length > MAX_IDENTITY_BYTES ? digest(identity) : identity;
    }

    /** Returns an IPv4 address, or the /64 network of an IPv6 address: a client may have all its addresses. */
    static String network(String address) {
        if (!address.contains(":")) {
            return address;
        }
        try {
            // A literal in brackets is not looked up.
            InetAddress parsed = InetAddress.getByName("[" + address.replaceFirst("%.*", "") + "]");
            if (parsed instanceof Inet4Address) {
                return parsed.getHostAddress();
            }
            byte[] bytes = parsed.getAddress();
            StringBuilder text = new StringBuilder();
            for (int i = 0; i < 8; i += 2) {
                text.append(Integer.toHexString((bytes[i] & 0xff) << 8 | bytes[i + 1] & 0xff)).append(':');
            }
            return text + ":/64";
        } catch (UnknownHostException error) {
            return address;
        }
    }
}
