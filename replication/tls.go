package replication

import (
	"crypto/tls"
	"errors"
	"log/slog"
	"net"

	"limitsrv/certs"
)

// certificates are for links over TLS. Both sides show one, which the CA of the other must
// have signed, for servers and clients, and which must be for the host of the address at
// which others reach its node.
type certificates struct{ *certs.Source }

func newCertificates(files certs.Files, log *slog.Logger) (*certificates, error) {
	if files.CA == "" {
		return nil, errors.New("TLS for links: no CA is given, and a node must know who the others are")
	}
	source, err := certs.Open("links", files, log)
	return &certificates{source}, err
}

// Certificates are those of links; nil: links are without TLS.
func (n *Node) Certificates() *certs.Source {
	if n.links.certificates == nil {
		return nil
	}
	return n.links.certificates.Source
}

// server is the configuration of the side that accepts a link.
func (c *certificates) server() *tls.Config {
	config := c.Config().Clone()
	config.MinVersion = tls.VersionTLS13
	config.SessionTicketsDisabled = true // a link resumed would not ask the CA again
	return config
}

// client is the configuration of the side that dials an address.
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
