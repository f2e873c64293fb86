package link

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"limitsrv/internal/certs"
	"limitsrv/internal/testing/testwait"
	"limitsrv/replication/link/linktest"
)

func TestGreetingCheck(t *testing.T) {
	own := Identity{clusterA, testNode("1")}
	for _, tt := range []struct {
		name     string
		kind     linkKind
		from     ClusterID
		expected string
		own      ClusterID
		want     string // in the refusal; empty: no error
	}{
		{"raft in one cluster", linkRaft, clusterA, own.Node, clusterA, ""},
		{"raft without an expected node", linkRaft, clusterA, "", clusterA, ""},
		{"raft to a node that was wiped", linkRaft, clusterA, testNode("2"), clusterA, "not " + testNode("2")},
		{"raft of another cluster", linkRaft, clusterB, "", clusterA, "in cluster"},
		{"raft of no cluster", linkRaft, ClusterID{}, "", clusterA, "not of a cluster"},
		{"raft to no cluster", linkRaft, clusterA, "", ClusterID{}, "not of a cluster"},
		{"raft of no cluster to none", linkRaft, ClusterID{}, "", ClusterID{}, "not of a cluster"},
		{"forwarding in one cluster", linkForward, clusterA, own.Node, clusterA, ""},
		{"forwarding to a node that was wiped", linkForward, clusterA, testNode("2"), clusterA, "not " + testNode("2")},
		{"forwarding of another cluster", linkForward, clusterB, "", clusterA, "in cluster"},
		{"a call in one cluster", linkCall, clusterA, "", clusterA, ""},
		{"a call from a node about to join", linkCall, ClusterID{}, "", clusterA, ""},
		{"a call to a node about to join", linkCall, clusterA, "", ClusterID{}, ""},
		{"a call between founders", linkCall, ClusterID{}, "", ClusterID{}, ""},
		{"a call of another cluster", linkCall, clusterB, "", clusterA, "in cluster"},
	} {
		sent := greeting{tt.kind, Identity{tt.from, testNode("3")}, tt.expected, "10.0.0.3:7379"}
		data, err := sent.append(nil)
		if err != nil {
			t.Fatal(err)
		}
		g, err := readGreeting(bytes.NewReader(data))
		if err != nil || g != sent {
			t.Errorf("%s: read %+v, %v, want %+v", tt.name, g, err, sent)
		}
		refused := g.check(Identity{tt.own, own.Node})
		if text := fmt.Sprint(refused); refused == nil != (tt.want == "") || !strings.Contains(text, tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, refused, tt.want)
		}
	}
}

// readGreeting reads a complete greeting.
func readGreeting(r io.Reader) (greeting, error) {
	body, err := readExpected(r, messageGreeting)
	if err != nil {
		return greeting{}, err
	}
	return parseGreeting(body)
}

// The dialing side gets the reason of a refusal.
func TestGreetingRefused(t *testing.T) {
	var log testwait.Log
	listening := tcpNode(t, Identity{clusterA, testNode("1")}, Options{Log: log.Logger()})
	for _, tt := range []struct {
		name     string
		own      Identity
		kind     linkKind
		expected string
		want     string
	}{
		{"a wiped node", Identity{clusterA, testNode("2")}, linkRaft, testNode("3"), "this is node " + testNode("1")},
		{"another cluster's node", Identity{clusterB, testNode("2")}, linkForward, "",
			`refused: "the other node is in cluster`},
		{"a call from another cluster", Identity{clusterB, testNode("2")}, linkCall, "",
			`refused: "the other node is in cluster`},
		{"one without an id", Identity{clusterA, ""}, linkCall, "", "no node id"},
		{"itself", Identity{clusterA, testNode("1")}, linkCall, "", "both sides are node"},
		{"one with half an id", Identity{clusterA, "1234"}, linkCall, "", "not 4"},
	} {
		dialing := tcpNode(t, tt.own, Options{})
		conn, err := dialing.dial(context.Background(), tt.kind, listening.address(), tt.expected)
		if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), listening.address()) {
			t.Errorf("%s: dial is %v, %v, want an error with %q and the address", tt.name, conn, err, tt.want)
		}
	}
	if n := strings.Count(log.String(), "the other node is in cluster"); n != 1 {
		t.Errorf("the refusal is logged %d times, want once:\n%s", n, &log)
	}
}

// Bytes that are no greeting are refused.
func TestGreetingGarbled(t *testing.T) {
	listening := tcpNode(t, Identity{clusterA, testNode("1")}, Options{})
	for _, tt := range []struct{ name, sent, want string }{
		{"another protocol", "GET / HTTP/1.1\r\n\r\n", "does not begin one"},
		{"a newer version", messageMagic + "\x09\x01\x00\x01x", "version 9"},
		{"nothing in it", messageMagic + "\x02\x01\x00\x00", "0 bytes"},
		{"too much in it", messageMagic + "\x02\x01\xff\x00", "65280 bytes"},
		{"too little in it", messageMagic + "\x02\x01\x00\x02\x01x", "with 2 bytes"},
		{"an unknown message", messageMagic + "\x02\x07\x00\x39" + strings.Repeat("x", 57), "no message of kind 7"},
		{"an unknown link", messageMagic + "\x02\x01\x00\x39\x07" + strings.Repeat("x", 56), "no link of kind 7"},
		{"a node without an address", messageMagic + "\x02\x01\x00\x39\x01" + strings.Repeat("x", 56), "HOST:PORT"},
		{"an answer first", messageMagic + "\x02\x02\x00\x24" + strings.Repeat("x", 36),
			"can't begin with a message of kind 2"},
		{"a challenge of a node without a secret", messageMagic + "\x02\x04\x00\x40" + strings.Repeat("x", 64),
			"this one has none"},
		{"TLS", "\x16\x03\x01" + strings.Repeat("x", 300), "do not use TLS"},
	} {
		conn, err := net.Dial("tcp", listening.address())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, tt.sent); err != nil {
			t.Fatal(err)
		}
		_, err = readAnswer(conn)
		if err == nil || !strings.HasPrefix(err.Error(), "refused: ") || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: answered with %v, want a refusal with %q", tt.name, err, tt.want)
		}
		conn.Close()
	}
}

// Both sides report that only one side uses TLS.
func TestGreetingTLSMismatch(t *testing.T) {
	ca := linktest.NewCA(t)
	for _, tt := range []struct {
		name               string
		listening, dialing *certs.Files
		want               string
	}{
		{"in the clear to TLS", ca.Issue(t, "node"), nil, `refused: "this node's links use TLS`},
		{"TLS to the clear", nil, ca.Issue(t, "node"), "its links do not use TLS"},
	} {
		listening := tcpNode(t, Identity{clusterA, testNode("1")}, Options{TLS: tt.listening})
		dialing := tcpNode(t, Identity{clusterA, testNode("2")}, Options{TLS: tt.dialing})
		_, err := dialing.dial(context.Background(), linkRaft, listening.address(), "")
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: dial is %v, want %q", tt.name, err, tt.want)
		}
	}
}

// The deadline closes a connection without a greeting or without an answer.
func TestGreetingSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := linktest.NewNetwork()
		const timeout = 3 * time.Second
		serveNode(t, Identity{clusterA, testNode("1")},
			Options{Listener: network.Listen("one:1"), Dial: network.Dial, Timeout: timeout})
		start := time.Now()
		conn, err := network.Dial(t.Context(), "one:1")
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(conn, messageMagic)
		if _, err := conn.Read(make([]byte, 1)); err == nil || time.Since(start) != timeout {
			t.Errorf("a silent connection reads %v after %v, want an error after %v", err, time.Since(start), timeout)
		}

		silent := network.Listen("two:2")
		go silent.Accept()
		dialing := serveNode(t, Identity{clusterA, testNode("2")},
			Options{Listener: network.Listen("three:3"), Dial: network.Dial, Timeout: timeout})
		start = time.Now()
		if _, err = dialing.dial(t.Context(), linkRaft, "two:2", ""); err == nil || time.Since(start) != timeout {
			t.Errorf("dial of a silent node is %v after %v, want an error after %v", err, time.Since(start), timeout)
		}
	})
}

// A dialed node answers as a node other than the expected node.
func TestGreetingImpostor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := linktest.NewNetwork()
		listener := network.Listen("one:1")
		go func() {
			conn, _ := listener.Accept()
			readMessage(conn)
			answer, _ := appendAnswer(nil, Identity{clusterA, testNode("3")})
			conn.Write(answer)
		}()
		dialing := serveNode(t, Identity{clusterA, testNode("2")},
			Options{Listener: network.Listen("two:2"), Dial: network.Dial})
		if _, err := dialing.dial(t.Context(), linkRaft, "one:1", testNode("1")); err == nil ||
			!strings.Contains(err.Error(), "it is node "+testNode("3")) {
			t.Errorf("dial is %v", err)
		}
	})
}

// A node accepts at most maxAccepted links.
func TestGreetingFull(t *testing.T) {
	listening := tcpNode(t, Identity{clusterA, testNode("1")}, Options{})
	dialing := tcpNode(t, Identity{clusterA, testNode("2")}, Options{})
	for _, n := range []int{maxAccepted - 1, maxAccepted} {
		listening.mu.Lock()
		listening.accepted = n
		listening.mu.Unlock()
		conn, err := dialing.dial(t.Context(), linkForward, listening.address(), "")
		if (err == nil) != (n < maxAccepted) {
			t.Errorf("with %d links: %v", n, err)
		}
		if err == nil {
			defer conn.Close()
		}
	}
}

// Beyond maxGreeting the oldest connection without a greeting is closed.
func TestGreetingManyConnections(t *testing.T) {
	listening := tcpNode(t, Identity{clusterA, testNode("1")}, Options{})
	silent := make([]net.Conn, 3*maxGreeting)
	for i := range silent {
		conn, err := net.Dial("tcp", listening.address())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		silent[i] = conn
	}
	dialing := tcpNode(t, Identity{clusterA, testNode("2")}, Options{})
	if _, err := dialing.dial(t.Context(), linkCall, listening.address(), ""); err != nil {
		t.Error("with many connections", err)
	}
	for i, conn := range silent[:2*maxGreeting] {
		if _, err := conn.Read(make([]byte, 1)); err == nil {
			t.Errorf("connection %d is open", i)
		}
	}
	listening.mu.Lock()
	defer listening.mu.Unlock()
	if n := len(listening.greeting); n > maxGreeting {
		t.Errorf("%d are greeting, want at most %d", n, maxGreeting)
	}
}

// A host that keeps opening connections displaces only its own.
func TestGreetingBoundPerHost(t *testing.T) {
	var conns []*trackedConn
	for _, host := range []string{"10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.2", "10.0.0.3", "10.0.0.3"} {
		conns = append(conns, &trackedConn{Conn: addressed{address: &net.TCPAddr{IP: net.ParseIP(host), Port: 1}}})
	}
	if i := oldestOfBusiest(conns); i != 2 {
		t.Errorf("connection %d goes, want the first of the host with three", i)
	}
	if i := oldestOfBusiest(conns[:4]); i != 1 {
		t.Errorf("connection %d goes, want the first of the host with two", i)
	}
	if i := oldestOfBusiest(conns[:3]); i != 0 {
		t.Errorf("connection %d goes, want the oldest", i)
	}
}

// addressed is a connection from an address.
type addressed struct {
	net.Conn
	address net.Addr
}

func (a addressed) RemoteAddr() net.Addr { return a.address }

// FuzzGreeting has a listening node read any bytes, with and without a secret.
func FuzzGreeting(f *testing.F) {
	g := greeting{linkCall, Identity{clusterA, testNode("2")}, testNode("1"), "10.0.0.2:7379"}
	data, _ := g.append(nil)
	f.Add(data)
	f.Add(append(data, "\x00\x00\x00\x02{}"...))
	g.kind, g.Cluster = linkRaft, clusterB
	data, _ = g.append(nil)
	f.Add(data)
	f.Add([]byte("\x16\x03\x01"))
	f.Add([]byte(messageMagic + "\x02\x01\x00\x00"))
	own, _ := newShare()
	hello := appendMessage(nil, messageHello, own.body)
	f.Add(hello)
	f.Add(appendMessage(hello, messageProof, make([]byte, proofBytes)))
	f.Add(appendMessage(append(appendMessage(hello, messageProof, make([]byte, proofBytes)), "\x00\x20"...),
		messageGreeting, make([]byte, 64)))
	secrets, _ := OneSecret("0123456789abcdef")
	f.Fuzz(func(t *testing.T, data []byte) {
		if g, err := readGreeting(bytes.NewReader(data)); err == nil {
			again, err := g.append(nil)
			if err != nil || !bytes.HasPrefix(data, again) {
				t.Errorf("read %+v, written again %x, %v", g, again, err)
			}
		}
		readAnswer(bytes.NewReader(data))
		for _, with := range []*Secrets{nil, secrets} {
			synctest.Test(t, func(t *testing.T) { greetedWith(t, data, with) })
		}
	})
}

// greetedWith has a node, with or without secrets, accept a connection that sends some
// bytes. Nothing of it must remain, and a node with a secret must reveal nothing about
// itself.
func greetedWith(t *testing.T, data []byte, secrets *Secrets) {
	own := Identity{clusterA, testNode("1")}
	network := linktest.NewNetwork()
	l := serveNode(t, own, Options{Listener: network.Listen("one:1"), Dial: network.Dial, Secrets: secrets,
		Timeout: time.Second})
	conn, err := network.Dial(t.Context(), "one:1")
	if err != nil {
		t.Fatal(err)
	}
	received := make(chan []byte)
	go func() {
		all, _ := io.ReadAll(conn)
		received <- all
	}()
	conn.Write(data)
	synctest.Wait()
	conn.Close()
	answer, _ := appendAnswer(nil, own)
	if all := <-received; secrets != nil && bytes.Contains(all, answer[messageHead:]) {
		t.Errorf("an unauthenticated node receives %q", all)
	}
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.open) > 0 || l.accepted > 0 || len(l.greeting) > 0 {
		t.Errorf("%d open, %d accepted, %d greeting, when it has hung up", len(l.open), l.accepted, len(l.greeting))
	}
}
