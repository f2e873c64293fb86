package clients;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;

/** A run of the cases: the addresses of the servers, and the lines of output. */
final class Session {
    interface Case {
        void run() throws Exception;
    }

    /** The log messages at the level of a warning or above. */
    final List<String> logged = new ArrayList<>();

    private boolean failed;

    Session() {
        Logger.getLogger("").addHandler(new Handler() {
            @Override
            public void publish(LogRecord record) {
                if (record.getLevel().intValue() >= Level.WARNING.intValue()) {
                    logged.add(record.getMessage());
                }
            }

            @Override
            public void flush() {}

            @Override
            public void close() {}
        });
    }

    /** An environment variable by its name without LIMITSRV_; see ../README.md. */
    static String given(String name) {
        return System.getenv("LIMITSRV_" + name);
    }

    static String host(String addr) {
        return addr.substring(0, addr.lastIndexOf(':'));
    }

    static int port(String addr) {
        return Integer.parseInt(addr.substring(addr.lastIndexOf(':') + 1));
    }

    /** Runs a case and prints its line. */
    void test(String name, Case body) {
        try {
            body.run();
            System.out.println("ok " + name);
        } catch (Want.Mismatch wrong) {
            fail(name, wrong.getMessage());
        } catch (Exception error) {
            fail(name, "got error '" + Want.text(error) + "', want none");
        }
    }

    private void fail(String name, String message) {
        System.out.println("FAIL " + name + ": " + message.replace("\n", "\\n"));
        failed = true;
    }

    /** Reports that the client has no support for the case. */
    void none(String name) {
        System.out.println("none " + name);
    }

    /** Runs the case cluster if there is a server for it. */
    void cluster(Case body) {
        if (given("CLUSTER_ADDR") != null) {
            test("cluster", body);
        }
    }

    /** Exits, with 1 if a case failed. */
    void end() {
        System.exit(failed ? 1 : 0);
    }

    /** Restarts the server at RESTART_ADDR. */
    static void restart() throws Exception {
        Want.equal(new ProcessBuilder(given("RESTART")).inheritIO().start().waitFor(), 0);
    }

    /** Repeats a call until it succeeds, for up to 10 s. */
    static Object retry(Callable<Object> ask) throws Exception {
        for (long end = System.nanoTime() + 10_000_000_000L; ; Thread.sleep(50)) {
            try {
                return ask.call();
            } catch (Exception error) {
                if (System.nanoTime() > end) {
                    throw error;
                }
            }
        }
    }

    /** Keys with arbitrary bytes. */
    static List<byte[]> binaryKeys() {
        byte[] all = new byte[256];
        for (int i = 0; i < all.length; i++) {
            all[i] = (byte) i;
        }
        return List.of(all, new byte[] {'a', '\r', '\n', 'b'}, new byte[] {0});
    }

    /** Keys in different slots: CRC16 differs if only the last byte differs. */
    static List<String> clusterKeys() {
        List<String> keys = new ArrayList<>();
        for (char last = 'A'; keys.size() < 32; last++) {
            keys.add("cluster:" + last);
        }
        return keys;
    }
}
