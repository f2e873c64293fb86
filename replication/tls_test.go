package replication

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"limitsrv/certs"
)

// A testCA signs the certificates of nodes.
type testCA struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newTestCA(t testing.TB) *testCA {
	t.Helper()
	ca := &testCA{key: newTestKey(t)}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test CA"},
		NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1<<33, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &ca.key.PublicKey, ca.key)
	if err != nil {
		t.Fatal(err)
	}
	if ca.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	return ca
}

func newTestKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// issue makes files for a node of that name at 127.0.0.1.
func (ca *testCA) issue(t testing.TB, name string) *certs.Files {
	t.Helper()
	dir := t.TempDir()
	files := &certs.Files{Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem"), CA: filepath.Join(dir, "ca.pem")}
	ca.issueTo(t, files, name, net.IPv4(127, 0, 0, 1))
	return files
}

func (ca *testCA) issueTo(t testing.TB, files *certs.Files, name string, address net.IP) {
	t.Helper()
	key := newTestKey(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1<<33, 0),
		DNSNames: []string{name}, IPAddresses: []net.IP{address},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, ca.cert, &key.PublicKey, ca.key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	writePEM(t, files.Cert, "CERTIFICATE", der)
	writePEM(t, files.Key, "PRIVATE KEY", private)
	writePEM(t, files.CA, "CERTIFICATE", ca.cert.Raw)
}

func writePEM(t testing.TB, name, kind string, der []byte) {
	t.Helper()
	if err := os.WriteFile(name, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestTLS(t *testing.T) {
	ca, other := newTestCA(t), newTestCA(t)
	elsewhere := ca.issue(t, "node")
	ca.issueTo(t, elsewhere, "node", net.IPv4(127, 0, 0, 9))
	trusting := ca.issue(t, "node") // signed by the CA, and trusts the other
	writePEM(t, trusting.CA, "CERTIFICATE", other.cert.Raw)
	for _, tt := range []struct {
		name               string
		listening, dialing *certs.Files
		want               string // in the dialing side's error; empty: no error
		logged             string // by the listening side
	}{
		{"one CA", ca.issue(t, "a"), ca.issue(t, "b"), "", ""},
		{"a certificate for another address", elsewhere, ca.issue(t, "b"), "127.0.0.9, not 127.0.0.1", "bad certificate"},
		{"a node of another CA", ca.issue(t, "a"), other.issue(t, "b"), "unknown authority", "bad certificate"},
		{"the dialing node has another CA", trusting, ca.issue(t, "b"), "unknown certificate authority", "unknown authority"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var log records
			listening := tcpLinks(t, identity{clusterA, testNode("1")}, linkOptions{tls: tt.listening, log: log.logger()})
			dialing := tcpLinks(t, identity{clusterA, testNode("2")}, linkOptions{tls: tt.dialing})
			_, err := dialing.dial(context.Background(), linkCall, listening.address(), testNode("1"))
			switch {
			case tt.want == "" && err != nil:
				t.Error(err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("dial is %v, want an error with %q", err, tt.want)
			}
			if tt.logged != "" {
				log.await(t, tt.logged)
				return
			}
			listening.close()
			if text := log.String(); text != "" {
				t.Errorf("logged %q", text)
			}
		})
	}
}

// A node dials with a certificate for a host other than that in its --raft address.
func TestTLSNameOfDialer(t *testing.T) {
	ca := newTestCA(t)
	var log records
	listening := tcpLinks(t, identity{clusterA, testNode("1")}, linkOptions{tls: ca.issue(t, "a"), log: log.logger(), call: echo})
	for _, tt := range []struct{ raft, want string }{
		{"127.0.0.1:7379", ""},
		{"b:7379", ""},
		{"[127.0.0.1]:7379", ""},
		{"127.0.0.2:7379", "not for the host of its --raft 127.0.0.2:7379"},
		{"elsewhere:7379", "not for the host of its --raft elsewhere:7379"},
	} {
		dialing := tcpLinks(t, identity{Node: testNode("2")}, linkOptions{tls: ca.issue(t, "b"), address: tt.raft})
		err := dialing.call(t.Context(), listening.address(), "echo", 1, nil)
		if err == nil != (tt.want == "") || err != nil && (!strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), testNode("1"))) {
			t.Errorf("a node at %s with a certificate for b and 127.0.0.1: %v, want %q", tt.raft, err, tt.want)
		}
	}
	log.await(t, "not for the host")
}

// A node dials without a certificate of its own.
func TestTLSNeedsCertificate(t *testing.T) {
	ca := newTestCA(t)
	var log records
	listening := tcpLinks(t, identity{clusterA, testNode("1")}, linkOptions{tls: ca.issue(t, "a"), log: log.logger()})
	trust := x509.NewCertPool()
	trust.AddCert(ca.cert)
	for _, version := range []uint16{tls.VersionTLS13, tls.VersionTLS12} {
		conn, err := tls.Dial("tcp", listening.address(), &tls.Config{RootCAs: trust, MaxVersion: version})
		if err == nil { // the other side requests a certificate after this one has finished
			_, err = io.ReadAll(conn)
		}
		want := map[uint16]string{tls.VersionTLS13: "certificate required", tls.VersionTLS12: "protocol version"}[version]
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("dial with %s is %v, want %q", tls.VersionName(version), err, want)
		}
		if version == tls.VersionTLS13 { // before another one: of two for one reason the first is logged
			log.await(t, "client didn't provide a certificate")
		}
	}
}

// The files change under links that stay open.
func TestTLSRotation(t *testing.T) {
	before, after := newTestCA(t), newTestCA(t)
	files := [2]*certs.Files{before.issue(t, "a"), before.issue(t, "b")}
	synctest.Test(t, func(t *testing.T) {
		var log records
		network := newPipeNet()
		var nodes [2]*links
		for i, address := range []string{"127.0.0.1:1", "127.0.0.1:2"} {
			nodes[i] = serveLinks(t, identity{clusterA, testNode(address[len(address)-1:])}, linkOptions{
				tls: files[i], listener: network.listen(address), dial: network.dial, log: log.logger(), timeout: time.Minute,
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
		after.issueTo(t, files[0], "a", net.IPv4(127, 0, 0, 1))
		if err := dial(); err != nil {
			t.Error("before the files are looked at again", err)
		}
		time.Sleep(certs.ReadEvery)
		if err := dial(); err == nil {
			t.Error("a node with a certificate of one CA has a link to one of another")
		}
		after.issueTo(t, files[1], "b", net.IPv4(127, 0, 0, 1))
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
	ca := newTestCA(t)
	files := ca.issue(t, "a")
	synctest.Test(t, func(t *testing.T) {
		network := newPipeNet()
		const address = "127.0.0.1:1"
		serveLinks(t, identity{clusterA, testNode("1")}, linkOptions{tls: files, listener: network.listen(address), dial: network.dial})
		dialing := serveLinks(t, identity{clusterA, testNode("2")}, linkOptions{tls: files, listener: network.listen("127.0.0.1:2"), dial: network.dial})
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
	ca := newTestCA(t)
	for _, spoil := range []func(*certs.Files) string{
		func(f *certs.Files) string { return f.Cert },
		func(f *certs.Files) string { return f.Key },
		func(f *certs.Files) string { return f.CA },
	} {
		files := ca.issue(t, "a")
		name := spoil(files)
		if err := os.WriteFile(name, []byte("nothing"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := newCertificates(*files, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("with %s spoilt: %v, want an error that names it", name, err)
		}
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
		if _, err := newCertificates(*files, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("without %s: %v, want an error that names it", name, err)
		}
	}
}
