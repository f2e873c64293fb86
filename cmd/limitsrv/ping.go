package main

import (
	"bufio"
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
  limitsrv ping --wait 5s [options]     the server that was started with these options on this
                                        machine: at --listen, else at --unixsocket, else at
                                        --tls-listen or --admin, if that requires no client
                                        certificate; LIMITSRV_* and --config apply as for the
                                        server

A server is ready when it answers all commands, by the conditions of /readyz. A node of a cluster
is ready when it also has a vote and the log, so that another node may be stopped. A server whose
disk is full under --fsync everysec is ready, and degraded: --wait prints the reason. With --wait a
server with passwords needs a login.

Exits with 0 if the server answers or requires a login first, and with --wait if it is ready in
time; else with 1, or with 2 if the command line is wrong.`

// pingOptions are the options of limitsrv ping with an address.
type pingOptions struct {
	Address       string         `arg:"" optional:"" name:"HOST:PORT" help:"Address of a server, or unix:PATH, or http:// or https:// and the address of --admin."`
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
	_, _, connection := o.target()
	return connection.Validate()
}

// target returns the address without a scheme, whether it is the address of an admin listener, and
// the options of a connection.
func (o *pingOptions) target() (address string, admin bool, connection remoteOptions) {
	connection = o.remoteOptions
	if address, admin = strings.CutPrefix(o.Address, "https://"); admin {
		connection.TLS = true
		return address, admin, connection
	}
	address, admin = strings.CutPrefix(o.Address, "http://")
	return address, admin, connection
}

// A pinged is the server that ping checks.
type pinged struct {
	address        string
	dial           dialer
	admin          bool // the address is that of the admin listener
	user, password string
}

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
	address, admin, connection := o.target()
	server := pinged{o.Address, func(timeout time.Duration) (net.Conn, error) { return connection.dial(address, timeout) },
		admin, o.User, o.Password}
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
	network, address, admin := pingAddress(o.Options)
	if network == "" {
		fmt.Fprintln(c.stderr,
			"limitsrv ping: needs --listen, --unixsocket, --tls-listen without --tls-client-ca, or --admin")
		return nil, exitUsage
	}
	certificate := func() (tls.Certificate, error) { return tls.LoadX509KeyPair(o.TLSCert, o.TLSKey) }
	return &pinged{address, func(timeout time.Duration) (net.Conn, error) {
		return dialSelf(network, address, certificate, timeout)
	}, admin, "", o.Password}, exitOK
}

// answers returns nil if the server answers PING or requires a login.
func (p *pinged) answers() error {
	err := p.ping(pingTimeout)
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
		degraded, err := p.ready(min(pingTimeout, max(time.Until(deadline), leastPingTimeout)))
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

// errNoReadiness is the error for a server that does not report whether it is ready.
var errNoReadiness = errors.New("INFO has no line ready: this is no limitsrv, or an older version; without --wait " +
	"ping asks whether it answers")

// isLasting reports whether an error of ready remains until the command line, its files, or the
// users of the server change.
func isLasting(err error) bool {
	refused := respclient.Error("")
	errors.As(err, &refused)
	code, _, _ := strings.Cut(string(refused), " ")
	return errors.Is(err, errNoReadiness) || errors.Is(err, errNoAdmin) || errors.Is(err, respclient.ErrNotRedis) ||
		errors.As(err, new(*fs.PathError)) ||
		errors.As(err, new(*tls.CertificateVerificationError)) ||
		slices.Contains([]string{"NOAUTH", "WRONGPASS", "NOPERM"}, code)
}

// ready returns nil if the server is ready, with the reason if it is degraded, and otherwise the
// reason or the error.
func (p *pinged) ready(timeout time.Duration) (degraded string, err error) {
	if p.admin {
		return p.dial.isReady(timeout)
	}
	c, err := p.connect(timeout)
	if err != nil {
		return "", err
	}
	defer c.Close()
	if err := c.logIn(p.user, p.password); err != nil {
		return "", err
	}
	reply, err := c.do("INFO", "server")
	if err != nil {
		return "", err
	}
	text, _ := reply.(string)
	var why string
	ready := false
	for line := range strings.SplitSeq(text, "\r\n") {
		name, value, _ := strings.Cut(line, ":")
		switch {
		case name == "not_ready":
			why = value
		case name == "degraded":
			degraded = value
		case line == "ready:1":
			ready = true
		}
	}
	switch {
	case ready:
		return degraded, nil
	case why == "":
		return "", errNoReadiness
	}
	return "", errors.New(why)
}

// connect connects to the server. timeout bounds the dial, and then the use of the connection.
func (p *pinged) connect(timeout time.Duration) (*client, error) {
	conn, err := p.dial(timeout)
	if err != nil {
		return nil, err
	}
	conn.SetDeadline(time.Now().Add(timeout))
	return &client{conn, bufio.NewReader(conn)}, nil
}

// ping logs in, if there is a password, and sends PING. The error is a respclient.Error if the server
// answers something other than PONG. At an admin listener it asks /livez.
func (p *pinged) ping(timeout time.Duration) error {
	if p.admin {
		return p.dial.isLive(timeout)
	}
	c, err := p.connect(timeout)
	if err != nil {
		return err
	}
	defer c.Close()
	var refused respclient.Error
	if err := c.logIn(p.user, p.password); err != nil && !errors.As(err, &refused) {
		return err
	}
	reply, err := c.do("PING")
	switch {
	case err != nil && refused != "" && !errors.As(err, new(respclient.Error)):
		// Above --max-clients the server sends an error and closes the connection.
		return refused
	case err == nil && reply != "PONG":
		return respclient.Error(fmt.Sprint(reply))
	}
	return err
}

// pingAddress returns an address that this machine can reach the server at, and whether it is the
// address of the admin listener; or no network if no listener is suitable.
func pingAddress(o *options.Options) (network, address string, admin bool) {
	switch {
	case o.Listen != "":
		return "tcp", o.Listen, false
	case o.Unixsocket != "":
		return "unix", o.Unixsocket, false
	case o.TLSListen != "" && o.TLSClientCA == "":
		return overTLS, o.TLSListen, false
	case o.Admin != "" && !o.AdminTLS:
		return "tcp", o.Admin, true
	case o.Admin != "" && o.TLSClientCA == "":
		return overTLS, o.Admin, true
	}
	return "", "", false
}

// overTLS is the network name for TLS over TCP.
const overTLS = "tls"

// dialSelf connects to the server. Over TLS it requires the server to present the
// certificate own, regardless of the certificate's names and issuer.
func dialSelf(network, address string, own func() (tls.Certificate, error), timeout time.Duration) (net.Conn, error) {
	if network != overTLS {
		return net.DialTimeout(network, address, timeout)
	}
	want, err := own()
	if err != nil {
		return nil, err
	}
	return tls.DialWithDialer(&net.Dialer{Timeout: timeout}, "tcp", address, &tls.Config{
		InsecureSkipVerify: true, // because VerifyConnection compares the certificate
		VerifyConnection: func(s tls.ConnectionState) error {
			if !s.PeerCertificates[0].Equal(want.Leaf) {
				return errors.New("the server presents another certificate than --tls-cert")
			}
			return nil
		},
	})
}
