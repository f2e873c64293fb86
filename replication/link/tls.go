package link

import (
	"crypto/tls"
	"errors"
	"log/slog"
	"net"

	"limitsrv/internal/certs"
)

// certificates are for links over TLS. Each side presents a certificate, which must be
// signed by the other side's CA, for servers and clients, and be valid for the host of its
// node's --raft address.
type certificates struct{ *certs.Source }

func newCertificates(files certs.Files, log *slog.Logger) (*certificates, error) {
	if files.CA == "" {
		return nil, errors.New("TLS for links: no CA is given, and nodes must authenticate each other")
	}
	source, err := certs.Open("links", files, log)
	return &certificates{source}, err
}

// server returns the configuration of the accepting side of a link.
func (c *certificates) server() *tls.Config {
	config := c.Config().Clone()
	config.MinVersion = tls.VersionTLS13
	config.SessionTicketsDisabled = true // a resumed link would not verify against the CA again
	return config
}

// client returns the configuration for dialing an address.
func (c *certificates) client(address string) (*tls.Config, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	config := c.Config()
	return &tls.Config{
		MinVersion:   tls.VersionTLS13,
		Certificates: config.Certificates,
		RootCAs:      config.ClientCAs,
		ServerName:   host,
	}, nil
}
