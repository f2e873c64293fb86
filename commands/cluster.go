package commands

import (
	"crypto/rand"
	"encoding/hex"
	"net"
	"strconv"
)

// slots is how many slots the keys of a cluster fall into.
const slots = 16384

// A Cluster tells which nodes there are, for CLUSTER and for what changes its
// answer beside it. Many may call at once.
type Cluster interface {
	// Nodes are all nodes, the one that is asked first; none means that there is no
	// cluster. local is the address that the asking client connected to, HOST:PORT.
	Nodes(local string) []Node
}

// A Node is one server of a cluster, with the slots from First to Last.
type Node struct {
	ID          string // 40 hexadecimal digits
	Host        string // empty: the one that the client connected to
	Port        int
	First, Last int
}

// NoCluster is a server by itself.
type NoCluster struct{}

// Nodes are none.
func (NoCluster) Nodes(string) []Node { return nil }

// An Emulated cluster is one node that has all slots: it makes clients of
// clusters work with a server by itself. Nothing is ever in another slot's place,
// so a command may name keys of several.
type Emulated struct{ id string }

// NewEmulated makes one, with an id of its own.
func NewEmulated() Emulated { return Emulated{randomID()} }

// Nodes is the node, at the address that the client connected to.
func (e Emulated) Nodes(local string) []Node {
	n := Node{ID: e.id, Last: slots - 1}
	if host, port, err := net.SplitHostPort(local); err == nil {
		if number, err := strconv.ParseUint(port, 10, 16); err == nil && number > 0 { // else a unix socket
			n.Host, n.Port = host, int(number)
		}
	}
	return []Node{n}
}

// randomID is 40 hexadecimal digits.
func randomID() string {
	var id [20]byte
	rand.Read(id[:])
	return hex.EncodeToString(id[:])
}

// keySlot is the slot of a key: CRC16 of it, or of what stands between its first
// brace and the next closing one, if anything does.
//
// Source: Redis cluster specification, "Hash tags".
func keySlot(key []byte) int {
	for i, c := range key {
		if c != '{' {
			continue
		}
		for j, c := range key[i+1:] {
			if c == '}' {
				if j > 0 {
					key = key[i+1 : i+1+j]
				}
				break
			}
		}
		break
	}
	return int(crc16(key) % slots)
}

// crc16 is the CRC of the XMODEM protocol: polynomial 0x1021, from 0.
func crc16(b []byte) (crc uint16) {
	for _, c := range b {
		crc ^= uint16(c) << 8
		for range 8 {
			top := crc >> 15
			crc = crc<<1 ^ top*0x1021
		}
	}
	return crc
}

// nodes are those of the cluster as the client sees them.
func (s *Session) nodes() []Node { return s.h.config.Cluster.Nodes(s.client.LocalAddr) }

// clustered says whether there is a cluster.
func (h *Handler) clustered() bool { return len(h.config.Cluster.Nodes("")) > 0 }

// mode is what HELLO and INFO call the server.
func (h *Handler) mode() string {
	if h.clustered() {
		return "cluster"
	}
	return "standalone"
}
