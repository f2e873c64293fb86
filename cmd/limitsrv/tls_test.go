package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"limitsrv/internal/testing/testwait"
)

// tlsArgs returns the arguments of a server with a certificate for clients over TLS.
func (f tlsFiles) tlsArgs(address string) []string {
	return []string{"--tls-listen", address, "--tls-cert", f.name("cert"), "--tls-key", f.name("key")}
}

// newTLSFiles returns files with a certificate of an authority, and that authority.
func newTLSFiles(t *testing.T, by *authority) tlsFiles {
	t.Helper()
	f := tlsFiles(t.TempDir())
	f.certify(t, by)
	f.write(t, "ca", by.pem)
	return f
}

// clientConfig is a client configuration that trusts an authority.
func (a *authority) clientConfig(t *testing.T) *tls.Config {
	t.Helper()
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(a.pem) {
		t.Fatal("no authority")
	}
	return &tls.Config{RootCAs: pool}
}

// clientConfigWithCert is a client configuration that trusts an authority and has a
// certificate of another authority.
func (a *authority) clientConfigWithCert(t *testing.T, by *authority, end time.Time) *tls.Config {
	t.Helper()
	config := a.clientConfig(t)
	pair, err := tls.X509KeyPair(by.pairUntil(t, end))
	if err != nil {
		t.Fatal(err)
	}
	config.Certificates = []tls.Certificate{pair}
	return config
}

// dialTLS connects over TLS for the duration of the test. An error is returned after
// the first reply at the latest.
func dialTLS(t *testing.T, address string, config *tls.Config) (*tls.Conn, error) {
	t.Helper()
	dialer := &net.Dialer{Timeout: testwait.Scaled(wait)}
	conn, err := tls.DialWithDialer(dialer, "tcp", address, config)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(testwait.Soon(wait))
	if _, err := io.WriteString(conn, "PING\r\n"); err != nil {
		return nil, err
	}
	_, err = io.ReadFull(conn, make([]byte, len("+PONG\r\n")))
	return conn, err
}

// mustDialTLS is dialTLS that must succeed.
func mustDialTLS(t *testing.T, address string, config *tls.Config) *tls.Conn {
	t.Helper()
	conn, err := dialTLS(t, address, config)
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// A server with a TLS listener only is pinged there, and identified by its certificate.
func TestPingOverTLS(t *testing.T) {
	ca := newAuthority(t)
	files, other, address := newTLSFiles(t, ca), newTLSFiles(t, ca), freeAddress(t)
	serve(t, append(files.tlsArgs(address), "--password", "hunter2")...)
	for _, tt := range []struct {
		name string
		args []string
		code int
	}{
		{"with its certificate", files.tlsArgs(address), exitOK},
		{"with its password", append(files.tlsArgs(address), "--password", "hunter2"), exitOK},
		{"a server with another certificate", other.tlsArgs(address), exitFailure},
		{"a server that requires client certificates", append(files.tlsArgs(address), "--tls-client-ca", files.name("ca")),
			exitUsage},
	} {
		if out, log, code := runs(t,
			limitsrv(nil, append([]string{"ping", "--listen", ""}, tt.args...)...)); code != tt.code {
			t.Errorf("%s: exit %d, %q, %q, want %d", tt.name, code, out, log, tt.code)
		}
	}
}

func TestTLSWithRedisCLI(t *testing.T) {
	testwait.Long(t)
	ca, other := newAuthority(t), newAuthority(t)
	files, address := newTLSFiles(t, ca), freeAddress(t)
	r := serve(t, append(files.tlsArgs(address), "--tls-client-ca", files.name("ca"))...)
	mine, untrusted, expired := newTLSFiles(t, ca), newTLSFiles(t, other), newTLSFiles(t, ca)
	certificate, key := ca.pairUntil(t, time.Now().Add(-time.Hour))
	expired.write(t, "cert", certificate)
	expired.write(t, "key", key)

	cli := func(address string, args ...string) string {
		_, port, _ := net.SplitHostPort(address)
		out, _ := exec.Command("redis-cli", append([]string{"-h", "127.0.0.1", "-p", port}, args...)...).CombinedOutput()
		return string(out)
	}
	with := func(f tlsFiles) []string {
		return []string{"--tls", "--cacert", files.name("ca"), "--cert", f.name("cert"), "--key", f.name("key")}
	}
	const decide, decided = "RL.TOKEN", "1\n10\n"
	for _, tt := range []struct {
		name, address string
		args          []string
		allowed       bool
		logged        string // once a second
	}{
		{"a certificate of the CA", address, with(mine), true, ""},
		{"none", address, []string{"--tls", "--cacert", files.name("ca")}, false, "client didn't provide a certificate"},
		{"one of another CA", address, with(untrusted), false, "certificate signed by unknown authority"},
		{"one that has expired", address, with(expired), false, "certificate has expired"},
		{"no TLS", address, nil, false, "does not speak TLS"},
		{"TLS where there is none", r.address, with(mine), false, "TLS handshakes on the plain port"},
		{"no TLS where there is none", r.address, nil, true, ""},
	} {
		got := cli(tt.address, append(tt.args, decide, tt.name, "10", "1")...)
		if strings.HasPrefix(got, decided) != tt.allowed {
			t.Errorf("%s: %q", tt.name, got)
		}
		until(t, tt.name+" is logged", func() bool { return strings.Contains(r.logged(), tt.logged) })
	}
	if got := cli(address, append(with(mine), "CONFIG", "GET", "tls-listen")...); !strings.Contains(got, address) {
		t.Errorf("CONFIG GET tls-listen is %q", got)
	}
}

// Certificates change while clients are connected: these stay connected, and new clients
// get the new certificate. Earlier sessions are not resumed after a change of the client
// CA.
func TestTLSRotation(t *testing.T) {
	from, to := newAuthority(t), newAuthority(t)
	files, address := newTLSFiles(t, from), freeAddress(t)
	r := serve(t, append(files.tlsArgs(address), "--tls-client-ca", files.name("ca"))...)
	hour := time.Now().Add(time.Hour)
	client := from.clientConfigWithCert(t, from, hour)
	client.ClientSessionCache = tls.NewLRUClientSessionCache(1)
	first := mustDialTLS(t, address, client)
	if again := mustDialTLS(t, address, client); !again.ConnectionState().DidResume {
		t.Error("a session is not resumed without a change")
	}

	files.write(t, "key", []byte("no key"))
	until(t, "the change is detected", func() bool {
		mustDialTLS(t, address, from.clientConfigWithCert(t, from, hour)) // the old certificate is in use
		return strings.Contains(r.logged(), "can't be used")
	})
	files.certify(t, to)
	until(t, "the new certificate is in use", func() bool {
		_, err := dialTLS(t, address, to.clientConfigWithCert(t, from, hour))
		return err == nil
	})
	files.write(t, "ca", to.pem)
	until(t, "the new CA of clients is in use", func() bool {
		_, err := dialTLS(t, address, to.clientConfigWithCert(t, to, hour))
		return err == nil
	})
	if _, err := dialTLS(t, address, to.clientConfigWithCert(t, from, hour)); err == nil {
		t.Error("a client of the old CA is accepted")
	}
	both := to.clientConfig(t)
	both.RootCAs.AppendCertsFromPEM(from.pem)
	both.Certificates, both.ClientSessionCache = client.Certificates, client.ClientSessionCache
	if conn, err := dialTLS(t, address, both); err == nil {
		t.Errorf("a client of the old CA is accepted, resumed %v", conn.ConnectionState().DidResume)
	}
	asks(t, first, "PING\r\n", "+PONG\r\n")
	if n := strings.Count(r.logged(), "can't be used"); n != 1 {
		t.Errorf("a failure is logged %d times, want once", n)
	}
}

// A drain answers the requests received over TLS and closes the connection cleanly.
func TestTLSDrain(t *testing.T) {
	ca := newAuthority(t)
	address := freeAddress(t)
	r := serve(t, append(newTLSFiles(t, ca).tlsArgs(address), "--drain", "5s")...)
	var conns []*tls.Conn
	for range 10 {
		conn := mustDialTLS(t, address, ca.clientConfig(t))
		go io.WriteString(conn, strings.Repeat("PING\r\n", 20_000))
		asks(t, conn, "", "+PONG\r\n") // the server has begun the pipeline
		conns = append(conns, conn)
	}
	silent := dial(t, "tcp", address) // sends nothing
	r.Process.Signal(syscall.SIGTERM)
	for _, conn := range conns {
		rest, err := io.ReadAll(conn)
		if n := len("+PONG\r\n"); err != nil || len(rest)%n != 0 {
			t.Errorf("the connection ended with %q, %v", rest[max(0, len(rest)-20):], err)
		}
	}
	if _, err := silent.Read(make([]byte, 1)); err == nil || errors.Is(err, syscall.ETIMEDOUT) {
		t.Errorf("a silent connection got %v", err)
	}
	if code := r.exit(t); code != exitOK || strings.Contains(r.logged(), "before every command was answered") {
		t.Errorf("exit %d, want 0\n%s", code, r.logged())
	}
}

// Unfinished handshakes do not count as clients, and delay new clients only briefly.
func TestUnfinishedTLSHandshakes(t *testing.T) {
	const silentConns = 1000
	ca := newAuthority(t)
	address := freeAddress(t)
	r := serve(t, append(newTLSFiles(t, ca).tlsArgs(address), "--max-clients", "20")...)
	good := mustDialTLS(t, address, ca.clientConfig(t))
	hello := []byte{22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3} // the start of a longer handshake
	stop := make(chan struct{})
	defer close(stop)
	for i := range silentConns {
		conn := dial(t, "tcp", address)
		conn.SetDeadline(time.Time{})
		if i%2 == 0 {
			continue
		}
		go func() {
			for _, b := range slices.Repeat(hello, 10) {
				if _, err := conn.Write([]byte{b}); err != nil {
					return
				}
				select {
				case <-time.After(time.Second):
				case <-stop:
					return
				}
			}
		}()
	}
	asks(t, good, "PING\r\n", "+PONG\r\n")
	asks(t, dial(t, "tcp", r.address), "PING\r\n", "+PONG\r\n")
	for range 3 {
		mustDialTLS(t, address, ca.clientConfig(t))
	}
	w := wired(t, r.address)
	if got := w.info(t, "connected_clients"); got != "6" {
		t.Errorf("%s clients, want 6", got)
	}
	until(t, "the delayed handshakes are logged", func() bool { return strings.Contains(r.logged(), "others waited") })
	if n := strings.Count(r.logged(), "TLS handshakes failed"); n > 15 {
		t.Errorf("they are logged %d times, want once", n)
	}
}

func TestWrongTLSOptions(t *testing.T) {
	files := newTLSFiles(t, newAuthority(t))
	missing := tlsFiles(t.TempDir())
	for _, tt := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"no certificate", []string{"--tls-listen", "127.0.0.1:0"}, exitUsage, "--tls-listen needs --tls-cert and --tls-key"},
		{"no key", []string{"--tls-cert", files.name("cert")}, exitUsage, "--tls-cert and --tls-key go together"},
		{"a CA alone", []string{"--tls-client-ca", files.name("ca")}, exitUsage, "--tls-client-ca needs"},
		{"open to the network", files.tlsArgs("0.0.0.0:0"), exitUsage,
			`--tls-listen "0.0.0.0:0" can be reached from other machines: give --password, --users or --tls-client-ca`},
		{"no listener", []string{"--listen", ""}, exitUsage, "--tls-listen"},
		{"missing files", missing.tlsArgs("127.0.0.1:0"), exitFailure, missing.name("cert")},
	} {
		_, log, code := runs(t, limitsrv(nil, append([]string{"--listen", "127.0.0.1:0"}, tt.args...)...))
		if code != tt.code || strings.Count(log, "\n") != 1 || !strings.Contains(log, tt.want) {
			t.Errorf("%s: exit %d, stderr %q, want %d and one line with %q", tt.name, code, log, tt.code, tt.want)
		}
	}
}

// Client certificates protect an address beyond loopback, and a server may have a TLS
// listener only.
func TestTLSOnly(t *testing.T) {
	ca := newAuthority(t)
	files := newTLSFiles(t, ca)
	_, port, err := net.SplitHostPort(freeAddress(t))
	if err != nil {
		t.Fatal(err)
	}
	r := launchAt(t, "", append(files.tlsArgs("0.0.0.0:"+port), "--tls-client-ca", files.name("ca"))...)
	until(t, "it listens", func() bool { return strings.Contains(r.logged(), "listening") || r.isOver() })
	mustDialTLS(t, "127.0.0.1:"+port, ca.clientConfigWithCert(t, ca, time.Now().Add(time.Hour)))
}
