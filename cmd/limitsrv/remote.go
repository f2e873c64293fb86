package main

import (
	"bufio"
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"limitsrv/internal/files"
	"limitsrv/internal/respclient"
)

// Bounds of a tool's session with a server.
const (
	remoteTimeout = time.Minute
	maxCABytes    = 1 << 20
)

// remoteOptions are the options of tools that connect to a server.
type remoteOptions struct {
	User     string `group:"Connection" placeholder:"NAME" help:"User to log in as. Default: the default user, if there is a password."`
	Password string `group:"Connection" env:"LIMITSRV_PASSWORD" help:"Prefer the environment, which other users can't list."`
	TLS      bool   `group:"Connection" name:"tls" help:"Connect over TLS. The certificate must be for the host of the address."`
	TLSCA    string `group:"Connection" name:"tls-ca" placeholder:"FILE" help:"CA of the server's certificate. Default: those of the system."`
	TLSCert  string `group:"Connection" name:"tls-cert" placeholder:"FILE" help:"Certificate of this client, as PEM."`
	TLSKey   string `group:"Connection" name:"tls-key" placeholder:"FILE" help:"Private key of --tls-cert."`
}

// Validate reports options that have no effect.
func (o *remoteOptions) Validate() error {
	switch {
	case !o.TLS && (o.TLSCA != "" || o.TLSCert != "" || o.TLSKey != ""):
		return errors.New("--tls-ca, --tls-cert and --tls-key need --tls")
	case (o.TLSCert == "") != (o.TLSKey == ""):
		return errors.New("--tls-cert and --tls-key must be given together")
	case o.User != "" && o.Password == "":
		return errors.New("--user needs a password: LIMITSRV_PASSWORD in the environment, or --password")
	}
	return nil
}

// validateAt returns an error for options without effect, or for an address that is neither HOST:PORT nor
// unix:PATH.
func (o *remoteOptions) validateAt(address string) error {
	path, socket := strings.CutPrefix(address, "unix:")
	if _, port, err := net.SplitHostPort(address); socket && path == "" || !socket && (err != nil || port == "") {
		return fmt.Errorf("the address of a server must be HOST:PORT or unix:PATH, got %q", address)
	}
	return o.Validate()
}

// connect connects to HOST:PORT or unix:PATH, and logs in if there is a password. The
// session ends after remoteTimeout.
func (o *remoteOptions) connect(address string) (*client, error) {
	conn, err := o.dial(address, pingTimeout)
	if err != nil {
		return nil, err
	}
	conn.SetDeadline(time.Now().Add(remoteTimeout))
	c := &client{conn, bufio.NewReader(conn)}
	if err := c.logIn(o.User, o.Password); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// dial connects to HOST:PORT or unix:PATH. Over TLS it offers protocols. It does not log in.
func (o *remoteOptions) dial(address string, timeout time.Duration, protocols ...string) (net.Conn, error) {
	network := "tcp"
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		network, address = "unix", path
	}
	dialer := &net.Dialer{Timeout: timeout}
	if !o.TLS {
		return dialer.Dial(network, address)
	}
	config := &tls.Config{NextProtos: protocols}
	if o.TLSCA != "" {
		text, _, err := files.Read(o.TLSCA, maxCABytes)
		if err != nil {
			return nil, err
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%s: must have a certificate as PEM, has none", o.TLSCA)
		}
	}
	if o.TLSCert != "" {
		pair, err := tls.LoadX509KeyPair(o.TLSCert, o.TLSKey)
		if err != nil {
			return nil, err
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return tls.DialWithDialer(dialer, network, address, config)
}

// A client sends single commands to a server. Concurrency: not safe for concurrent use.
type client struct {
	net.Conn
	in *bufio.Reader
}

// logIn logs in if there is a password. An empty user is the default user.
func (c *client) logIn(user, password string) error {
	login := []string{"AUTH", user, password}
	switch {
	case password == "":
		return nil
	case user == "":
		login = []string{"AUTH", password}
	}
	_, err := c.do(login...)
	return err
}

// do sends a command and returns its reply, an error reply as an error.
func (c *client) do(args ...string) (any, error) {
	_, sent := c.Write(respclient.AppendCommand(nil, args...))
	reply, err := respclient.Read(c.in) // a server that closes the connection may say why
	if refused, ok := reply.(respclient.Error); ok {
		return nil, refused
	}
	return reply, cmp.Or(sent, err)
}
