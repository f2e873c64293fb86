package link

import (
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"limitsrv/internal/certs"
	"limitsrv/replication/link/linktest"
)

// Two raft transports communicate over links, and close them.
func TestRaftStream(t *testing.T) {
	ca := linktest.NewCA(t)
	for _, tt := range []struct {
		name string
		tls  [2]*certs.Files
	}{
		{"in the clear", [2]*certs.Files{}},
		{"over TLS", [2]*certs.Files{ca.Issue(t, "a"), ca.Issue(t, "b")}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var nodes [2]*Links
			var transports [2]*raft.NetworkTransport
			expected := testNode("2")
			for i := range nodes {
				nodes[i] = tcpNode(t, Identity{clusterA, testNode(string(rune('1' + i)))}, Options{TLS: tt.tls[i]})
				transports[i] = raft.NewNetworkTransportWithConfig(&raft.NetworkTransportConfig{
					Stream: nodes[i].RaftStream(func(string) string { return expected }), MaxPool: 2, Timeout: 30 * time.Second,
				})
				defer transports[i].Close()
			}
			go func() {
				rpc := <-transports[1].Consumer()
				rpc.Respond(&raft.AppendEntriesResponse{Term: rpc.Command.(*raft.AppendEntriesRequest).Term + 1}, nil)
			}()
			var answer raft.AppendEntriesResponse
			to := raft.ServerAddress(nodes[1].address())
			if err := transports[0].AppendEntries("b", to, &raft.AppendEntriesRequest{Term: 7}, &answer); err != nil ||
				answer.Term != 8 {
				t.Errorf("the answer is %+v, %v", answer, err)
			}
			transports[0].CloseStreams()
			expected = testNode("3")
			if err := transports[0].AppendEntries("b", to, &raft.AppendEntriesRequest{Term: 7}, &answer); err == nil {
				t.Error("a node is accepted as another that was at its address")
			}
		})
	}
}

// Raft links end when the transport does not accept them; the links of a closed stream
// stay open.
func TestRaftStreamLifetime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := linktest.NewNetwork()
		const timeout = time.Second
		listening := serveNode(t, Identity{clusterA, testNode("1")},
			Options{Listener: network.Listen("one:1"), Dial: network.Dial, Timeout: timeout})
		dialing := serveNode(t, Identity{clusterA, testNode("2")},
			Options{Listener: network.Listen("two:2"), Dial: network.Dial})
		stream := dialing.RaftStream(func(string) string { return "" })
		dial := func() net.Conn {
			conn, err := stream.Dial("one:1", time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			return conn
		}

		start := time.Now()
		if _, err := dial().Read(make([]byte, 1)); err != io.EOF || time.Since(start) != timeout {
			t.Errorf("a link that is not accepted: %v after %v, want EOF after %v", err, time.Since(start), timeout)
		}
		for range 2 { // a stream, and the stream after it
			accepting := listening.RaftStream(nil)
			here := dial()
			there, err := accepting.Accept()
			if err != nil {
				t.Fatal(err)
			}
			accepting.Close()
			accepting.Close()
			if _, err := accepting.Accept(); err == nil {
				t.Error("a closed stream accepts")
			}
			go io.WriteString(here, "x")
			if _, err := there.Read(make([]byte, 1)); err != nil {
				t.Error("a link ends with the stream it came by", err)
			}
		}
		if accepting := listening.RaftStream(nil); accepting.Addr().String() != "one:1" {
			t.Errorf("it is at %v", accepting.Addr())
		}
		listening.Close()
		if _, err := stream.Dial("one:1", time.Minute); err == nil {
			t.Error("closed links are dialed")
		}
	})
}
