package link

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"limitsrv/internal/certs"
	"limitsrv/internal/testing/testwait"
	"limitsrv/replication/link/linktest"
)

func TestTLS(t *testing.T) {
	ca, other := linktest.NewCA(t), linktest.NewCA(t)
	elsewhere := ca.Issue(t, "node")
	ca.IssueTo(t, elsewhere, "node", net.IPv4(127, 0, 0, 9))
	trusting := ca.Issue(t, "node") // signed by the CA, and trusts the other
	other.WriteTo(t, trusting.CA)
	for _, tt := range []struct {
		name               string
		listening, dialing *certs.Files
		want               string // in the dialing side's error; empty: no error
		logged             string // by the listening side
	}{
		{"one CA", ca.Issue(t, "a"), ca.Issue(t, "b"), "", ""},
		{"a certificate for another address", elsewhere, ca.Issue(t, "b"), "127.0.0.9, not 127.0.0.1", "bad certificate"},
		{"a node of another CA", ca.Issue(t, "a"), other.Issue(t, "b"), "unknown authority", "bad certificate"},
		{"the dialing node has another CA", trusting, ca.Issue(t, "b"), "unknown certificate authority", "unknown authority"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var log testwait.Log
			listening := tcpNode(t, Identity{clusterA, testNode("1")}, Options{TLS: tt.listening, Log: log.Logger()})
			dialing := tcpNode(t, Identity{clusterA, testNode("2")}, Options{TLS: tt.dialing})
			_, err := dialing.dial(context.Background(), linkCall, listening.address(), testNode("1"))
			switch {
			case tt.want == "" && err != nil:
				t.Error(err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("dial is %v, want an error with %q", err, tt.want)
			}
			if tt.logged != "" {
				log.Await(t, tt.logged)
				return
			}
			listening.Close()
			if text := log.String(); text != "" {
				t.Errorf("logged %q", text)
			}
		})
	}
}

// A node dials with a certificate for a host other than that in its --raft address.
func TestTLSNameOfDialer(t *testing.T) {
	ca := linktest.NewCA(t)
	var log testwait.Log
	listening := tcpNode(t, Identity{clusterA, testNode("1")},
		Options{TLS: ca.Issue(t, "a"), Log: log.Logger(), Call: echo})
	for _, tt := range []struct{ raft, want string }{
		{"127.0.0.1:7379", ""},
		{"b:7379", ""},
		{"[127.0.0.1]:7379", ""},
		{"127.0.0.2:7379", "not for the host of its --raft 127.0.0.2:7379"},
		{"elsewhere:7379", "not for the host of its --raft elsewhere:7379"},
	} {
		dialing := tcpNode(t, Identity{Node: testNode("2")}, Options{TLS: ca.Issue(t, "b"), Address: tt.raft})
		err := dialing.Call(t.Context(), listening.address(), "echo", 1, nil)
		if err == nil != (tt.want == "") || err != nil &&
			(!strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), testNode("1"))) {
			t.Errorf("a node at %s with a certificate for b and 127.0.0.1: %v, want %q", tt.raft, err, tt.want)
		}
	}
	log.Await(t, "not for the host")
}

// A node dials without a certificate of its own.
func TestTLSNeedsCertificate(t *testing.T) {
	ca := linktest.NewCA(t)
	var log testwait.Log
	listening := tcpNode(t, Identity{clusterA, testNode("1")}, Options{TLS: ca.Issue(t, "a"), Log: log.Logger()})
	trust := x509.NewCertPool()
	trust.AddCert(ca.Cert)
	for _, version := range []uint16{tls.VersionTLS13, tls.VersionTLS12} {
		conn, err := tls.Dial("tcp", listening.address(), &tls.Config{RootCAs: trust, MaxVersion: version})
		if err == nil { // the other side requests a certificate after this side has finished
			_, err = io.ReadAll(conn)
		}
		want := map[uint16]string{tls.VersionTLS13: "certificate required", tls.VersionTLS12: "protocol version"}[version]
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("dial with %s is %v, want %q", tls.VersionName(version), err, want)
		}
		if version == tls.VersionTLS13 { // before another refusal: of two for the same reason the first is logged
			log.Await(t, "client didn't provide a certificate")
		}
	}
}

// The files change under links that stay open.
func TestTLSRotation(t *testing.T) {
	before, after := linktest.NewCA(t), linktest.NewCA(t)
	files := [2]*certs.Files{before.Issue(t, "a"), before.Issue(t, "b")}
	synctest.Test(t, func(t *testing.T) {
		var log testwait.Log
		network := linktest.NewNetwork()
		var nodes [2]*Links
		for i, address := range []string{"127.0.0.1:1", "127.0.0.1:2"} {
			nodes[i] = serveNode(t, Identity{clusterA, testNode(address[len(address)-1:])}, Options{
				TLS: files[i], Listener: network.Listen(address), Dial: network.Dial, Log: log.Logger(), Timeout: time.Minute,
			})
		}
		dial := func() error {
			conn, err := nodes[0].dial(t.Context(), linkCall, "127.0.0.1:2", "")
			if err == nil {
				conn.Close()
			}
			return err
		}
		if err := dial(); err != nil {
			t.Fatal(err)
		}
		after.IssueTo(t, files[0], "a", net.IPv4(127, 0, 0, 1))
		if err := dial(); err != nil {
			t.Error("before the files are looked at again", err)
		}
		time.Sleep(certs.ReadEvery)
		if err := dial(); err == nil {
			t.Error("a node with a certificate of one CA has a link to one of another")
		}
		after.IssueTo(t, files[1], "b", net.IPv4(127, 0, 0, 1))
		time.Sleep(certs.ReadEvery)
		if err := dial(); err != nil {
			t.Error("when both are of the new CA", err)
		}
		if n := strings.Count(log.String(), "have changed"); n != 2 {
			t.Errorf("changes are logged %d times, want 2:\n%s", n, &log)
		}

		if err := os.WriteFile(files[1].Key, []byte("no key"), 0o600); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			time.Sleep(certs.ReadEvery)
			if err := dial(); err != nil {
				t.Error("with files that can't be used", err)
			}
		}
		if n := strings.Count(log.String(), "can't be used"); n != 1 {
			t.Errorf("a failure is logged %d times, want once:\n%s", n, &log)
		}
	})
}

// A link to a node that reads nothing is closed.
func TestTLSClose(t *testing.T) {
	ca := linktest.NewCA(t)
	files := ca.Issue(t, "a")
	synctest.Test(t, func(t *testing.T) {
		network := linktest.NewNetwork()
		const address = "127.0.0.1:1"
		serveNode(t, Identity{clusterA, testNode("1")},
			Options{TLS: files, Listener: network.Listen(address), Dial: network.Dial})
		dialing := serveNode(t, Identity{clusterA, testNode("2")},
			Options{TLS: files, Listener: network.Listen("127.0.0.1:2"), Dial: network.Dial})
		conn, err := dialing.dial(t.Context(), linkRaft, address, "")
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		conn.Close()
		if waited := time.Since(start); waited > 0 {
			t.Errorf("it takes %v to close", waited)
		}
	})
}

func TestTLSFilesMissing(t *testing.T) {
	ca := linktest.NewCA(t)
	for _, spoil := range []func(*certs.Files) string{
		func(f *certs.Files) string { return f.Cert },
		func(f *certs.Files) string { return f.Key },
		func(f *certs.Files) string { return f.CA },
	} {
		files := ca.Issue(t, "a")
		name := spoil(files)
		if err := os.WriteFile(name, []byte("nothing"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := newCertificates(*files, slog.New(slog.DiscardHandler)); err == nil ||
			!strings.Contains(err.Error(), name) {
			t.Errorf("with %s spoilt: %v, want an error that names it", name, err)
		}
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
		if _, err := newCertificates(*files, slog.New(slog.DiscardHandler)); err == nil ||
			!strings.Contains(err.Error(), name) {
			t.Errorf("without %s: %v, want an error that names it", name, err)
		}
	}
}
