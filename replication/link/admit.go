package link

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"time"
)

// admit reads the greeting of an accepted connection and answers it. If it fails, the
// other side was told, and the caller must close the connection.
func (l *Links) admit(conn *trackedConn) (net.Conn, greeting, error) {
	conn.SetDeadline(time.Now().Add(l.o.Timeout))
	over, err := l.acceptTLS(conn)
	if err != nil {
		return nil, greeting{}, err
	}
	link, g, err := l.greeted(conn, over)
	var r *refusal
	switch {
	case errors.As(err, &r):
		l.decline(link, r)
		return nil, g, err
	case err != nil:
		return nil, g, err
	}
	answer, err := appendAnswer(nil, l.o.Identity())
	if err != nil {
		l.o.Log.Error("can't answer a greeting", "error", err)
		return nil, g, err
	}
	if _, err := link.Write(answer); err != nil {
		return nil, g, err
	}
	return link, g, link.SetDeadline(time.Time{})
}

// acceptTLS returns the connection over TLS, if links use it.
func (l *Links) acceptTLS(conn *trackedConn) (net.Conn, error) {
	if l.certificates == nil {
		return conn, nil
	}
	server := tls.Server(conn, l.certificates.server())
	if err := server.HandshakeContext(l.closing); err != nil {
		l.handshakeFailed(conn, err)
		return nil, err
	}
	return securedConn{server, conn}, nil
}

// greeted reads and checks the greeting of a connection, after a challenge if the other
// node starts with a hello. It returns the connection for the answer.
func (l *Links) greeted(conn *trackedConn, over net.Conn) (net.Conn, greeting, error) {
	kind, body, err := readMessage(over)
	if err != nil {
		return over, greeting{}, err
	}
	secrets := l.o.Secrets.current()
	link, used := over, Secret{}
	switch {
	case kind == messageHello && !slices.ContainsFunc(secrets, func(s Secret) bool { return !s.isNone() }):
		return over, greeting{}, &refusal{reasonSecret, "the other node has a cluster secret, and this one has none"}
	case kind == messageHello:
		sealed, s, err := sealAccepted(over, body, secrets, func() { l.logTampered(over) })
		if err != nil {
			return over, greeting{}, err
		}
		link, used = sealed, s
		if body, err = readExpected(link, messageGreeting); err != nil {
			return link, greeting{}, err
		}
	case kind != messageGreeting:
		return over, greeting{}, &refusal{reasonGarbled, fmt.Sprintf("a link can't begin with a message of kind %d", kind)}
	case !slices.Contains(secrets, Secret{}):
		return over, greeting{},
			&refusal{reasonNoSecret, "this node requires proof of its cluster secret, and the other one sent none"}
	}
	l.recordSecret(conn, used)
	g, err := parseGreeting(body)
	if err != nil {
		return link, g, err
	}
	if r := checkName(over, g.raft); r != nil {
		return link, g, r
	}
	if r := g.check(l.o.Identity()); r != nil {
		return link, g, r
	}
	return link, g, nil
}

// checkName refuses a node with a certificate that is not for the host of its own address,
// because it could impersonate any other node.
func checkName(conn net.Conn, raft string) *refusal {
	secured, ok := conn.(securedConn)
	if !ok {
		return nil
	}
	host, _, err := net.SplitHostPort(raft)
	if err == nil {
		err = secured.ConnectionState().PeerCertificates[0].VerifyHostname(host)
	}
	if err != nil {
		return &refusal{reasonTLS,
			fmt.Sprintf("the certificate of the other node is not for the host of its --raft %s: %v", raft, err)}
	}
	return nil
}

// handshakeFailed logs a failed TLS handshake. A node that connected without TLS gets the
// answer without TLS; TLS answers all other failures itself.
func (l *Links) handshakeFailed(conn *trackedConn, err error) {
	var noTLS tls.RecordHeaderError
	switch {
	case errors.Is(err, io.EOF) || l.closing.Err() != nil: // one of the two nodes has closed the connection
	case errors.As(err, &noTLS):
		r := &refusal{reasonTLS, "this node's links use TLS, and the other one's do not"}
		l.decline(conn, r)
	default:
		l.refused(conn, &refusal{reasonTLS, err.Error()})
	}
}

// decline logs and sends a refusal and waits, within the deadline of the connection, until
// the other side closes it: closing with unread bytes would discard the refusal.
func (l *Links) decline(conn net.Conn, r *refusal) {
	l.refused(conn, r)
	words := r.text[:min(len(r.text), maxWords)]
	if _, err := conn.Write(appendMessage(nil, messageRefusal, []byte(words))); err == nil {
		io.CopyN(io.Discard, conn, 16<<10)
	}
}

// greet sends the greeting of a dialed link and reads the answer. If it fails, the caller
// must close the connection.
func (l *Links) greet(ctx context.Context, conn *trackedConn, address string, g greeting) (net.Conn, error) {
	data, err := g.append(nil)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	link, err := l.exchange(ctx, conn, address, data, g.expected)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return link, err
}

// exchange is greet without the bounds of its context.
func (l *Links) exchange(ctx context.Context, conn *trackedConn, address string, data []byte,
	expected string) (net.Conn, error) {
	link, err := l.dialTLS(ctx, conn, address)
	if err != nil {
		return nil, err
	}
	s := l.o.Secrets.current()[0]
	l.recordSecret(conn, s)
	if s.isNone() {
		_, err = link.Write(data)
	} else {
		over := link
		link, err = sealDialed(over, s, data, func() { l.logTampered(over) })
	}
	if err != nil {
		return nil, err
	}
	dialed, err := readAnswer(link)
	if err == nil && expected != "" && dialed.Node != expected {
		err = fmt.Errorf("it is node %s, not %s", dialed.Node, expected)
	}
	return link, err
}

// dialTLS returns the connection over TLS, if links use it.
func (l *Links) dialTLS(ctx context.Context, conn *trackedConn, address string) (net.Conn, error) {
	if l.certificates == nil {
		return conn, nil
	}
	config, err := l.certificates.client(address)
	if err != nil {
		return nil, err
	}
	client := tls.Client(conn, config)
	if err := client.HandshakeContext(ctx); err != nil {
		var noTLS tls.RecordHeaderError
		if errors.As(err, &noTLS) {
			return nil, errors.New("its links do not use TLS, and this node's do")
		}
		return nil, err
	}
	return securedConn{client, conn}, nil
}

// Secret returns the secret for links that are dialed from now on.
func (l *Links) Secret() Secret { return l.o.Secrets.current()[0] }

// The authentication of links, as returned by Links.Authentication.
const (
	AuthOpen         = "open" // no authentication: any node that reaches this node is accepted
	AuthSecret       = "secret"
	AuthSecretOrOpen = "secret-or-open" // during the introduction or removal of a secret
	AuthTLS          = "tls"
	AuthBoth         = "tls-and-secret"
)

// Authentication returns the current authentication of links.
func (l *Links) Authentication() string {
	secrets := l.o.Secrets.current()
	open := slices.Contains(secrets, Secret{})
	switch {
	case l.certificates != nil && open:
		return AuthTLS
	case l.certificates != nil:
		return AuthBoth
	case !open:
		return AuthSecret
	case slices.ContainsFunc(secrets, func(s Secret) bool { return !s.isNone() }):
		return AuthSecretOrOpen
	}
	return AuthOpen
}
