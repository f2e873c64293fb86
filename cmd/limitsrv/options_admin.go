package main

import (
	"errors"
	"fmt"
	"net"

	"limitsrv/server"
)

// adminOptions are those of the admin listener.
type adminOptions struct {
	Admin           string `group:"Admin" placeholder:"HOST:PORT" help:"Where it serves metrics, probes and a page that shows what is happening, over HTTP. Beyond loopback clients must have to log in, or to show a certificate there."`
	AdminTLS        bool   `group:"Admin" name:"admin-tls" help:"Serve it over TLS, with --tls-cert and --tls-key, and for clients that --tls-client-ca knows."`
	AdminPprof      bool   `group:"Admin" help:"Serve profiles there as well, to users with the group admin."`
	AdminKeyMetrics bool   `group:"Admin" help:"Have metrics name the ten keys refused and asked most. Off since keys may be personal data, which metrics are kept of for long, and each makes a time series."`
}

// checkAdmin holds the options of the admin listener against each other.
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
