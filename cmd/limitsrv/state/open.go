package state

import (
	"limitsrv/commands/calls"
	"limitsrv/engine"
)

// Commands are the calls of every engine, log and snapshot.
var Commands = calls.Commands

// Wall is the clock of the machine, as a node of a cluster reads it. If it is nil, it is the system's.
var Wall func() engine.Instant

// Open opens the state that the options select.
//
// Cost: with --data as long as the disk takes, in a cluster as long as the state takes
// to load.
//
// Errors: a *persist.InUseError if another process holds the data directory.
func Open(c Config) (Opened, error) {
	limits := engine.Options{MaxMemory: int64(c.MaxMemory), Evict: c.OnFull == "evict", Commands: Commands}
	notices := new(engine.Notices)
	switch {
	case len(c.Front) > 0 || c.Raft != "":
		host, err := c.Advertised()
		if err != nil {
			return Opened{}, err
		}
		secrets, err := c.OpenSecrets(c.Log)
		if err != nil {
			return Opened{}, err
		}
		if len(c.Front) > 0 {
			return openFront(c, notices, host, secrets)
		}
		return openCluster(c, notices, host, secrets)
	case c.Data != "":
		return openStore(c, limits, notices)
	}
	memory := newInMemory(limits, c.TestClock, notices)
	return Opened{State: memory, Notices: notices, Cluster: singleServer(c.Options), TestClock: memory.test}, nil
}
