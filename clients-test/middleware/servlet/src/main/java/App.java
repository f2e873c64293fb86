import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.nio.file.Files;
import java.time.Duration;
import org.apache.catalina.Context;
import org.apache.catalina.startup.Tomcat;
import org.apache.tomcat.util.descriptor.web.FilterDef;
import org.apache.tomcat.util.descriptor.web.FilterMap;
import redis.clients.jedis.ConnectionPoolConfig;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.RedisClient;

/** The application that tests the filter. */
final class App {
    private App() {}

    static final class Hello extends HttpServlet {
        @Override
        protected void doGet(HttpServletRequest request, HttpServletResponse response) throws IOException {
            response.setContentType("application/json");
            response.getWriter().write("{\"hello\": \"world\"}");
        }
    }

    public static void main(String[] args) throws Exception {
        int timeout = Integer.parseInt(System.getenv("TIMEOUT"));
        ConnectionPoolConfig pool = new ConnectionPoolConfig();
        pool.setMaxWait(Duration.ofMillis(timeout));
        RedisClient redis = RedisClient.builder()
                .hostAndPort(HostAndPort.from(System.getenv("LIMITSRV_ADDR")))
                .clientConfig(DefaultJedisClientConfig.builder().timeoutMillis(timeout).build())
                .poolConfig(pool)
                .build();

        Tomcat tomcat = new Tomcat();
        tomcat.setBaseDir(Files.createTempDirectory("recipe").toString());
        tomcat.setHostname("127.0.0.1");
        tomcat.setPort(Integer.parseInt(System.getenv("PORT")));
        tomcat.getConnector().setProperty("address", "127.0.0.1");
        Context context = tomcat.addContext("", null);
        Tomcat.addServlet(context, "hello", new Hello());
        context.addServletMappingDecoded("/", "hello");

        FilterDef filter = new FilterDef();
        filter.setFilterName("limit");
        filter.setFilter(new RateLimitFilter(redis, 3, "3/h", "open".equals(System.getenv("FAIL"))));
        context.addFilterDef(filter);
        FilterMap everywhere = new FilterMap();
        everywhere.setFilterName("limit");
        everywhere.addURLPattern("/*");
        context.addFilterMap(everywhere);
        tomcat.start();
        tomcat.getServer().await();
    }
}
