// Package certs loads TLS certificates from files, and loads them again when the files
// change.
package certs

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"limitsrv/internal/files"
)

// Files are names of PEM files.
type Files struct {
	Cert, Key string // of this side
	// CA holds the certificate authorities for the other side, which then must present a
	// certificate. Empty: no certificate is requested.
	CA string
}

// ReadEvery is the shortest time between two reads of the files on calls of Config.
const ReadEvery = time.Second

// A Source holds the TLS configuration built from files. While the files are invalid it
// keeps the previous configuration. Concurrency: any goroutine may use it.
type Source struct {
	use   string
	files Files
	log   *slog.Logger

	mu      sync.Mutex
	read    time.Time // time of the last read of the files
	failure string    // error of that read, already logged
	pems    [3][]byte // certificate, key and CA in use
	config  *tls.Config
}

// Open reads the files. use is the purpose of the certificates in errors and in the log:
// links, clients. An error names the file.
func Open(use string, files Files, log *slog.Logger) (*Source, error) {
	s := &Source{use: use, files: files, log: log, read: time.Now()}
	if _, err := s.load(); err != nil {
		return nil, err
	}
	return s, nil
}

// Config returns the current configuration for accepting connections: TLS 1.2 or later,
// with a client certificate required if there is a CA. It reads the files again if the
// last read is ReadEvery ago. The result stays the same until the files change, so
// sessions can be resumed. The caller must not modify it, but may clone it.
func (s *Source) Config() *tls.Config {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.read) >= ReadEvery {
		_ = s.reload() // the error is logged there
	}
	return s.config
}

// Reload reads the files at once. It returns and logs the error if they are invalid, even
// if the same error was logged before.
func (s *Source) Reload() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failure = ""
	return s.reload()
}

// Expires returns the expiry of this side's certificate in Config.
func (s *Source) Expires() time.Time { return expiry(s.Config()) }

// expiry returns the expiry of this side's certificate.
func expiry(c *tls.Config) time.Time { return c.Certificates[0].Leaf.NotAfter }

// reload loads the files, and logs a change, or a new error.
func (s *Source) reload() error {
	s.read = time.Now()
	changed, err := s.load()
	switch {
	case err == nil && changed:
		s.log.Info("the certificates for "+s.use+" have changed", "certificate", s.files.Cert, "expires", expiry(s.config))
	case err != nil && err.Error() != s.failure:
		s.failure = err.Error()
		s.log.Error("the certificates for "+s.use+" can't be used; keeping the previous ones", "error", err)
	}
	if err == nil {
		s.failure = ""
	}
	return err
}

// maxPEMBytes bounds a file; all CAs that a system trusts take a fifth of it.
const maxPEMBytes = 1 << 20

func readPEM(name string) ([]byte, error) {
	pem, _, err := files.Read(name, maxPEMBytes)
	return pem, err
}

// load reads the files and reports whether they have changed.
func (s *Source) load() (changed bool, err error) {
	var pems [len(s.pems)][]byte
	for i, name := range [...]string{s.files.Cert, s.files.Key, s.files.CA} {
		if name == "" {
			continue
		}
		if pems[i], err = readPEM(name); err != nil {
			return false, fmt.Errorf("TLS for %s: %w", s.use, err)
		}
		changed = changed || !bytes.Equal(pems[i], s.pems[i])
	}
	if !changed {
		return false, nil
	}
	pair, err := tls.X509KeyPair(pems[0], pems[1])
	if err != nil {
		return false, fmt.Errorf("TLS for %s: certificate %s and key %s: %w", s.use, s.files.Cert, s.files.Key, err)
	}
	config := &tls.Config{
		MinVersion:   tls.VersionTLS12,
		CipherSuites: suites,
		Certificates: []tls.Certificate{pair},
		// Small records help browsers to show part of a page; replies need few writes.
		DynamicRecordSizingDisabled: true,
	}
	if s.files.CA != "" {
		config.ClientAuth = tls.RequireAndVerifyClientCert
		config.ClientCAs = x509.NewCertPool()
		if !config.ClientCAs.AppendCertsFromPEM(pems[2]) {
			return false, fmt.Errorf("TLS for %s: no certificate of a CA in %s", s.use, s.files.CA)
		}
	}
	s.pems, s.config = pems, config
	return true, nil
}

// suites are the cipher suites of TLS 1.2: all have authenticated encryption and forward secrecy,
// and no suite uses CBC. The suites of TLS 1.3 are fixed.
var suites = []uint16{
	tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
	tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
	tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
}
