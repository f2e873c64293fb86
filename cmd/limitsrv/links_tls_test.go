package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// An authority signs certificates of nodes at 127.0.0.1.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pem         []byte
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{certificate: &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority of a test"},
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}}
	var der []byte
	a.key, der = a.sign(t, a.certificate, nil)
	a.pem = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	a.certificate = parsed
	return a
}

// sign creates a key and its certificate, signed by the authority, or self-signed if
// the authority has no key yet.
func (a *authority) sign(t *testing.T, template *x509.Certificate,
	signer *ecdsa.PrivateKey) (key *ecdsa.PrivateKey, der []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if signer == nil {
		signer = key
	}
	if der, err = x509.CreateCertificate(rand.Reader, template, a.certificate, &key.PublicKey, signer); err != nil {
		t.Fatal(err)
	}
	return key, der
}

// pair returns a certificate of a node or a client and its key, as PEM.
func (a *authority) pair(t *testing.T) (certificate, key []byte) {
	t.Helper()
	return a.pairUntil(t, time.Now().Add(time.Hour))
}

// pairUntil is pair with an expiry time.
func (a *authority) pairUntil(t *testing.T, end time.Time) (certificate, key []byte) {
	t.Helper()
	private, der := a.sign(t, &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "node"}, NotAfter: end,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, a.key)
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded})
}

// tlsFiles is the directory of a node's TLS files.
type tlsFiles string

func (f tlsFiles) args() []string {
	return []string{"--raft-tls-cert", f.name("cert"), "--raft-tls-key", f.name("key"), "--raft-tls-ca", f.name("ca")}
}

func (f tlsFiles) name(of string) string { return filepath.Join(string(f), of+".pem") }

func (f tlsFiles) write(t *testing.T, of string, data []byte) {
	t.Helper()
	if err := os.WriteFile(f.name(of), data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// certify writes a certificate of an authority for a node.
func (f tlsFiles) certify(t *testing.T, by *authority) {
	t.Helper()
	certificate, key := by.pair(t)
	f.write(t, "key", key)
	f.write(t, "cert", certificate)
}

// Nodes change from one authority to another without a restart: they trust both, then get
// certificates of the new authority, then trust only the new authority.
func TestLinksOverTLS(t *testing.T) {
	from, to := newAuthority(t), newAuthority(t)
	var (
		files []tlsFiles
		raft  []string
		nodes []*running
	)
	for range 3 {
		f := tlsFiles(t.TempDir())
		f.certify(t, from)
		f.write(t, "ca", from.pem)
		files, raft = append(files, f), append(raft, freeAddress(t))
	}
	dirs := []string{t.TempDir(), t.TempDir(), t.TempDir()}
	args := func(i int) []string {
		return append(files[i].args(), "--data", dirs[i], "--raft", raft[i], "--peers", strings.Join(raft, ","))
	}
	for i := range 2 {
		nodes = append(nodes, serve(t, args(i)...))
	}
	third, w := joined(t, args(2)...)
	nodes = append(nodes, third)
	w.do(t, "RL.FIXED k 10 3650d 4")

	changed := func(times int) {
		t.Helper()
		for _, r := range nodes {
			until(t, "the files are reloaded", func() bool {
				return strings.Count(r.logged(), "certificates for links have changed") >= times
			})
		}
	}
	each := func(change func(f tlsFiles)) {
		for _, f := range files {
			change(f)
		}
	}
	each(func(f tlsFiles) { f.write(t, "ca", slices.Concat(from.pem, to.pem)) })
	changed(1)
	each(func(f tlsFiles) { f.certify(t, to) })
	changed(2)
	each(func(f tlsFiles) { f.write(t, "ca", to.pem) })
	changed(3)

	third.Process.Kill() // all nodes reconnect, two of them without a restart
	<-third.ended
	nodes[2], w = joined(t, args(2)...)
	if got := fmt.Sprint(w.do(t, "RL.FIXED k 10 3650d 6")); !strings.HasPrefix(got, "[1 10 0 ") {
		t.Errorf("the key is %v, want 0 left of 10", got)
	}
	old := tlsFiles(t.TempDir())
	old.certify(t, from)
	old.write(t, "ca", slices.Concat(from.pem, to.pem))
	for name, args := range map[string][]string{"a certificate of the old authority": old.args(), "none": nil} {
		r := serve(t, append(args, "--data", t.TempDir(), "--raft", freeAddress(t), "--join", raft[0])...)
		until(t, "a node with "+name+" is rejected", func() bool {
			return strings.Contains(r.logged(), "not a member of a cluster yet")
		})
		if nodes := strings.Count(fmt.Sprint(w.do(t, "CLUSTER NODES")), "\n"); nodes != 3 {
			t.Errorf("with %s there are %d nodes", name, nodes)
		}
	}
	// A certificate of the right authority for a host other than the --raft address.
	r := serve(t, append(files[0].args(), "--data", t.TempDir(), "--raft", freeAddressOf(t, "127.0.0.2"), "--join",
		raft[0])...)
	until(t, "the reason of the rejection is logged",
		func() bool { return strings.Contains(r.logged(), "not for the host of its --raft 127.0.0.2") })
	if nodes := strings.Count(fmt.Sprint(w.do(t, "CLUSTER NODES")), "\n"); nodes != 3 {
		t.Errorf("with a certificate for another host there are %d nodes", nodes)
	}
}
