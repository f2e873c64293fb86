package replication

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// A linkKind says what a link is for.
type linkKind uint8

const (
	linkRaft linkKind = iota + 1
	linkForward
	linkCall
)

// A greeting is what the node that dials says first.
type greeting struct {
	kind     linkKind
	identity        // of who dials
	expected string // the id of who is dialed; empty if it is not known
}

// A greeting and the answer to one are alike on the wire: greetingMagic, a byte with
// the version, a byte with the length of the rest, and
//
//	a greeting:  kind, cluster, node, expected node
//	an answer:   a byte, greetingOK or greetingRefused, cluster, node, words
const (
	greetingMagic   = "LIMITSRV"
	greetingVersion = 1
	greetingHead    = len(greetingMagic) + 2
	greetingBytes   = 1 + len(clusterID{}) + 2*nodeBytes
	answerBytes     = 1 + len(clusterID{}) + nodeBytes // without the words
	// maxGreetingBytes bounds both, the head included.
	maxGreetingBytes = 256
	maxWords         = maxGreetingBytes - greetingHead - answerBytes

	greetingOK      = 0
	greetingRefused = 1
)

// tlsHandshake is how a TLS client begins.
const tlsHandshake = 0x16

func (g *greeting) append(data []byte) ([]byte, error) {
	data = append(data, greetingMagic...)
	data = append(data, greetingVersion, byte(greetingBytes), byte(g.kind))
	data = append(data, g.Cluster[:]...)
	data, err := appendNode(data, g.Node)
	if err != nil {
		return nil, err
	}
	return appendNode(data, g.expected)
}

// readGreeting reads a greeting. What is no greeting of this version is a *refusal; all
// else is an error of the reader.
func readGreeting(r io.Reader) (greeting, error) {
	body, err := readGreetingBody(r)
	if err != nil {
		return greeting{}, err
	}
	kind := linkKind(body[0])
	if len(body) != greetingBytes || kind < linkRaft || kind > linkCall {
		return greeting{}, &refusal{reasonGarbled, fmt.Sprintf("there is no link of kind %d with a greeting of %d bytes", kind, len(body))}
	}
	g := greeting{kind: kind}
	body = body[1:]
	body = body[copy(g.Cluster[:], body):]
	g.Node, g.expected = nodeOf(body[:nodeBytes]), nodeOf(body[nodeBytes:])
	if g.Node == "" {
		return g, &refusal{reasonGarbled, "who greets does not say which node it is"}
	}
	return g, nil
}

// readGreetingBody reads a greeting or an answer but for its head: at least a byte.
func readGreetingBody(r io.Reader) ([]byte, error) {
	var buffer [maxGreetingBytes]byte
	head := buffer[:greetingHead]
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, err
	}
	magic, version, n := string(head[:len(greetingMagic)]), head[len(greetingMagic)], int(head[greetingHead-1])
	switch {
	case head[0] == tlsHandshake:
		return nil, &refusal{reasonTLS, "links of this node are in the clear, and the other one's are over TLS"}
	case magic != greetingMagic:
		return nil, &refusal{reasonGarbled, fmt.Sprintf("this is a port for links between nodes, and %q begins none", magic)}
	case version != greetingVersion:
		return nil, &refusal{reasonVersion, fmt.Sprintf("links of version %d, this node has version %d", version, greetingVersion)}
	case n == 0 || n > maxGreetingBytes-greetingHead:
		return nil, &refusal{reasonGarbled, fmt.Sprintf("a greeting of %d bytes, 1 to %d are allowed", n, maxGreetingBytes-greetingHead)}
	}
	body := buffer[greetingHead : greetingHead+n]
	_, err := io.ReadFull(r, body)
	return body, err
}

// appendAnswer adds the answer of the node that was dialed; refused is nil if it agrees.
func appendAnswer(data []byte, own identity, refused *refusal) ([]byte, error) {
	status, words := byte(greetingOK), ""
	if refused != nil {
		status, words = greetingRefused, refused.text[:min(len(refused.text), maxWords)]
	}
	data = append(data, greetingMagic...)
	data = append(data, greetingVersion, byte(answerBytes+len(words)), status)
	data = append(data, own.Cluster[:]...)
	data, err := appendNode(data, own.Node)
	return append(data, words...), err
}

// readAnswer reads who was dialed; a refusal is an error.
func readAnswer(r io.Reader) (identity, error) {
	body, err := readGreetingBody(r)
	switch {
	case err != nil:
		return identity{}, err
	case len(body) < answerBytes:
		return identity{}, fmt.Errorf("an answer of %d bytes, it has at least %d", len(body), answerBytes)
	case body[0] != greetingOK:
		return identity{}, fmt.Errorf("refused: %s", body[answerBytes:])
	}
	own := identity{Node: nodeOf(body[answerBytes-nodeBytes : answerBytes])}
	copy(own.Cluster[:], body[1:])
	return own, nil
}

// check says why a node does not take a link, nil if it does.
func (g *greeting) check(own identity) *refusal {
	none := clusterID{}
	either := g.Cluster == none || own.Cluster == none
	switch {
	case g.expected != "" && g.expected != own.Node:
		return &refusal{reasonNode, fmt.Sprintf("this is node %s, not %s", own.Node, g.expected)}
	case !either && g.Cluster != own.Cluster:
		return &refusal{reasonStranger, fmt.Sprintf("a stranger: of cluster %v, and this node is of %v", g.Cluster, own.Cluster)}
	case either && g.kind != linkCall:
		return &refusal{reasonStranger, "one of the two nodes is not of a cluster yet"}
	}
	return nil
}

// admit takes the greeting of an accepted connection and answers it. If it fails
// that was told to whom it concerns, and the connection is to be closed.
func (l *links) admit(conn *linkConn) (net.Conn, greeting, error) {
	conn.SetDeadline(time.Now().Add(l.o.timeout))
	secured := net.Conn(conn)
	if l.certificates != nil {
		server := tls.Server(conn, l.certificates.server())
		if err := server.HandshakeContext(l.closing); err != nil {
			l.handshakeFailed(conn, err)
			return nil, greeting{}, err
		}
		secured = securedConn{server, conn}
	}
	g, err := readGreeting(secured)
	if err != nil {
		var r *refusal
		if errors.As(err, &r) {
			l.decline(secured, r)
		}
		return nil, g, err
	}
	own := l.o.identity()
	if r := g.check(own); r != nil {
		l.decline(secured, r)
		return nil, g, r
	}
	answer, err := appendAnswer(nil, own, nil)
	if err != nil {
		l.o.log.Error("can't answer a greeting", "error", err)
		return nil, g, err
	}
	if _, err := secured.Write(answer); err != nil {
		return nil, g, err
	}
	return secured, g, secured.SetDeadline(time.Time{})
}

// handshakeFailed tells of a TLS handshake that did: who came in the clear is told in
// the clear, TLS tells others itself.
func (l *links) handshakeFailed(conn *linkConn, err error) {
	var noTLS tls.RecordHeaderError
	switch {
	case errors.Is(err, io.EOF) || l.closing.Err() != nil: // it has hung up, or this node does
	case errors.As(err, &noTLS):
		r := &refusal{reasonTLS, "links of this node are over TLS, and the other one's are in the clear"}
		l.decline(conn, r)
	default:
		l.refused(conn, &refusal{reasonTLS, err.Error()})
	}
}

// decline logs and answers a refusal and waits, within the deadline of the connection, for
// the other side to close it: what was not read of it would have the answer dropped.
func (l *links) decline(conn net.Conn, r *refusal) {
	l.refused(conn, r)
	answer, err := appendAnswer(nil, l.o.identity(), r)
	if err != nil {
		l.o.log.Error("can't answer a greeting", "error", err)
		return
	}
	if _, err := conn.Write(answer); err == nil {
		io.CopyN(io.Discard, conn, 16<<10)
	}
}

// greet says who dials and reads the answer. The connection is to be closed if it fails.
func (l *links) greet(ctx context.Context, conn *linkConn, address string, g greeting) (net.Conn, error) {
	data, err := g.append(nil)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	secured, err := l.exchange(ctx, conn, address, data, g.expected)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return secured, err
}

func (l *links) exchange(ctx context.Context, conn *linkConn, address string, data []byte, expected string) (net.Conn, error) {
	secured := net.Conn(conn)
	if l.certificates != nil {
		config, err := l.certificates.client(address)
		if err != nil {
			return nil, err
		}
		client := tls.Client(conn, config)
		if err := client.HandshakeContext(ctx); err != nil {
			var noTLS tls.RecordHeaderError
			if errors.As(err, &noTLS) {
				return nil, errors.New("its links are in the clear, and those of this node are over TLS")
			}
			return nil, err
		}
		secured = securedConn{client, conn}
	}
	if _, err := secured.Write(data); err != nil {
		return nil, err
	}
	dialed, err := readAnswer(secured)
	if err == nil && expected != "" && dialed.Node != expected {
		err = fmt.Errorf("it is node %s, not %s", dialed.Node, expected)
	}
	return secured, err
}
