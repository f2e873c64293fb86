package main

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"limitsrv/cmd/limitsrv/options"
)

// pingTimeout is the time that limitsrv ping waits for an answer.
const pingTimeout = 5 * time.Second

const pingUsage = `usage: limitsrv ping [options]

Sends PING to the server that was started with these options on this machine: at --listen, else at
--unixsocket, else at --tls-listen if it requires no client certificate; after a login if --password
is set. LIMITSRV_* and --config apply as for the server. Exits with 0 if the server answers or
requires a login first, else with 1.
`

// runPing is the tool ping. It takes the command line of the server.
func runPing(c call) int {
	if c.asksHelp() {
		fmt.Fprint(c.stdout, pingUsage)
		return exitOK
	}
	o, err := c.parseOptions()
	if errors.Is(err, errDone) {
		return exitOK
	}
	if err != nil {
		c.complain(err)
		return exitUsage
	}
	network, address := pingAddress(o.Options)
	if network == "" {
		fmt.Fprintln(c.stderr, "limitsrv ping: needs --listen, --unixsocket, or --tls-listen without --tls-client-ca")
		return exitUsage
	}
	own := func() (tls.Certificate, error) { return tls.LoadX509KeyPair(o.TLSCert, o.TLSKey) }
	err = ping(network, address, own, o.Password, pingTimeout)
	if refused, ok := err.(replyError); ok {
		err = fmt.Errorf("%s answers %q", address, refused)
		if strings.HasPrefix(string(refused), "NOAUTH ") {
			err = nil
		}
	}
	if err != nil {
		fmt.Fprintf(c.stderr, "limitsrv ping: %v\n", err)
		return exitFailure
	}
	fmt.Fprintln(c.stdout, "serving")
	return exitOK
}

// pingAddress returns the address at which this machine can reach the server, or no
// network if no listener is suitable.
func pingAddress(o *options.Options) (network, address string) {
	switch {
	case o.Listen != "":
		return "tcp", o.Listen
	case o.Unixsocket != "":
		return "unix", o.Unixsocket
	case o.TLSListen != "" && o.TLSClientCA == "":
		return overTLS, o.TLSListen
	}
	return "", ""
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

// ping logs in, if password is set, and sends PING. Its error is a replyError if the server
// answers, but not with PONG.
func ping(network, address string, own func() (tls.Certificate, error), password string, timeout time.Duration) error {
	conn, err := dialSelf(network, address, own, timeout)
	if err != nil {
		return err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(timeout))
	c := &client{conn, bufio.NewReader(conn)}
	var refused replyError
	if password != "" {
		if _, err := c.do("AUTH", password); err != nil && !errors.As(err, &refused) {
			return err
		}
	}
	reply, err := c.do("PING")
	switch {
	case err != nil && refused != "" && !errors.As(err, new(replyError)):
		return refused // beyond --max-clients the server sends one error, and closes the connection
	case err == nil && reply != "PONG":
		return replyError(fmt.Sprint(reply))
	}
	return err
}
