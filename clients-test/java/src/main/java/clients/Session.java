package clients;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;

/** A run through the cases: the servers that it is given, and the lines that it prints. */
final class Session {
    interface Case {
        void run() throws Exception;
    }

    /** What was logged at the level of a warning or above. */
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

    /** A variable of the environment, by its name without LIMITSRV_; see ../README.md. */
    static String given(String name) {
        return System.getenv("LIMITSRV_" + name);
    }

    static String host(String addr) {
        return addr.substring(0, addr.lastIndexOf(':'));
    }

    static int port(String addr) {
        return Integer.parseInt(addr.substring(addr.lastIndexOf(':') + 1));
    }

    /** Tries a case and prints how it went. */
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

    private void fail(String name, String what) {
        System.out.println("FAIL " + name + ": " + what.replace("\n", "\\n"));
        failed = true;
    }

    /** Says that the client has no such thing. */
    void none(String name) {
        System.out.println("none " + name);
    }

    /** Tries the case cluster if there is a server for it. */
    void cluster(Case body) {
        if (given("CLUSTER_ADDR") != null) {
            test("cluster", body);
        }
    }

    /** Ends the program, with 1 if a case failed. */
    void end() {
        System.exit(failed ? 1 : 0);
    }

    /** Has the server at RESTART_ADDR started again. */
    static void restart() throws Exception {
        Want.equal(new ProcessBuilder(given("RESTART")).inheritIO().start().waitFor(), 0);
    }

    /** Repeats something until it succeeds, for up to 10 s. */
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

    /** Keys with any bytes in them. */
    static List<byte[]> binaryKeys() {
        byte[] all = new byte[256];
        for (int i = 0; i < all.length; i++) {
            all[i] = (byte) i;
        }
        return List.of(all, new byte[] {'a', '\r', '\n', 'b'}, new byte[] {0});
    }

    /** Keys in different slots: they differ in their last byte, and CRC16 tells those apart. */
    static List<String> clusterKeys() {
        List<String> keys = new ArrayList<>();
        for (char last = 'A'; keys.size() < 32; last++) {
            keys.add("cluster:" + last);
        }
        return keys;
    }
}
