package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"limitsrv/cmd/limitsrv/options"
	"limitsrv/internal/respclient"
)

const (
	// pingTimeout bounds the wait of limitsrv ping for an answer.
	pingTimeout = 5 * time.Second
	// pingInterval is the time between two checks with --wait. leastPingTimeout is the least time
	// that a server has for an answer, also at the end of --wait.
	pingInterval     = 50 * time.Millisecond
	leastPingTimeout = time.Second
)

const pingDescription = `Asks a server whether it answers, or with --wait whether it is ready.

  limitsrv ping --wait 5s HOST:PORT     the server at an address, with the options below
  limitsrv ping --wait 5s http://HOST:PORT
                                        the same by its --admin, without a login; with
                                        --admin-tls https://HOST:PORT
  limitsrv ping --wait 5s grpc://HOST:PORT
                                        by the health service of --rls, without a login; with
                                        --rls-tls grpcs://HOST:PORT
  limitsrv ping --wait 5s [options]     the server that was started with these options on this
                                        machine: at --listen, else at --unixsocket, else at
                                        --tls-listen, --admin or --rls, if that requires no
                                        client certificate; LIMITSRV_* and --config apply as for
                                        the server

A server is ready when it answers all commands, by the conditions of /readyz. A node of a cluster
is ready when it also has a vote and the log, so that another node may be stopped. A server whose
disk is full under --fsync everysec is ready, and degraded: --wait prints the reason. With --wait a
server with passwords needs a login. The health service has no reasons, and no word for degraded.

Exits with 0 if the server answers or requires a login first, and with --wait if it is ready in
time; else with 1, or with 2 if the command line is wrong.`

// pingOptions are the options of limitsrv ping with an address.
type pingOptions struct {
	Address       string         `arg:"" optional:"" name:"HOST:PORT" help:"Address of a server, or unix:PATH, or http:// or https:// and the address of --admin, or grpc:// or grpcs:// and the address of --rls."`
	Wait          *time.Duration `placeholder:"DURATION" help:"Wait at most so long until the server is ready. 0s asks once."`
	remoteOptions `embed:""`
}

// Validate returns an error for options that have no effect on a connection to Address.
func (o *pingOptions) Validate() error {
	switch {
	case o.Wait != nil && *o.Wait < 0:
		return fmt.Errorf("--wait must be 0s or longer, is %v", *o.Wait)
	case o.Address == "":
		return nil // the options are the server's options
	}
	_, address, connection := o.server()
	return connection.validateAt(address)
}

// schemes are the schemes of addresses.
var schemes = map[string]struct {
	kind listenerKind
	tls  bool
}{"": {}, "http": {kind: forAdmin}, "https": {forAdmin, true}, "grpc": {kind: forRLS}, "grpcs": {forRLS, true}}

// server returns the server at Address, its address without the scheme, and the options of a connection
// to it.
func (o *pingOptions) server() (p pinged, address string, connection remoteOptions) {
	connection = o.remoteOptions
	name, address, found := strings.Cut(o.Address, "://")
	scheme, known := schemes[name]
	if !found || !known {
		scheme, address = schemes[""], o.Address
	}
	connection.TLS = connection.TLS || scheme.tls
	dial := func(timeout time.Duration, protocols ...string) (net.Conn, error) {
		return connection.dial(address, timeout, protocols...)
	}
	return pinged{o.Address, newProbe(scheme.kind, dial, o.User, o.Password)}, address, connection
}

// A pinged is the server that ping checks.
type pinged struct {
	address string
	probe
}

// A probe asks a listener of a server.
type probe interface {
	// isLive returns nil if the server answers. The error is a respclient.Error if it refuses.
	isLive(timeout time.Duration) error
	// isReady returns nil if the server is ready, with the reason if it is degraded, and otherwise the
	// reason or the error.
	isReady(timeout time.Duration) (degraded string, err error)
}

// A listenerKind is a kind of listener, by its clients.
type listenerKind int

const (
	forRedis listenerKind = iota
	forAdmin
	forRLS
)

// newProbe returns the probe of a listener.
func newProbe(kind listenerKind, dial dialer, user, password string) probe {
	switch kind {
	case forAdmin:
		return adminProbe(dial)
	case forRLS:
		return healthProbe(dial)
	}
	return &redisProbe{dial, user, password}
}

// A dialer connects to a server in at most timeout. protocols are offered by ALPN if the connection is
// over TLS.
type dialer func(timeout time.Duration, protocols ...string) (net.Conn, error)

// runPing is limitsrv ping.
func runPing(c call) int {
	var o pingOptions
	rest, wait := cutWait(c.args)
	asked := c
	if !c.asksHelp() && hasServerOption(rest) {
		asked.args = wait
	}
	if code, ok := asked.parse("ping", pingDescription, &o); !ok {
		return code
	}
	server, _, _ := o.server()
	if o.Address == "" {
		c.args = rest
		own, code := c.ownServer()
		if own == nil {
			return code
		}
		server = *own
	}
	done, err := "serving", error(nil)
	if o.Wait != nil {
		done, err = server.awaitReady(*o.Wait)
	} else {
		err = server.answers()
	}
	if err != nil {
		fmt.Fprintf(c.stderr, "limitsrv ping: %v\n", err)
		return exitFailure
	}
	fmt.Fprintln(c.stdout, done)
	return exitOK
}

// cutWait splits a command line into --wait with its value, and all other words.
func cutWait(args []string) (rest, wait []string) {
	for i := 0; i < len(args); i++ {
		switch {
		case args[i] == "--wait":
			end := min(i+2, len(args))
			wait = append(wait, args[i:end]...)
			i = end - 1
		case strings.HasPrefix(args[i], "--wait="):
			wait = append(wait, args[i])
		default:
			rest = append(rest, args[i])
		}
	}
	return rest, wait
}

// hasServerOption reports whether a command line has an option that the server has and pingOptions
// do not have.
func hasServerOption(args []string) bool {
	server, _ := options.Flags()
	own, err := kong.New(new(pingOptions))
	if err != nil {
		return false // parse reports the error
	}
	return slices.ContainsFunc(args, func(arg string) bool {
		name, isOption := strings.CutPrefix(arg, "--")
		name, _, _ = strings.Cut(name, "=")
		named := func(f *kong.Flag) bool { return f.Name == name }
		return isOption && slices.ContainsFunc(server, named) && !slices.ContainsFunc(own.Model.Flags, named)
	})
}

// ownServer returns the server on this machine that was started with the options of this command
// line. If it is nil, the tool must exit with code.
func (c call) ownServer() (server *pinged, code int) {
	o, err := c.parseOptions()
	if errors.Is(err, errDone) {
		return nil, exitOK
	}
	if err != nil {
		c.complain(err)
		return nil, exitUsage
	}
	network, address, kind := pingAddress(o.Options)
	if network == "" {
		fmt.Fprintln(c.stderr, "limitsrv ping: needs --listen, --unixsocket, --tls-listen without --tls-client-ca, --admin, "+
			"or --rls")
		return nil, exitUsage
	}
	certificate := func() (tls.Certificate, error) { return tls.LoadX509KeyPair(o.TLSCert, o.TLSKey) }
	dial := func(timeout time.Duration, protocols ...string) (net.Conn, error) {
		return dialSelf(network, address, certificate, timeout, protocols...)
	}
	return &pinged{address, newProbe(kind, dial, "", o.Password)}, exitOK
}

// answers returns nil if the server answers PING or requires a login.
func (p *pinged) answers() error {
	err := p.isLive(pingTimeout)
	refused, ok := err.(respclient.Error)
	switch {
	case !ok:
		return err
	case strings.HasPrefix(string(refused), "NOAUTH "):
		return nil
	}
	return fmt.Errorf("%s answers %q", p.address, refused)
}

// awaitReady blocks until the server is ready, for at most wait. It returns the line to print.
func (p *pinged) awaitReady(wait time.Duration) (line string, err error) {
	deadline := time.Now().Add(wait)
	for {
		degraded, err := p.isReady(min(pingTimeout, max(time.Until(deadline), leastPingTimeout)))
		if err == nil && degraded != "" {
			return "ready, degraded: " + degraded, nil
		}
		if err == nil {
			return "ready", nil
		}
		left := time.Until(deadline)
		if left <= 0 || isLasting(err) {
			return "", fmt.Errorf("%s is not ready: %w", p.address, err)
		}
		time.Sleep(min(pingInterval, left))
	}
}

// isLasting reports whether an error of isReady remains until the command line, its files, or the
// users of the server change.
func isLasting(err error) bool {
	refused := respclient.Error("")
	errors.As(err, &refused)
	code, _, _ := strings.Cut(string(refused), " ")
	return errors.Is(err, errNoReadiness) || errors.Is(err, errNoAdmin) || errors.Is(err, errNoHealth) ||
		errors.Is(err, respclient.ErrNotRedis) ||
		errors.As(err, new(*fs.PathError)) ||
		errors.As(err, new(*tls.CertificateVerificationError)) ||
		slices.Contains([]string{"NOAUTH", "WRONGPASS", "NOPERM"}, code)
}

// pingAddress returns an address that this machine can reach the server at, and the kind of its
// listener; or no network if no listener is suitable.
func pingAddress(o *options.Options) (network, address string, kind listenerKind) {
	path, isUnix := strings.CutPrefix(o.RLS, "unix:")
	switch {
	case o.Listen != "":
		return "tcp", o.Listen, forRedis
	case o.Unixsocket != "":
		return "unix", o.Unixsocket, forRedis
	case o.TLSListen != "" && o.TLSClientCA == "":
		return overTLS, o.TLSListen, forRedis
	case o.Admin != "" && !o.AdminTLS:
		return "tcp", o.Admin, forAdmin
	case o.Admin != "" && o.TLSClientCA == "":
		return overTLS, o.Admin, forAdmin
	case isUnix:
		return "unix", path, forRLS
	case o.RLS != "" && !o.RLSTLS:
		return "tcp", o.RLS, forRLS
	case o.RLS != "" && o.TLSClientCA == "":
		return overTLS, o.RLS, forRLS
	}
	return "", "", 0
}

// overTLS is the network name for TLS over TCP.
const overTLS = "tls"

// dialSelf connects to the server. Over TLS it requires the server to present the
// certificate own, regardless of the certificate's names and issuer.
func dialSelf(network, address string, own func() (tls.Certificate, error), timeout time.Duration,
	protocols ...string) (net.Conn, error) {
	if network != overTLS {
		return net.DialTimeout(network, address, timeout)
	}
	want, err := own()
	if err != nil {
		return nil, err
	}
	return tls.DialWithDialer(&net.Dialer{Timeout: timeout}, "tcp", address, &tls.Config{
		NextProtos:         protocols,
		InsecureSkipVerify: true, // because VerifyConnection compares the certificate
		VerifyConnection: func(s tls.ConnectionState) error {
			if !s.PeerCertificates[0].Equal(want.Leaf) {
				return errors.New("the server presents another certificate than --tls-cert")
			}
			return nil
		},
	})
}
