package main

import (
	"errors"
	"fmt"
	"net"

	"limitsrv/server"
)

// adminOptions are those of the admin listener.
type adminOptions struct {
	Admin           string `group:"Admin" placeholder:"HOST:PORT" help:"Where it serves metrics, probes and a page that shows what is happening, over HTTP. Beyond loopback it needs a login of clients."`
	AdminPprof      bool   `group:"Admin" help:"Serve profiles there as well, to users with the group admin."`
	AdminKeyMetrics bool   `group:"Admin" help:"Have metrics name the ten keys refused and asked most. Off since keys may be personal data, which metrics are kept of for long, and each makes a time series."`
}

// checkAdmin holds the options of the admin listener against each other.
func (o *options) checkAdmin() error {
	if o.Admin == "" {
		if o.AdminPprof || o.AdminKeyMetrics {
			return errors.New("--admin-pprof and --admin-key-metrics are for the admin listener: give it --admin HOST:PORT")
		}
		return nil
	}
	if _, _, err := net.SplitHostPort(o.Admin); err != nil {
		return fmt.Errorf("--admin must be HOST:PORT, got %q", o.Admin)
	}
	if err := server.RequireProtection(o.Admin, o.Password, o.isProtected()); err != nil {
		return fmt.Errorf("--admin %s can be reached from other machines: set --password or --users, or use 127.0.0.1", o.Admin)
	}
	return nil
}
