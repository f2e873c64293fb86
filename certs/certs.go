// Package certs reads the certificates that connections over TLS are made with from
// files, and reads them again when the files change.
package certs

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"limitsrv/files"
)

// Files are PEM files.
type Files struct {
	Cert, Key string // of this side
	// CA is what signs the certificates of the other side, which then must show one.
	// Empty: it is not asked for any.
	CA string
}

// ReadEvery is how often a Source reads its files again, while it is asked.
const ReadEvery = time.Second

// A Source has the configuration that files ask for. While they can't be used, what
// they said before holds. Any goroutine may use it.
type Source struct {
	use   string
	files Files
	log   *slog.Logger

	mu      sync.Mutex
	read    time.Time // when the files were read last
	failure string    // why they could not be used then, which was logged
	pems    [3][]byte // of certificate, key and CA in use
	config  *tls.Config
}

// Open reads the files. use is what the certificates are for, in errors and in the
// log: links, clients. An error names the file.
func Open(use string, files Files, log *slog.Logger) (*Source, error) {
	s := &Source{use: use, files: files, log: log, read: time.Now()}
	if _, err := s.load(); err != nil {
		return nil, err
	}
	return s, nil
}

// Config is the configuration as of now for who accepts: TLS 1.2 or later, and a
// certificate of the other side if there is a CA. It is the same until the files
// change, which are read again before it is given, but only once in ReadEvery; and
// sessions can be resumed for as long. It must not be changed, but cloned.
func (s *Source) Config() *tls.Config {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.read) >= ReadEvery {
		_ = s.reload() // which has logged it
	}
	return s.config
}

// Reload reads the files at once. Its error, which is logged as well, also if it was
// before, is why they can't be used.
func (s *Source) Reload() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failure = ""
	return s.reload()
}

// Expires is when the certificate of this side does that Config gives.
func (s *Source) Expires() time.Time { return expiry(s.Config()) }

// expiry is when the certificate of this side does.
func expiry(c *tls.Config) time.Time { return c.Certificates[0].Leaf.NotAfter }

// reload loads the files and logs what comes of it, once.
func (s *Source) reload() error {
	s.read = time.Now()
	changed, err := s.load()
	switch {
	case err == nil && changed:
		s.log.Info("the certificates for "+s.use+" have changed", "certificate", s.files.Cert, "expires", expiry(s.config))
	case err != nil && err.Error() != s.failure:
		s.failure = err.Error()
		s.log.Error("the certificates for "+s.use+" can't be used, and those from before are", "error", err)
	}
	if err == nil {
		s.failure = ""
	}
	return err
}

// maxPEMBytes bounds a file; that of all CAs a system trusts has a fifth of it.
const maxPEMBytes = 1 << 20

func readPEM(name string) ([]byte, error) {
	pem, _, err := files.Read(name, maxPEMBytes)
	return pem, err
}

// load reads the files and says whether they are other than before.
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
		Certificates: []tls.Certificate{pair},
		// Small records are for browsers that show half a page; replies want few writes.
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
