package main

import (
	"errors"
	"fmt"

	"limitsrv/cmd/limitsrv/state"
	"limitsrv/persist"
	"limitsrv/replication/offline"
	"limitsrv/replication/storage"
)

// checkOptions are the options of the tool check.
type checkOptions struct {
	Dir    string `arg:"" help:"The data directory. No server may be using it."`
	Repair bool   `help:"Set aside or cut off unreadable data, so that a server starts. Reports the data that would be lost, and asks first."`
	Yes    bool   `help:"Answer yes to the questions of --repair."`
}

const checkDescription = `Verifies a data directory: that every block of its snapshots can be loaded, every
entry of its log replayed, and that the log continues the newest snapshot. Nothing is changed without --repair,
which is not for nodes of a cluster.

Exits with 0 if the data is intact, with 1 if it is damaged, and with 3 if a server
would start, but drop the tail of the log, which was not on disk when the machine
went down.`

func runCheck(c call) int {
	var o checkOptions
	if code, ok := c.parse("check", checkDescription, &o); !ok {
		return code
	}
	say := func(line string) { fmt.Fprintln(c.stdout, line) }
	member, err := offline.IsMember(o.Dir)
	switch {
	case err != nil:
	case member && o.Repair:
		err = errors.New("a node of a cluster can't be repaired, because its state would differ from that on the other " +
			"nodes: " + storage.Anew)
	case member:
		err = offline.Check(o.Dir, state.Commands, say)
	case o.Repair:
		err = persist.Repair(nil, o.Dir, state.Commands, say, func(question string) bool { return o.Yes || c.ask(question) })
	default:
		err = persist.Check(nil, o.Dir, state.Commands, say)
	}
	switch {
	case errors.Is(err, persist.ErrDrops):
		fmt.Fprintf(c.stderr, "limitsrv check: %v\n", err)
		return exitDrops
	case errors.Is(err, persist.ErrDamaged) && member:
		fmt.Fprintf(c.stderr, "limitsrv check: %v; %s\n", err, storage.Anew)
	case errors.Is(err, persist.ErrDamaged) && !o.Repair:
		fmt.Fprintf(c.stderr, "limitsrv check: %v; limitsrv check --repair %s reports which data can be saved\n", err, o.Dir)
	case err != nil:
		fmt.Fprintf(c.stderr, "limitsrv check: %v\n", err)
	default:
		return exitOK
	}
	return exitFailure
}
