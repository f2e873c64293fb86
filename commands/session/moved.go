package session

import (
	"fmt"
	"net"

	"limitsrv/commands/resp"
	"limitsrv/commands/spec"
	"limitsrv/engine/slots"
)

const codeMoved = "MOVED"

// elsewhere returns the MOVED error for a command that another node must execute; nil:
// this node executes it. Under READONLY this node executes read-only commands. EXEC is
// redirected according to the commands of its transaction. Requires: the cluster is
// Enabled.
func (s *Session) elsewhere(c *Spec, args [][]byte) error {
	ofExec := c.Flags&spec.Executes != 0 && s.tx.keyed && !s.tx.dirty
	if !ofExec && !s.isForLeader(c, args) {
		return nil
	}
	slot := s.tx.slot
	if !ofExec {
		slot = slots.Of(args[c.positions(args).First])
	}
	address, here := s.h.config.Cluster.Where(slot)
	if here {
		return nil
	}
	if host, port, err := net.SplitHostPort(address); err == nil { // as Redis, without brackets
		address = host + ":" + port
	}
	return resp.NewError(codeMoved, fmt.Sprintf("%d %s", slot, address))
}

// isForLeader reports whether a command has keys and must be executed by the leader, not
// by a replica.
func (s *Session) isForLeader(c *Spec, args [][]byte) bool {
	if s.stale && !c.Flags.MayWrite() {
		return false
	}
	k := c.positions(args)
	return k.First <= k.Last
}
