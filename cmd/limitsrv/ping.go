package main

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

// pingTimeout is how long limitsrv ping waits for an answer.
const pingTimeout = 5 * time.Second

const pingUsage = `usage: limitsrv ping [options]

Asks a server that was started with these options, on this machine, for PONG: at --listen, or else
at --unixsocket, or else at --tls-listen if no certificate is wanted there; after a login if there is
--password. LIMITSRV_* and --config count as they do for the server. Ends with 0 if it answers, or wants a login first; with 1 if not.
`

// runPing is the tool ping. Its command line is that of the server.
func runPing(args []string, _ io.Reader, stdout, stderr io.Writer) int {
	if asksHelp(args) {
		fmt.Fprint(stdout, pingUsage)
		return exitOK
	}
	c, err := parseOptions(args, stdout, stderr)
	if errors.Is(err, errDone) {
		return exitOK
	}
	if err != nil {
		complain(stderr, err)
		return exitUsage
	}
	network, address := c.pingAddress()
	if network == "" {
		fmt.Fprintln(stderr, "limitsrv ping: it asks at --listen, --unixsocket, or --tls-listen without --tls-client-ca, and there is none of them")
		return exitUsage
	}
	own := func() (tls.Certificate, error) { return tls.LoadX509KeyPair(c.TLSCert, c.TLSKey) }
	reply, err := ping(network, address, own, c.Password, pingTimeout)
	if err == nil && reply != "+PONG" && !strings.HasPrefix(reply, "-NOAUTH ") {
		err = fmt.Errorf("%s answers %q", address, reply)
	}
	if err != nil {
		fmt.Fprintf(stderr, "limitsrv ping: %v\n", err)
		return exitFailure
	}
	fmt.Fprintln(stdout, "serving")
	return exitOK
}

// pingAddress is where a server is asked by the machine that it is on; no network:
// nowhere.
func (o *options) pingAddress() (network, address string) {
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

// overTLS is the network of who is asked over TLS.
const overTLS = "tls"

// dialOwn connects to a server that, over TLS, shows the certificate own, whatever name
// that is for and whoever has signed it.
func dialOwn(network, address string, own func() (tls.Certificate, error), timeout time.Duration) (net.Conn, error) {
	if network != overTLS {
		return net.DialTimeout(network, address, timeout)
	}
	want, err := own()
	if err != nil {
		return nil, err
	}
	return tls.DialWithDialer(&net.Dialer{Timeout: timeout}, "tcp", address, &tls.Config{
		InsecureSkipVerify: true, // in favour of:
		VerifyConnection: func(s tls.ConnectionState) error {
			if !s.PeerCertificates[0].Equal(want.Leaf) {
				return errors.New("it shows another certificate than its own")
			}
			return nil
		},
	})
}

// ping logs in, if there is a password, and gives the answer to PING.
func ping(network, address string, own func() (tls.Certificate, error), password string, timeout time.Duration) (reply string, err error) {
	conn, err := dialOwn(network, address, own, timeout)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(timeout))
	request, replies := "*1\r\n$4\r\nPING\r\n", 1
	if password != "" {
		request, replies = fmt.Sprintf("*2\r\n$4\r\nAUTH\r\n$%d\r\n%s\r\n", len(password), password)+request, 2
	}
	if _, err := io.WriteString(conn, request); err != nil {
		return "", err
	}
	lines := bufio.NewReader(conn)
	for range replies {
		line, err := lines.ReadString('\n')
		switch {
		case err == nil:
			reply = strings.TrimSuffix(line, "\r\n")
		case reply == "": // a server that takes no more connections says so once
			return "", err
		}
	}
	return reply, nil
}
