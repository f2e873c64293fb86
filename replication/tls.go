package replication

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"
)

// reloadEvery is how often the files for TLS are read again, while links are made.
const reloadEvery = time.Second

// certificates are what links over TLS are made with. Both sides show one, which the
// CA of the other must have signed, for servers and clients; that of who is dialed must
// be for the host of its address.
//
// The files are read again before a link is made, but only once in reloadEvery. While
// they can't be used, what they said before is.
type certificates struct {
	files TLSFiles
	log   *slog.Logger

	mu      sync.Mutex
	read    time.Time // when the files were read last
	failure string    // why they could not be used then, which was logged
	pems    [3][]byte // of certificate, key and CA in use
	pair    tls.Certificate
	signers *x509.CertPool
}

func newCertificates(files TLSFiles, log *slog.Logger) (*certificates, error) {
	c := &certificates{files: files, log: log, read: time.Now()}
	if _, err := c.load(); err != nil {
		return nil, err
	}
	return c, nil
}

// load reads the files and says whether they are other than before.
func (c *certificates) load() (changed bool, err error) {
	var pems [len(c.pems)][]byte
	for i, name := range [...]string{c.files.Cert, c.files.Key, c.files.CA} {
		if pems[i], err = os.ReadFile(name); err != nil {
			return false, fmt.Errorf("TLS for links: %w", err)
		}
		changed = changed || !bytes.Equal(pems[i], c.pems[i])
	}
	if !changed {
		return false, nil
	}
	pair, err := tls.X509KeyPair(pems[0], pems[1])
	if err != nil {
		return false, fmt.Errorf("TLS for links: certificate %s and key %s: %w", c.files.Cert, c.files.Key, err)
	}
	signers := x509.NewCertPool()
	if !signers.AppendCertsFromPEM(pems[2]) {
		return false, fmt.Errorf("TLS for links: no certificate of a CA in %s", c.files.CA)
	}
	c.pems, c.pair, c.signers = pems, pair, signers
	return true, nil
}

// latest are the certificate of this node and the signers of others as of now.
func (c *certificates) latest() ([]tls.Certificate, *x509.CertPool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); now.Sub(c.read) >= reloadEvery {
		c.read = now
		c.reload()
	}
	return []tls.Certificate{c.pair}, c.signers
}

// reload loads the files and logs what comes of it, once.
func (c *certificates) reload() {
	changed, err := c.load()
	switch {
	case err == nil && changed:
		c.log.Info("the certificates for links have changed", "certificate", c.files.Cert)
	case err != nil && err.Error() != c.failure:
		c.failure = err.Error()
		c.log.Error("the certificates for links can't be used, and those from before are", "error", err)
	}
	if err == nil {
		c.failure = ""
	}
}

// server is the configuration of who accepts a link.
func (c *certificates) server() *tls.Config {
	own, signers := c.latest()
	return &tls.Config{
		MinVersion:             tls.VersionTLS13,
		Certificates:           own,
		ClientCAs:              signers,
		ClientAuth:             tls.RequireAndVerifyClientCert,
		SessionTicketsDisabled: true, // a link resumed would not ask the CA again
	}
}

// client is the configuration of who dials an address.
func (c *certificates) client(address string) (*tls.Config, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	own, signers := c.latest()
	return &tls.Config{
		MinVersion:   tls.VersionTLS13,
		Certificates: own,
		RootCAs:      signers,
		ServerName:   host,
	}, nil
}
