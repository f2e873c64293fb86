package main

import (
	"errors"
	"fmt"
	"net"

	"limitsrv/server"
)

// adminOptions are the options of the admin listener.
type adminOptions struct {
	Admin           string `group:"Admin" placeholder:"HOST:PORT" help:"Address of the admin listener: metrics, probes and a status page over HTTP. Beyond loopback it requires logins for clients, or client certificates."`
	AdminTLS        bool   `group:"Admin" name:"admin-tls" help:"Serve --admin over TLS, with --tls-cert and --tls-key, for clients with a certificate of --tls-client-ca if that is set."`
	AdminPprof      bool   `group:"Admin" help:"Serve profiles at --admin, for users with the group admin."`
	AdminKeyMetrics bool   `group:"Admin" help:"Add metrics of the ten keys denied and requested most, by name. Off because keys may be personal data, metrics are stored for long, and each key is a time series."`
}

// checkAdmin checks the options of the admin listener.
func (o *options) checkAdmin() (all []error) {
	if o.Admin == "" {
		if o.AdminTLS || o.AdminPprof || o.AdminKeyMetrics {
			all = append(all, errors.New("--admin-tls, --admin-pprof and --admin-key-metrics are for the admin listener: give it --admin HOST:PORT"))
		}
		return all
	}
	if o.AdminTLS && o.TLSCert == "" {
		all = append(all, errors.New("--admin-tls needs --tls-cert and --tls-key"))
	}
	if _, _, err := net.SplitHostPort(o.Admin); err != nil {
		return append(all, fmt.Errorf("--admin must be HOST:PORT, got %q", o.Admin))
	}
	protected := o.isProtected() || o.AdminTLS && o.TLSClientCA != ""
	return append(all, server.RequireProtection("--admin", o.Admin, protected,
		"give --password, --users, or --admin-tls with --tls-client-ca, or listen on 127.0.0.1"))
}
