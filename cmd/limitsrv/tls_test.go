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

	"limitsrv/testwait"
)

// secured are the arguments of a server with a certificate for clients over TLS.
func (f tlsFiles) secured(address string) []string {
	return []string{"--tls-listen", address, "--tls-cert", f.name("cert"), "--tls-key", f.name("key")}
}

// certified are files with a certificate of an authority, and that authority.
func certified(t *testing.T, by *authority) tlsFiles {
	t.Helper()
	f := tlsFiles(t.TempDir())
	f.certify(t, by)
	f.write(t, "ca", by.pem)
	return f
}

// trust is a client that trusts an authority.
func (a *authority) trust(t *testing.T) *tls.Config {
	t.Helper()
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(a.pem) {
		t.Fatal("no authority")
	}
	return &tls.Config{RootCAs: pool}
}

// identified is a client that trusts an authority and has a certificate of another.
func (a *authority) identified(t *testing.T, by *authority, end time.Time) *tls.Config {
	t.Helper()
	config := a.trust(t)
	pair, err := tls.X509KeyPair(by.pairUntil(t, end))
	if err != nil {
		t.Fatal(err)
	}
	config.Certificates = []tls.Certificate{pair}
	return config
}

// dialSecure connects over TLS for the time of the test. An error comes with the first
// reply at the latest.
func dialSecure(t *testing.T, address string, config *tls.Config) (*tls.Conn, error) {
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

// soon is dialSecure that must succeed.
func soon(t *testing.T, address string, config *tls.Config) *tls.Conn {
	t.Helper()
	conn, err := dialSecure(t, address, config)
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// A server that listens for TLS alone is asked so, and knows itself by its certificate.
func TestPingOverTLS(t *testing.T) {
	ca := newAuthority(t)
	files, other, address := certified(t, ca), certified(t, ca), freeAddress(t)
	serve(t, append(files.secured(address), "--password", "hunter2")...)
	for _, tt := range []struct {
		name string
		args []string
		code int
	}{
		{"by its certificate", files.secured(address), exitOK},
		{"with its password", append(files.secured(address), "--password", "hunter2"), exitOK},
		{"one that has another certificate", other.secured(address), exitFailure},
		{"one that wants a certificate of who asks", append(files.secured(address), "--tls-client-ca", files.name("ca")), exitUsage},
	} {
		if out, log, code := runs(t, limitsrv(nil, append([]string{"ping", "--listen", ""}, tt.args...)...)); code != tt.code {
			t.Errorf("%s: exit %d, %q, %q, want %d", tt.name, code, out, log, tt.code)
		}
	}
}

func TestTLSWithRedisCLI(t *testing.T) {
	ca, other := newAuthority(t), newAuthority(t)
	files, address := certified(t, ca), freeAddress(t)
	r := serve(t, append(files.secured(address), "--tls-client-ca", files.name("ca"))...)
	mine, stranger, expired := certified(t, ca), certified(t, other), certified(t, ca)
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
		{"one of another CA", address, with(stranger), false, "certificate signed by unknown authority"},
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

// Certificates are changed while clients are connected: those stay, and others see the
// new one. A session of before is not resumed when the CA of clients is another.
func TestTLSRotation(t *testing.T) {
	from, to := newAuthority(t), newAuthority(t)
	files, address := certified(t, from), freeAddress(t)
	r := serve(t, append(files.secured(address), "--tls-client-ca", files.name("ca"))...)
	hour := time.Now().Add(time.Hour)
	client := from.identified(t, from, hour)
	client.ClientSessionCache = tls.NewLRUClientSessionCache(1)
	first := soon(t, address, client)
	if again := soon(t, address, client); !again.ConnectionState().DidResume {
		t.Error("a session is not resumed while nothing has changed")
	}

	files.write(t, "key", []byte("no key"))
	until(t, "the change is seen", func() bool {
		soon(t, address, from.identified(t, from, hour)) // what was before is in use
		return strings.Contains(r.logged(), "can't be used")
	})
	files.certify(t, to)
	until(t, "the new certificate is in use", func() bool {
		_, err := dialSecure(t, address, to.identified(t, from, hour))
		return err == nil
	})
	files.write(t, "ca", to.pem)
	until(t, "the new CA of clients is in use", func() bool {
		_, err := dialSecure(t, address, to.identified(t, to, hour))
		return err == nil
	})
	if _, err := dialSecure(t, address, to.identified(t, from, hour)); err == nil {
		t.Error("a client of the CA of before is let in")
	}
	both := to.trust(t)
	both.RootCAs.AppendCertsFromPEM(from.pem)
	both.Certificates, both.ClientSessionCache = client.Certificates, client.ClientSessionCache
	if conn, err := dialSecure(t, address, both); err == nil {
		t.Errorf("a client of the CA of before is let in, resumed %v", conn.ConnectionState().DidResume)
	}
	asks(t, first, "PING\r\n", "+PONG\r\n")
	if n := strings.Count(r.logged(), "can't be used"); n != 1 {
		t.Errorf("a failure is logged %d times, want once", n)
	}
}

// A drain answers what was received over TLS and ends the connection in good order.
func TestTLSDrain(t *testing.T) {
	ca := newAuthority(t)
	address := freeAddress(t)
	r := serve(t, append(certified(t, ca).secured(address), "--drain", "5s")...)
	var conns []*tls.Conn
	for range 10 {
		conn := soon(t, address, ca.trust(t))
		go io.WriteString(conn, strings.Repeat("PING\r\n", 20_000))
		asks(t, conn, "", "+PONG\r\n") // the pipeline has begun
		conns = append(conns, conn)
	}
	stranger := dial(t, "tcp", address) // says nothing
	r.Process.Signal(syscall.SIGTERM)
	for _, conn := range conns {
		rest, err := io.ReadAll(conn)
		if n := len("+PONG\r\n"); err != nil || len(rest)%n != 0 {
			t.Errorf("the connection ended with %q, %v", rest[max(0, len(rest)-20):], err)
		}
	}
	if _, err := stranger.Read(make([]byte, 1)); err == nil || errors.Is(err, syscall.ETIMEDOUT) {
		t.Errorf("who said nothing got %v", err)
	}
	if code := r.exit(t); code != exitOK || strings.Contains(r.logged(), "before all was answered") {
		t.Errorf("exit %d, want 0\n%s", code, r.logged())
	}
}

// Strangers who never finish a handshake take no places of clients, and newcomers wait
// for them but a moment.
func TestTLSHandshakesThatNeverEnd(t *testing.T) {
	const strangers = 1000
	ca := newAuthority(t)
	address := freeAddress(t)
	r := serve(t, append(certified(t, ca).secured(address), "--max-clients", "20")...)
	good := soon(t, address, ca.trust(t))
	hello := []byte{22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3} // of a handshake that goes on
	stop := make(chan struct{})
	defer close(stop)
	for i := range strangers {
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
		soon(t, address, ca.trust(t))
	}
	w := wired(t, r.address)
	if got := w.info(t, "connected_clients"); got != "6" {
		t.Errorf("%s clients, want 6", got)
	}
	until(t, "those who did nothing are spoken of", func() bool { return strings.Contains(r.logged(), "others waited") })
	if n := strings.Count(r.logged(), "handshakes have failed"); n > 15 {
		t.Errorf("the log speaks of them %d times", n)
	}
}

func TestTLSOptionsThatAreWrong(t *testing.T) {
	files := certified(t, newAuthority(t))
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
		{"open to the network", files.secured("0.0.0.0:0"), exitUsage, `--tls-listen "0.0.0.0:0" can be reached from other machines: give --password, --users or --tls-client-ca`},
		{"no place to listen", []string{"--listen", ""}, exitUsage, "--tls-listen"},
		{"files that are not there", missing.secured("127.0.0.1:0"), exitFailure, missing.name("cert")},
	} {
		_, log, code := runs(t, limitsrv(nil, append([]string{"--listen", "127.0.0.1:0"}, tt.args...)...))
		if code != tt.code || strings.Count(log, "\n") != 1 || !strings.Contains(log, tt.want) {
			t.Errorf("%s: exit %d, stderr %q, want %d and one line with %q", tt.name, code, log, tt.code, tt.want)
		}
	}
}

// Certificates of clients protect an address that others can reach, and TLS may be all
// that is listened for.
func TestTLSAlone(t *testing.T) {
	ca := newAuthority(t)
	files := certified(t, ca)
	_, port, err := net.SplitHostPort(freeAddress(t))
	if err != nil {
		t.Fatal(err)
	}
	r := launchAt(t, "", append(files.secured("0.0.0.0:"+port), "--tls-client-ca", files.name("ca"))...)
	until(t, "it listens", func() bool { return strings.Contains(r.logged(), "listening") || r.isOver() })
	soon(t, "127.0.0.1:"+port, ca.identified(t, ca, time.Now().Add(time.Hour)))
}
