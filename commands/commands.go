package commands

import (
	"slices"

	"limitsrv/commands/limiters"
	"limitsrv/commands/scripts"
	"limitsrv/commands/session"
	"limitsrv/commands/spec"
	"limitsrv/engine"
)

// table lists every command, in the order of help and the README. To add one, add a file
// and a line here. The commands on limits are in the table of package limiters, and those
// on plain values in the table of package datatypes. Scripts run on no engine.
var table = slices.Concat(limitTable, plainCommands(), newScriptHost(session.Config{}).commands())

// limitTable lists the commands of a server with --limits-only.
var limitTable = append(pointers(limiters.All()),
	&rlReset, &rlBlock, &rlBlocked, &rlTop, &rlStats,

	// reservations
	&limiters.Reserve, &limiters.Extend, &limiters.Commit, &limiters.Cancel, &limiters.Reserved,

	// rules
	&rlCheck, &rlSettle, &rlPolicy, &rlRules, &rlOverride,

	// keys
	&del, &unlink, &exists, &touch, &typeOf, &ttl, &pttl, &object,
	&scan, &keys, &randomKey, &dbSize, &flushAll, &flushDB,

	// transactions
	&multi, &exec, &discard, &watch, &unwatch,

	// messages
	&subscribe, &unsubscribe, &pSubscribe, &pUnsubscribe, &publish, &pubSub,

	// connection
	&hello, &authCommand, &ping, &echo, &selectDB, &client, &reset, &quit,

	// server
	&command, &info, &config, &acl, &memory, &slowLog, &latency, &debug,
	&monitor, &timeOf, &role, &wait, &lastSave, &save, &bgSave, &rlBackup, &shutdown,

	// cluster
	&cluster, &asking, &readOnly, &readWrite,
)

// Table returns every command, in the order of help and the README.
func Table() []spec.Command {
	all := make([]spec.Command, len(table))
	for i, c := range table {
		all[i] = *c
	}
	return all
}

// NewHandler makes a Handler of all commands, or with Config.LimitsOnly of those that need
// no plain values. Requires: Exec, Engine and Clock are set.
func NewHandler(c session.Config) *session.Handler {
	if c.LimitsOnly {
		return session.NewHandler(c, session.NewRegistry(limitTable, advice))
	}
	host := newScriptHost(c)
	h := session.NewHandler(c, session.NewRegistry(slices.Concat(limitTable, plainCommands(), host.commands()), advice))
	host.budget.inFlight = h.Granted
	if c.Engine != nil {
		h.CountScripts(scripts.Counter)
	}
	if c.Cluster != nil {
		c.Cluster.HandleForwarded(func(b *engine.Batch, done func(error)) func(error) {
			host.review(b)
			var look engine.Batch
			workOf(&look, b)
			if err := h.ReviewWork(b, &look); err != nil {
				done(err)
				return nil
			}
			return h.CountGranted(b, done)
		})
	}
	return h
}
