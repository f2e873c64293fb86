package link

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"limitsrv/internal/certs"
	"limitsrv/internal/files"
	"limitsrv/internal/testing/testwait"
	"limitsrv/replication/link/linktest"
)

// testSecrets returns a file of secrets, by digits, or NoSecret.
func testSecrets(t testing.TB, digits ...string) *Secrets {
	t.Helper()
	file := filepath.Join(t.TempDir(), "secrets")
	writeSecrets(t, file, digits...)
	s, err := OpenSecrets(file, true, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func writeSecrets(t testing.TB, file string, digits ...string) {
	t.Helper()
	text := ""
	for _, digit := range digits {
		if digit != NoSecret {
			digit = strings.Repeat(digit, minSecretBytes)
		}
		text += digit + "\n"
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestSecretFile(t *testing.T) {
	const a, b = "aaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbb"
	for _, tt := range []struct {
		name, text  string
		unprotected bool
		secrets     int
		want        string // in the error; empty: no error
	}{
		{"reads one", a, false, 1, ""},
		{"reads several, with comments and empty lines", "# of 2026\r\n" + a + "\r\n\n  " + b + "  \n", false, 2, ""},
		{"accepts none if unprotected", a + "\nnone\n", true, 2, ""},
		{"refuses none elsewhere", a + "\nnone\n", false, 0, "line 2: none accepts any node"},
		{"refuses a short one", a + "\nhunter2\n", false, 0, "line 2: a cluster secret has at least 16 bytes, not 7"},
		{"refuses an empty file", "\n#" + a, false, 0, "it has no secret"},
		{"refuses too many", strings.Repeat(a+"\n", maxSecrets+1), false, 0, "line 9: it may have at most 8"},
	} {
		file := filepath.Join(t.TempDir(), "secrets")
		if err := os.WriteFile(file, []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		secrets, err := OpenSecrets(file, tt.unprotected, slog.New(slog.DiscardHandler))
		if err == nil != (tt.want == "") || err != nil &&
			(!strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "hunter")) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
		if err == nil && len(secrets.current()) != tt.secrets {
			t.Errorf("%s: %d secrets, want %d", tt.name, len(secrets.current()), tt.secrets)
		}
	}
}

// Nodes dial with and without secrets.
func TestSecretLinks(t *testing.T) {
	ca := linktest.NewCA(t)
	for _, tt := range []struct {
		name               string
		listening, dialing []string
		tls                *certs.Files // of both
		want               string       // in the dialing side's error; empty: no error
		logged             string
	}{
		{"the same secret", []string{"a"}, []string{"a"}, nil, "", ""},
		{"the second of them", []string{"b", "a"}, []string{"a"}, nil, "", ""},
		{"one more", []string{"a"}, []string{"a", "b"}, nil, "", ""},
		{"not yet on the other node", []string{"a"}, []string{"b", "a"}, nil, "is not among this one's",
			"is not among this one's"},
		{"another secret", []string{"a"}, []string{"b"}, nil, "is not among this one's", "is not among this one's"},
		{"none to a secret", []string{"a"}, nil, nil, "requires proof", "sent none"},
		{"none to a secret that is not needed yet", []string{"a", "none"}, nil, nil, "", ""},
		{"a secret that is not needed yet to none", nil, []string{"none", "a"}, nil, "", ""},
		{"a secret to none", nil, []string{"a", "none"}, nil, "this one has none", "this one has none"},
		{"the same secret over TLS", []string{"a"}, []string{"a"}, ca.Issue(t, "node"), "", ""},
		{"another secret over TLS", []string{"a"}, []string{"b"}, ca.Issue(t, "node"), "is not among this one's",
			"is not among this one's"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var log testwait.Log
			open := func(digits []string) *Secrets {
				if digits == nil {
					return nil
				}
				return testSecrets(t, digits...)
			}
			listening := tcpNode(t, Identity{clusterA, testNode("1")},
				Options{Secrets: open(tt.listening), TLS: tt.tls, Log: log.Logger(),
					Call: echo})
			dialing := tcpNode(t, Identity{clusterA, testNode("2")}, Options{Secrets: open(tt.dialing), TLS: tt.tls})
			var reply string
			err := dialing.Call(t.Context(), listening.address(), "echo", strings.Repeat("x", 100_000), &reply)
			switch {
			case tt.want == "" && (err != nil || len(reply) != 100_000):
				t.Errorf("%v, %d bytes", err, len(reply))
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("dial is %v, want %q", err, tt.want)
			}
			if tt.logged != "" {
				log.Await(t, tt.logged)
				if listening.refusedLinks.Load() != 1 {
					t.Errorf("%d links are counted as refused, want 1", listening.refusedLinks.Load())
				}
			}
		})
	}
}

// A wiretap is a connection that records all bytes.
type wiretap struct {
	net.Conn
	mu         sync.Mutex
	read, sent bytes.Buffer
}

func (w *wiretap) Read(data []byte) (int, error) {
	n, err := w.Conn.Read(data)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.read.Write(data[:n])
	return n, err
}

func (w *wiretap) Write(data []byte) (int, error) {
	w.mu.Lock()
	w.sent.Write(data)
	w.mu.Unlock()
	return w.Conn.Write(data)
}

// tapped dials the node of the given links through a wiretap.
func tapped(t *testing.T, o Options, to *Links) (tap *wiretap, link net.Conn, err error) {
	t.Helper()
	o.Dial = func(ctx context.Context, address string) (net.Conn, error) {
		raw, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		tap = &wiretap{Conn: raw}
		return tap, err
	}
	dialing := tcpNode(t, Identity{clusterA, testNode("2")}, o)
	link, err = dialing.dial(t.Context(), linkForward, to.address(), testNode("1"))
	return tap, link, err
}

// revealsNothing requires that bytes contain no id.
func revealsNothing(t *testing.T, receiver string, wire []byte) {
	t.Helper()
	answer, _ := appendAnswer(nil, Identity{clusterA, testNode("1")})
	answer = answer[messageHead:]
	for _, private := range [][]byte{answer[:len(ClusterID{})], answer[len(ClusterID{}):],
		bytes.Repeat([]byte{0x22}, nodeBytes), []byte("127.0.0.1")} {
		if bytes.Contains(wire, private) {
			t.Errorf("%s receives %x: %x", receiver, private, wire)
		}
	}
}

// The bytes of links with a secret contain no ids.
func TestSecretRevealsNothing(t *testing.T) {
	a, b := testSecrets(t, "a"), testSecrets(t, "b")
	listening := tcpNode(t, Identity{clusterA, testNode("1")}, Options{Secrets: a, Call: echo})
	tap, link, err := tapped(t, Options{Secrets: a}, listening)
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(link, "a key of a client")
	tap.mu.Lock()
	revealsNothing(t, "a node that listens to members", append(tap.read.Bytes(), tap.sent.Bytes()...))
	if bytes.Contains(tap.sent.Bytes(), []byte("a client")) {
		t.Error("a link is not encrypted")
	}
	tap.mu.Unlock()
	for name, secrets := range map[string]*Secrets{"another secret": b, "none": nil} {
		tap, _, err := tapped(t, Options{Secrets: secrets}, listening)
		if err == nil {
			t.Errorf("%s is accepted", name)
		}
		revealsNothing(t, "an unauthenticated node with "+name, tap.read.Bytes())
	}
	// An unauthenticated node that is dialed, and asks for a proof.
	network := linktest.NewNetwork()
	impostor := network.Listen("two:2")
	received := make(chan []byte)
	go func() {
		conn, err := impostor.Accept()
		if err != nil {
			return
		}
		tap := &wiretap{Conn: conn}
		readExpected(tap, messageHello)
		share, _ := newShare()
		tap.Write(appendMessage(nil, messageChallenge, share.body))
		readExpected(tap, messageProof)
		go tap.Write(appendMessage(nil, messageProof, make([]byte, proofBytes)))
		io.Copy(io.Discard, tap)
		received <- tap.read.Bytes()
	}()
	dialing := serveNode(t, Identity{clusterA, testNode("1")},
		Options{Secrets: a, Listener: network.Listen("127.0.0.1:1"), Dial: network.Dial})
	if _, err := dialing.dial(t.Context(), linkCall, "two:2", ""); err == nil ||
		!strings.Contains(err.Error(), "did not prove") {
		t.Errorf("dial of an impostor is %v", err)
	}
	revealsNothing(t, "an impostor", <-received)
}

// The bytes of an earlier link are replayed.
func TestSecretReplay(t *testing.T) {
	var log testwait.Log
	secrets := testSecrets(t, "a")
	listening := tcpNode(t, Identity{clusterA, testNode("1")}, Options{Secrets: secrets, Log: log.Logger()})
	tap, link, err := tapped(t, Options{Secrets: secrets}, listening)
	if err != nil {
		t.Fatal(err)
	}
	link.Close()
	again, err := net.Dial("tcp", listening.address())
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	again.Write(tap.sent.Bytes())
	if _, err := readExpected(again, messageChallenge); err != nil {
		t.Fatal(err)
	}
	if _, err := readExpected(again, messageProof); err == nil || !strings.Contains(err.Error(), "not among this one's") {
		t.Errorf("a replay is answered %v", err)
	}
	log.Await(t, "not among this one's")
}

// A node gets its own bytes, and its own answers, back.
func TestSecretReflection(t *testing.T) {
	secrets := testSecrets(t, "a")
	node := tcpNode(t, Identity{clusterA, testNode("1")}, Options{Secrets: secrets})
	for _, tt := range []struct {
		name  string
		serve func(conn net.Conn)
		want  string
	}{
		{"its own messages", func(conn net.Conn) {
			hello, _ := readExpected(conn, messageHello)
			conn.Write(appendMessage(nil, messageChallenge, hello))
			proof, _ := readExpected(conn, messageProof)
			conn.Write(appendMessage(nil, messageProof, proof))
			io.Copy(conn, conn)
		}, "did not prove the secret"},
		{"an answer without a proof", func(conn net.Conn) {
			readExpected(conn, messageHello)
			answer, _ := appendAnswer(nil, Identity{clusterA, testNode("2")})
			conn.Write(answer)
			io.Copy(io.Discard, conn)
		}, "a message of kind 2 in a greeting, where 5 is due"},
		{"a link to itself", func(conn net.Conn) {
			to, err := net.Dial("tcp", node.address())
			if err != nil {
				return
			}
			defer to.Close()
			go io.Copy(to, conn)
			io.Copy(conn, to)
		}, "both sides are node"},
	} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		served := make(chan struct{})
		go func() {
			defer close(served)
			if conn, err := listener.Accept(); err == nil {
				defer conn.Close()
				tt.serve(conn)
			}
		}()
		_, err = node.dial(t.Context(), linkCall, listener.Addr().String(), "")
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
		listener.Close()
		node.Close()
		<-served
		node = tcpNode(t, Identity{clusterA, testNode("1")}, Options{Secrets: secrets})
	}
}

// echo answers a call with its body.
func echo(_ context.Context, _ Peer, _ string, body json.RawMessage) (any, error) {
	return body, nil
}

// A cluster goes from no secret to a secret, and on to another, without losing links.
func TestSecretRotation(t *testing.T) {
	names := [2]string{testSecrets(t, NoSecret).file.File, testSecrets(t, NoSecret).file.File}
	synctest.Test(t, func(t *testing.T) {
		var log testwait.Log
		network := linktest.NewNetwork()
		var secrets [2]*Secrets
		var nodes [2]*Links
		for i, address := range []string{"127.0.0.1:1", "127.0.0.1:2"} {
			var err error
			if secrets[i], err = OpenSecrets(names[i], true, log.Logger()); err != nil {
				t.Fatal(err)
			}
			nodes[i] = serveNode(t, Identity{clusterA, testNode(address[len(address)-1:])}, Options{
				Secrets: secrets[i], Listener: network.Listen(address), Dial: network.Dial, Log: log.Logger(), Timeout: time.Minute,
			})
		}
		both := func(what string) {
			t.Helper()
			for i, to := range []string{"127.0.0.1:2", "127.0.0.1:1"} {
				conn, err := nodes[i].dial(t.Context(), linkCall, to, "")
				if err != nil {
					t.Errorf("%s: %v", what, err)
					continue
				}
				conn.Close()
			}
		}
		standing, err := nodes[0].dial(t.Context(), linkRaft, "127.0.0.1:2", "")
		if err != nil {
			t.Fatal(err)
		}
		for _, step := range [][]string{{"none", "a"}, {"a", "none"}, {"a"}, {"a", "b"}, {"b", "a"}, {"b"}} {
			for i := range nodes { // one at a time
				writeSecrets(t, names[i], step...)
				time.Sleep(files.SecretsInterval)
				both(fmt.Sprintf("node %d has %v", i+1, step))
				for _, n := range nodes {
					n.CloseStale(time.Now())
				}
			}
		}
		if n := strings.Count(log.String(), "cluster secrets have changed"); n != 12 {
			t.Errorf("changes are logged %d times, want 12:\n%s", n, &log)
		}
		time.Sleep(secretGrace)
		for _, n := range nodes {
			n.CloseStale(time.Now())
		}
		if _, err := standing.Read(make([]byte, 1)); err == nil {
			t.Error("a link made without a secret is still open")
		}
		writeSecrets(t, names[0], "none")
		secrets[0].unprotected = false
		for range 3 {
			time.Sleep(files.SecretsInterval)
			both("with a file that can't be used")
		}
		if n := strings.Count(log.String(), "can't be read"); n != 1 {
			t.Errorf("a failure is logged %d times, want once:\n%s", n, &log)
		}
	})
}
