import io.lettuce.core.RedisURI;
import jakarta.servlet.Filter;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.nio.file.Files;
import java.time.Duration;
import limitsrv.Limit;
import limitsrv.Limiter;
import limitsrv.RateLimitFilter;
import org.apache.catalina.Context;
import org.apache.catalina.startup.Tomcat;
import org.apache.tomcat.util.descriptor.web.FilterDef;
import org.apache.tomcat.util.descriptor.web.FilterMap;

/** The application that tests the filter. */
public final class App {
    private App() {}

    /** Answers JSON. With the status 201 it resets the response first. */
    static final class Answer extends HttpServlet {
        private final int status;
        private final String json;

        Answer(int status, String json) {
            this.status = status;
            this.json = json;
        }

        @Override
        protected void doGet(HttpServletRequest request, HttpServletResponse response) throws IOException {
            if (status == 201) {
                response.reset();
            }
            response.setStatus(status);
            response.setContentType("application/json");
            response.getWriter().write(json);
        }
    }

    private static Duration millis(String name) {
        return Duration.ofMillis(Long.parseLong(System.getenv(name)));
    }

    private static Limit hourly(long requests) {
        return Limit.of(requests, Duration.ofHours(1));
    }

    /** Adds a page with a limit of its own. */
    public static void serve(Context context, String path, Filter limit, int status, String json) {
        Tomcat.addServlet(context, "servlet " + path, new Answer(status, json));
        context.addServletMappingDecoded(path, "servlet " + path);
        FilterDef filter = new FilterDef();
        filter.setFilterName("filter " + path);
        filter.setFilter(limit);
        context.addFilterDef(filter);
        FilterMap only = new FilterMap();
        only.setFilterName("filter " + path);
        only.addServletName("servlet " + path);
        context.addFilterMap(only);
    }

    /** Returns a server at PORT. */
    public static Tomcat tomcat() throws IOException {
        Tomcat tomcat = new Tomcat();
        tomcat.setBaseDir(Files.createTempDirectory("middleware").toString());
        tomcat.setHostname("127.0.0.1");
        tomcat.setPort(Integer.parseInt(System.getenv("PORT")));
        tomcat.getConnector().setProperty("address", "127.0.0.1");
        return tomcat;
    }

    public static void main(String[] args) throws Exception {
        Limiter limiter = new Limiter(RedisURI.create("redis://" + System.getenv("LIMITSRV_ADDR")), new Limiter.Options(
                millis("TIMEOUT"), "closed".equals(System.getenv("FAIL")), millis("REMEMBER"), Limiter.Options::warn));

        Tomcat tomcat = tomcat();
        Context context = tomcat.addContext("", null);
        String hello = "{\"hello\": \"world\"}";
        serve(context, "/", RateLimitFilter.of(limiter, "home", hourly(100_000)).perKey(hourly(3)), 200, hello);
        serve(context, "/second", RateLimitFilter.of(limiter, "second", hourly(100_000)).perKey(hourly(3)), 200, hello);
        serve(context, "/strict", RateLimitFilter.of(limiter, "strict", hourly(3)).perKey(hourly(2)), 200, hello);
        serve(context, "/own", RateLimitFilter.of(limiter, "own", hourly(100_000)), 201, "{\"own\": true}");
        serve(context, "/ruled", RateLimitFilter.byRules(limiter, "middleware", null), 200, "{\"hello\": \"rules\"}");
        tomcat.start();
        tomcat.getServer().await();
    }
}
