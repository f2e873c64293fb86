package link

import (
	"encoding/hex"
	"fmt"
)

// A ClusterID identifies a cluster. It is random; zero: in no cluster yet.
type ClusterID [16]byte

// IsZero reports whether it identifies no cluster.
func (id ClusterID) IsZero() bool { return id == ClusterID{} }

func (id ClusterID) String() string { return hex.EncodeToString(id[:]) }

// MarshalText returns the id in hexadecimal.
func (id ClusterID) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, id[:]), nil }

// UnmarshalText parses the output of MarshalText.
func (id *ClusterID) UnmarshalText(text []byte) error {
	if len(text) != hex.EncodedLen(len(id)) {
		return fmt.Errorf("the id of a cluster has %d hexadecimal digits, not %d", hex.EncodedLen(len(id)), len(text))
	}
	_, err := hex.Decode(id[:], text)
	return err
}

// An Identity is a node's cluster and id.
type Identity struct {
	Cluster ClusterID
	Node    string // 40 hexadecimal digits
}

// A Peer is the node at the other end of a link.
type Peer struct {
	Identity
	Address string // for other nodes to reach it
}

// nodeBytes is the length of a node id in bytes.
const nodeBytes = 20

// appendNode appends a node id; an empty id is all zeros.
func appendNode(data []byte, node string) ([]byte, error) {
	var id [nodeBytes]byte
	if node == "" {
		return append(data, id[:]...), nil
	}
	if len(node) != hex.EncodedLen(nodeBytes) {
		return nil, fmt.Errorf("the id of a node has %d hexadecimal digits, not %d: %q", hex.EncodedLen(nodeBytes), len(node),
			node)
	}
	if _, err := hex.Decode(id[:], []byte(node)); err != nil {
		return nil, fmt.Errorf("the id of a node is %q: %w", node, err)
	}
	return append(data, id[:]...), nil
}

// nodeOf parses the output of appendNode.
func nodeOf(data []byte) string {
	if id := [nodeBytes]byte(data); id != [nodeBytes]byte{} {
		return hex.EncodeToString(id[:])
	}
	return ""
}
