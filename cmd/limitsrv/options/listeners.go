package options

import (
	"errors"
	"fmt"
	"net"

	"limitsrv/commands/resp"
	"limitsrv/server"
)

// checkTLS checks the dependencies between the options.
func (o *Options) checkTLS() (all []error) {
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

// servesRedis reports whether there is a listener for Redis clients.
func (o *Options) servesRedis() bool {
	return o.Listen != "" || o.TLSListen != "" || o.Unixsocket != ""
}

// checkAdmin checks the options of the admin listener.
func (o *Options) checkAdmin() (all []error) {
	if o.Admin == "" {
		if o.AdminTLS || o.AdminPprof || o.AdminKeyMetrics {
			all = append(all, errors.New("--admin-tls, --admin-pprof and --admin-key-metrics are for the admin listener: give "+
				"it --admin HOST:PORT"))
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

// checkRLS checks the options of the listeners for rules.
func (o *Options) checkRLS() (all []error) {
	if o.RLS == "" && o.RLSHTTP == "" && (o.RLSTLS || o.RLSMetadata || o.RLSHeaders != "off") {
		all = append(all,
			errors.New("--rls-tls, --rls-headers and --rls-metadata are for the listeners for rules: give --rls or --rls-http"))
	}
	if o.RLSTLS && o.TLSCert == "" {
		all = append(all, errors.New("--rls-tls needs --tls-cert and --tls-key"))
	}
	protected := o.isProtected() || o.RLSTLS && o.TLSClientCA != ""
	for _, l := range []struct{ option, address string }{{"--rls", o.RLS}, {"--rls-http", o.RLSHTTP}} {
		if l.address == "" || server.IsUnix(l.address) {
			continue
		}
		if _, _, err := net.SplitHostPort(l.address); err != nil {
			all = append(all, fmt.Errorf("%s must be HOST:PORT or unix:PATH, got %q", l.option, l.address))
			continue
		}
		all = append(all, server.RequireProtection(l.option, l.address, protected,
			"give --password, --users, or --rls-tls with --tls-client-ca, or listen on 127.0.0.1"))
	}
	return all
}

// requireProtection returns errors for listeners that other machines can reach without
// authentication.
func (o *Options) requireProtection() []error {
	clients := o.isProtected() || o.Unprotected
	nodes := o.hasSecret() || o.RaftTLSCert != "" || o.Unprotected
	return []error{
		server.RequireProtection("--listen", o.Listen, clients, remedy("--password or --users")),
		server.RequireProtection("--tls-listen", o.TLSListen, clients || o.TLSClientCA != "",
			remedy("--password, --users or --tls-client-ca")),
		server.RequireProtection("--raft", o.Raft, nodes, remedy(raftProtection)),
		server.RequireProtection("--raft-bind", o.RaftBind, nodes, remedy(raftProtection)),
	}
}

// remedy describes how to protect a listener, or to confirm with --unprotected that it
// is open.
func remedy(how string) string {
	return "give " + how + ", or listen on 127.0.0.1, or confirm with --unprotected"
}

// isProtected reports whether clients must log in.
func (o *Options) isProtected() bool { return o.Password != "" || o.Users != "" }

// Limits returns the limits of a client's requests and replies.
func (o *Options) Limits() server.Limits {
	return server.Limits{
		Limits:      resp.Limits{Args: o.MaxArgs, ArgBytes: int(o.MaxArgBytes), QueryBytes: int(o.MaxQueryBytes)},
		OutputBytes: int(o.MaxOutputBytes),
	}
}
