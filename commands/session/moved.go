package session

import (
	"fmt"
	"iter"
	"net"

	"limitsrv/commands/resp"
	"limitsrv/commands/spec"
	"limitsrv/engine/slots"
)

const codeMoved = "MOVED"

// errors of commands in a cluster of several groups.
var (
	errCrossSlot = resp.NewError("CROSSSLOT", "Keys in request don't hash to the same slot")
	errUnserved  = resp.NewError("CLUSTERDOWN", "Hash slot not served")
	errOneGroup  = resp.NewError("ERR", "this command needs a cluster of one group: each group of this cluster owns only "+
		"some slots, and knows nothing of the rules and messages of other groups")
)

// elsewhere returns the error for a command that this node must not execute: MOVED if another node must.
// nil: this node executes it. Under READONLY this node executes read-only commands. EXEC is
// redirected according to the commands of its transaction. Requires: the cluster is
// Enabled.
func (s *Session) elsewhere(c *Spec, args [][]byte) error {
	cluster := s.h.config.Cluster
	divided := cluster.Divided()
	if divided && (c.Group == "rules" || c.Flags&spec.Reaches != 0) {
		return errOneGroup
	}
	slot, stale := s.tx.slot, false
	if c.Flags&spec.Executes == 0 || !s.tx.keyed || s.tx.dirty {
		k := c.positions(args)
		if k.First > k.Last {
			return nil
		}
		stale = s.stale && !c.Flags.MayWrite()
		slot = slots.Of(args[k.First])
		if divided {
			if !within(slot, k.All(args)) || s.tx.open && s.tx.keyed && s.tx.slot != slot {
				return errCrossSlot
			}
		} else if stale {
			return nil
		}
	}
	address, here := cluster.Where(slot, stale)
	switch {
	case here:
		return nil
	case address == "":
		return errUnserved
	}
	if host, port, err := net.SplitHostPort(address); err == nil { // as Redis, without brackets
		address = host + ":" + port
	}
	return resp.NewError(codeMoved, fmt.Sprintf("%d %s", slot, address))
}

// within reports whether all keys are in a slot.
func within(slot slots.Slot, keys iter.Seq[[]byte]) bool {
	for key := range keys {
		if slots.Of(key) != slot {
			return false
		}
	}
	return true
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
