package commands

import (
	"fmt"
	"net"
)

// elsewhere is the error that sends a client with a command to the node that
// carries it out; nil: this one does. What only looks stays here under READONLY.
// EXEC goes by the commands of its transaction, which it drops if they have to go.
func (s *Session) elsewhere(c *spec, args [][]byte) error {
	ofExec := c.Command == &exec && s.tx.keyed && !s.tx.dirty
	if !ofExec && !s.isForLeader(c, args) {
		return nil
	}
	address := s.h.config.Cluster.Moved()
	if address == "" {
		return nil
	}
	if host, port, err := net.SplitHostPort(address); err == nil { // Redis puts no brackets
		address = host + ":" + port
	}
	slot := s.tx.slot
	if ofExec {
		s.endTransaction()
	} else {
		slot = keySlot(args[c.Keys.First])
	}
	return &Error{"MOVED", fmt.Sprintf("%d %s", slot, address)}
}

// isForLeader says whether a command has keys and is to be carried out by the node
// that has their slots, and not by one of its replicas.
func (s *Session) isForLeader(c *spec, args [][]byte) bool {
	return c.Keys.First > 0 && len(args) > c.Keys.First && (!s.stale || c.Flags&Write != 0)
}
