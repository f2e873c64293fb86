package main

import (
	"errors"
	"log/slog"
	"maps"

	"limitsrv/certs"
)

// tlsOptions are the options of TLS for clients.
type tlsOptions struct {
	TLSListen   string `group:"Listeners" name:"tls-listen" placeholder:"HOST:PORT" help:"TCP address for TLS, in addition to or instead of --listen."`
	TLSCert     string `group:"Listeners" name:"tls-cert" placeholder:"FILE" help:"Certificate of --tls-listen, as PEM, followed by intermediate certificates if clients need them."`
	TLSKey      string `group:"Listeners" name:"tls-key" placeholder:"FILE" help:"Private key of --tls-cert."`
	TLSClientCA string `group:"Listeners" name:"tls-client-ca" placeholder:"FILE" help:"CA of client certificates; with it clients must have one. All three files are reloaded when they change."`
}

// checkTLS checks the dependencies between the options.
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

// openTLS reads the certificates for clients. It returns nil if none are configured.
func (o *tlsOptions) openTLS(log *slog.Logger) (*certs.Source, error) {
	if o.TLSCert == "" {
		return nil, nil
	}
	return certs.Open("clients", certs.Files{Cert: o.TLSCert, Key: o.TLSKey, CA: o.TLSClientCA}, log)
}

// sources returns the loaded certificates by their use.
func (n *node) sources() map[string]*certs.Source {
	all := map[string]*certs.Source{"clients": n.certs, "links": n.linkCerts}
	maps.DeleteFunc(all, func(_ string, s *certs.Source) bool { return s == nil })
	return all
}
