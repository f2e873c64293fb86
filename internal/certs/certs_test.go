package certs

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// write writes files with a new certificate, which is its own CA.
func write(t *testing.T, files Files) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Unix(1<<33, 0), IsCA: true,
		BasicConstraintsValid: true}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{
		files.Cert: {Type: "CERTIFICATE", Bytes: certificate},
		files.Key:  {Type: "PRIVATE KEY", Bytes: private},
		files.CA:   {Type: "CERTIFICATE", Bytes: certificate},
	} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// written returns such files.
func written(t *testing.T) Files {
	dir := t.TempDir()
	files := Files{Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem"),
		CA: filepath.Join(dir, "ca.pem")}
	write(t, files)
	return files
}

func TestOpen(t *testing.T) {
	files := written(t)
	s, err := Open("tests", files, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if c := s.Config(); c.ClientAuth != tls.RequireAndVerifyClientCert || c.ClientCAs == nil ||
		c.MinVersion != tls.VersionTLS12 || len(c.Certificates) != 1 {
		t.Errorf("with a CA: %+v, want TLS 1.2 and a certificate of the client", c)
	}
	files.CA = ""
	if s, err = Open("tests", files, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	if c := s.Config(); c.ClientAuth != tls.NoClientCert {
		t.Errorf("without a CA: %+v, want no certificate of the client", c)
	}
}

func TestInvalidFiles(t *testing.T) {
	other := written(t)
	key, err := os.ReadFile(other.Key)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name  string
		spoil func(Files) (name string, err error)
	}{
		{"no certificate", func(f Files) (string, error) { return f.Cert, os.Remove(f.Cert) }},
		{"no key", func(f Files) (string, error) { return f.Key, os.Remove(f.Key) }},
		{"no CA", func(f Files) (string, error) { return f.CA, os.Remove(f.CA) }},
		{"a key of another certificate", func(f Files) (string, error) { return f.Key, os.WriteFile(f.Key, key, 0o600) }},
		{"a pipe in place of a certificate", func(f Files) (string, error) {
			return f.Cert, errors.Join(os.Remove(f.Cert), syscall.Mkfifo(f.Cert, 0o600))
		}},
		{"an empty CA", func(f Files) (string, error) { return f.CA, os.WriteFile(f.CA, nil, 0o600) }},
	} {
		files := written(t)
		var log bytes.Buffer
		s, err := Open("tests", files, slog.New(slog.NewTextHandler(&log, nil)))
		if err != nil {
			t.Fatal(err)
		}
		before := s.Config()
		name, err := tt.spoil(files)
		if err != nil {
			t.Fatal(err)
		}
		const times = 3
		for range times {
			if err := s.Reload(); err == nil || !strings.Contains(err.Error(), name) ||
				!strings.Contains(err.Error(), "TLS for tests") {
				t.Errorf("%s: Reload() = %v, want an error that names %s", tt.name, err, name)
			}
		}
		if s.Config() != before {
			t.Errorf("%s: the previous configuration is not in use", tt.name)
		}
		if n := strings.Count(log.String(), "can't be used"); n != times {
			t.Errorf("%s: logged %d times, want once per Reload\n%s", tt.name, n, &log)
		}
		if _, err := Open("tests", files, slog.Default()); err == nil {
			t.Errorf("%s: it opens", tt.name)
		}
	}
}

func TestReload(t *testing.T) {
	files := written(t)
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s, err := Open("tests", files, slog.New(slog.NewTextHandler(&log, nil)))
		if err != nil {
			t.Fatal(err)
		}
		first := s.Config()
		time.Sleep(ReadEvery)
		if s.Config() != first {
			t.Error("another configuration, though the files are the same: no session could be resumed")
		}
		write(t, files)
		if s.Config() != first {
			t.Error("the files were read again within ReadEvery")
		}
		time.Sleep(ReadEvery)
		second := s.Config()
		if second == first || second.Certificates[0].Leaf.Equal(first.Certificates[0].Leaf) ||
			second.ClientCAs.Equal(first.ClientCAs) {
			t.Error("the new files are not in use after ReadEvery")
		}
		write(t, files)
		if err := s.Reload(); err != nil || s.Config() == second {
			t.Errorf("Reload() = %v, want the new files in use at once", err)
		}
		if got := log.String(); strings.Count(got, "certificates for tests have changed") != 2 ||
			!strings.Contains(got, "expires=") {
			t.Errorf("logged %q, want two changes", got)
		}
		if err := os.Remove(files.Key); err != nil {
			t.Fatal(err)
		}
		third := s.Config()
		for range 3 {
			time.Sleep(ReadEvery)
			if s.Config() != third {
				t.Error("the previous configuration is not in use")
			}
		}
		if n := strings.Count(log.String(), "can't be used"); n != 1 {
			t.Errorf("errors found by Config are logged %d times, want once\n%s", n, &log)
		}
		if want := third.Certificates[0].Leaf.NotAfter; !s.Expires().Equal(want) {
			t.Errorf("Expires() = %v, want %v", s.Expires(), want)
		}
	})
}

// TestSuites offers the cipher suites of TLS 1.2 one by one: those with CBC, or without forward
// secrecy, must be refused.
func TestSuites(t *testing.T) {
	files := written(t)
	files.CA = ""
	s, err := Open("tests", files, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	accepted := 0
	for _, suite := range append(tls.CipherSuites(), tls.InsecureCipherSuites()...) {
		if suite.SupportedVersions[0] > tls.VersionTLS12 || !strings.Contains(suite.Name, "ECDSA") &&
			strings.Contains(suite.Name, "ECDHE") {
			continue // the certificate is of ECDSA
		}
		near, far := net.Pipe()
		go func() {
			server := tls.Server(far, s.Config())
			_ = server.Handshake()
			server.Close()
		}()
		client := tls.Client(near,
			&tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{suite.ID}})
		err := client.Handshake()
		near.Close()
		want := strings.Contains(suite.Name, "ECDHE") &&
			(strings.Contains(suite.Name, "GCM") || strings.Contains(suite.Name, "POLY1305"))
		if got := err == nil; got != want {
			t.Errorf("%s is accepted: %t, want %t", suite.Name, got, want)
		}
		if err == nil {
			accepted++
		}
	}
	if accepted != 3 {
		t.Errorf("%d suites are accepted, want 3", accepted)
	}
}
