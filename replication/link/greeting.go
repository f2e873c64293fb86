package link

import (
	"encoding/binary"
	"fmt"
	"io"
	"strings"
)

// A linkKind is the purpose of a link.
type linkKind uint8

const (
	linkRaft linkKind = iota + 1
	linkForward
	linkCall
	linkMessages
)

// A greeting describes the link and the node that dials it.
type greeting struct {
	kind     linkKind
	Identity        // of the dialing node
	expected string // the id of the dialed node; empty: unknown
	raft     string // the address for other nodes to reach the dialing node
}

// A messageKind is the kind of a message in the greeting of a link.
type messageKind uint8

const (
	messageGreeting  messageKind = iota + 1 // kind of the link, cluster, node, expected node, address
	messageAnswer                           // cluster, node
	messageRefusal                          // a text
	messageHello                            // a share; see sealDialed
	messageChallenge                        // a share
	messageProof                            // an HMAC
)

// A message is messageMagic, a byte with the version, a byte with its kind, two bytes with
// the length of the rest, and the rest.
const (
	messageMagic   = "LIMITSRV"
	messageVersion = 2
	messageHead    = len(messageMagic) + 4

	greetingBytes = 1 + len(ClusterID{}) + 2*nodeBytes // without the address
	answerBytes   = len(ClusterID{}) + nodeBytes
	proofBytes    = 32
	maxWords      = 300
	maxRaftBytes  = 262 // a host name of 255 bytes in brackets, a colon and a port
)

// messageSizes bounds the rest of a message by its kind.
var messageSizes = [...]struct{ least, most int }{
	messageGreeting:  {greetingBytes, greetingBytes + maxRaftBytes},
	messageAnswer:    {answerBytes, answerBytes},
	messageRefusal:   {1, maxWords},
	messageHello:     {shareBytes, shareBytes},
	messageChallenge: {shareBytes, shareBytes},
	messageProof:     {proofBytes, proofBytes},
}

// tlsHandshake is the first byte of a TLS client.
const tlsHandshake = 0x16

func appendMessage(data []byte, kind messageKind, body []byte) []byte {
	data = append(data, messageMagic...)
	data = append(data, messageVersion, byte(kind))
	data = binary.BigEndian.AppendUint16(data, uint16(len(body)))
	return append(data, body...)
}

// readMessage reads a message and no byte after it. Bytes that are no message of this
// version are a *refusal; all other errors are the reader's.
func readMessage(r io.Reader) (messageKind, []byte, error) {
	var head [messageHead]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	rest := head[len(messageMagic):]
	magic, version, kind, n := string(head[:len(messageMagic)]), rest[0], int(rest[1]),
		int(binary.BigEndian.Uint16(rest[2:]))
	switch {
	case head[0] == tlsHandshake:
		return 0, nil, &refusal{reasonTLS, "this node's links do not use TLS, and the other one's do"}
	case magic != messageMagic:
		return 0, nil, &refusal{reasonGarbled,
			fmt.Sprintf("this is a port for links between nodes, and %q does not begin one", magic)}
	case version != messageVersion:
		return 0, nil, &refusal{reasonVersion,
			fmt.Sprintf("links of version %d, this node has version %d", version, messageVersion)}
	case kind == 0 || kind >= len(messageSizes):
		return 0, nil, &refusal{reasonGarbled, fmt.Sprintf("there is no message of kind %d in a greeting", kind)}
	}
	size := messageSizes[kind]
	if n < size.least || n > size.most {
		return 0, nil, &refusal{reasonGarbled,
			fmt.Sprintf("a message of kind %d with %d bytes, %d to %d are allowed", kind, n, size.least, size.most)}
	}
	body := make([]byte, n)
	_, err := io.ReadFull(r, body)
	return messageKind(kind), body, err
}

// readExpected reads the rest of a message of a kind. A refusal instead of it is an error.
func readExpected(r io.Reader, want messageKind) ([]byte, error) {
	kind, body, err := readMessage(r)
	switch {
	case err != nil:
		return nil, err
	case kind == messageRefusal:
		return nil, fmt.Errorf("refused: %q", body)
	case kind != want:
		return nil, &refusal{reasonGarbled, fmt.Sprintf("a message of kind %d in a greeting, where %d is due", kind, want)}
	}
	return body, nil
}

func (g *greeting) append(data []byte) ([]byte, error) {
	if len(g.raft) > maxRaftBytes {
		return nil, fmt.Errorf("the address of a node has at most %d bytes, not %d", maxRaftBytes, len(g.raft))
	}
	body := append([]byte{byte(g.kind)}, g.Cluster[:]...)
	body, err := appendNode(body, g.Node)
	if err != nil {
		return nil, err
	}
	if body, err = appendNode(body, g.expected); err != nil {
		return nil, err
	}
	return appendMessage(data, messageGreeting, append(body, g.raft...)), nil
}

// parseGreeting parses the rest of a greeting. Its error is a *refusal.
func parseGreeting(body []byte) (greeting, error) {
	g := greeting{kind: linkKind(body[0])}
	body = body[1:]
	body = body[copy(g.Cluster[:], body):]
	g.Node, g.expected, g.raft = nodeOf(body[:nodeBytes]), nodeOf(body[nodeBytes:2*nodeBytes]), string(body[2*nodeBytes:])
	switch {
	case g.kind < linkRaft || g.kind > linkMessages:
		return g, &refusal{reasonGarbled, fmt.Sprintf("there is no link of kind %d", g.kind)}
	case g.Node == "":
		return g, &refusal{reasonGarbled, "the greeting has no node id"}
	}
	if err := CheckAddress("the address in a greeting", g.raft); err != nil {
		return g, &refusal{reasonGarbled, err.Error()}
	}
	return g, nil
}

// appendAnswer appends the answer of a dialed node that accepts the link.
func appendAnswer(data []byte, own Identity) ([]byte, error) {
	body, err := appendNode(append([]byte(nil), own.Cluster[:]...), own.Node)
	return appendMessage(data, messageAnswer, body), err
}

// readAnswer reads the identity of the dialed node; a refusal is an error.
func readAnswer(r io.Reader) (own Identity, err error) {
	body, err := readExpected(r, messageAnswer)
	if err != nil {
		return own, err
	}
	own.Node = nodeOf(body[copy(own.Cluster[:], body):])
	return own, nil
}

// notYet is the refusal of a node that was admitted or bootstrapped and has not been told
// yet.
const notYet = "one of the two nodes is not of a cluster yet"

// IsNotYet reports whether a dial failed because one of the two nodes was admitted or
// bootstrapped and has not been told yet.
func IsNotYet(failed error) bool { return strings.Contains(failed.Error(), notYet) }

// check returns the reason to refuse a link, or nil.
func (g *greeting) check(own Identity) *refusal {
	none := ClusterID{}
	either := g.Cluster == none || own.Cluster == none
	switch {
	case g.Node == own.Node:
		return &refusal{reasonNode, fmt.Sprintf("both sides are node %s", own.Node)}
	case g.expected != "" && g.expected != own.Node:
		return &refusal{reasonNode, fmt.Sprintf("this is node %s, not %s", own.Node, g.expected)}
	case !either && g.Cluster != own.Cluster:
		return &refusal{reasonOtherCluster,
			fmt.Sprintf("the other node is in cluster %v, and this node is in %v", g.Cluster, own.Cluster)}
	case either && g.kind != linkCall:
		return &refusal{reasonNotYet, notYet}
	}
	return nil
}
