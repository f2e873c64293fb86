package main

import (
	"bufio"
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"limitsrv/internal/files"
)

// Bounds of a tool's session with a server.
const (
	remoteTimeout    = time.Minute
	maxReplyBytes    = 64 << 20 // of a string
	maxReplyElements = 1 << 20  // of an array
	maxCABytes       = 1 << 20
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

// dial connects to HOST:PORT or unix:PATH. It does not log in.
func (o *remoteOptions) dial(address string, timeout time.Duration) (net.Conn, error) {
	network := "tcp"
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		network, address = "unix", path
	}
	dialer := &net.Dialer{Timeout: timeout}
	if !o.TLS {
		return dialer.Dial(network, address)
	}
	config := &tls.Config{}
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

// A client sends single commands to a server. Concurrency: one goroutine at a time.
type client struct {
	net.Conn
	in *bufio.Reader
}

// A replyError is an error reply of a server.
type replyError string

func (e replyError) Error() string { return string(e) }

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
	line := fmt.Appendf(nil, "*%d\r\n", len(args))
	for _, arg := range args {
		line = fmt.Appendf(line, "$%d\r\n%s\r\n", len(arg), arg)
	}
	_, sent := c.Write(line)
	reply, err := c.read() // a server that closes the connection may say why
	if refused, ok := reply.(replyError); ok {
		return nil, refused
	}
	return reply, cmp.Or(sent, err)
}

// read reads a reply of RESP2: a string, an int64, a replyError, nil, or a []any of these.
func (c *client) read() (any, error) {
	line, err := c.in.ReadString('\n')
	if err != nil {
		return nil, err
	}
	line = strings.TrimSuffix(line, "\r\n")
	if line == "" {
		return nil, errNotRedis
	}
	kind, text := line[0], line[1:]
	switch kind {
	case '+':
		return text, nil
	case '-':
		return replyError(text), nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err == nil && kind == ':':
		return n, nil
	case err == nil && (kind == '$' || kind == '*') && n == -1:
		return nil, nil
	case err == nil && kind == '$' && n >= 0 && n <= maxReplyBytes:
		b := make([]byte, n+2)
		if _, err := io.ReadFull(c.in, b); err != nil {
			return nil, err
		}
		return string(b[:n]), nil
	case err == nil && kind == '*' && n >= 0 && n <= maxReplyElements:
		all := make([]any, n)
		for i := range all {
			if all[i], err = c.read(); err != nil {
				return nil, err
			}
		}
		return all, nil
	}
	return nil, fmt.Errorf("%w: it answers %.40q", errNotRedis, line)
}

var errNotRedis = errors.New("no server that speaks the Redis protocol")
