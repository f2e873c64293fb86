package main

import (
	"errors"
	"log/slog"
	"maps"

	"limitsrv/certs"
)

// tlsOptions are for clients over TLS.
type tlsOptions struct {
	TLSListen   string `group:"Where it listens" name:"tls-listen" placeholder:"HOST:PORT" help:"TCP address for TLS, besides or instead of --listen."`
	TLSCert     string `group:"Where it listens" name:"tls-cert" placeholder:"FILE" help:"Certificate for it, as PEM, with what it is signed by if clients don't know that."`
	TLSKey      string `group:"Where it listens" name:"tls-key" placeholder:"FILE" help:"Its key."`
	TLSClientCA string `group:"Where it listens" name:"tls-client-ca" placeholder:"FILE" help:"What signs the certificates of clients, which then must have one. The files are read again when they change."`
}

// checkTLS holds the options against each other.
func (o *tlsOptions) checkTLS() (all []error) {
	if (o.TLSCert == "") != (o.TLSKey == "") {
		all = append(all, errors.New("--tls-cert and --tls-key go together"))
	}
	if o.TLSListen != "" && o.TLSCert == "" && o.TLSKey == "" {
		all = append(all, errors.New("--tls-listen needs --tls-cert and --tls-key"))
	}
	if o.TLSClientCA != "" && o.TLSCert == "" {
		all = append(all, errors.New("--tls-client-ca needs --tls-listen, --tls-cert and --tls-key"))
	}
	return all
}

// openTLS reads the certificates; nil: there are none.
func (o *tlsOptions) openTLS(log *slog.Logger) (*certs.Source, error) {
	if o.TLSCert == "" {
		return nil, nil
	}
	return certs.Open("clients", certs.Files{Cert: o.TLSCert, Key: o.TLSKey, CA: o.TLSClientCA}, log)
}

// sources are the certificates that there are, by what they are for.
func (n *node) sources() map[string]*certs.Source {
	all := map[string]*certs.Source{"clients": n.certs, "links": n.linkCerts}
	maps.DeleteFunc(all, func(_ string, s *certs.Source) bool { return s == nil })
	return all
}
