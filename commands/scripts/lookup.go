package scripts

import (
	"maps"
	"math"
	"slices"
	"strings"

	"limitsrv/commands/datatypes"
	"limitsrv/commands/limiters"
	"limitsrv/engine"
)

// A command is one that redis.call may find.
type command struct {
	number  uint16 // of datatypes, unless it is forbidden, a limit or has a function of its own
	counter uint16 // see Counter
	least   int    // words, the name included
	most    int
	since   uint8 // the first level of calls that has the command
	// allKeys is set if the command may read keys that it does not name, or selects a database.
	allKeys bool
	writes  bool
	// publishes is set for PUBLISH. It counts as a write, as in Redis.
	publishes bool
	keys      datatypes.Keys
	// forbidden commands exist, but scripts may not call them. blocks is set for blocking
	// commands. They are forbidden at level 1 of calls; at later levels they do not wait.
	forbidden, blocks bool
	plain             bool                                // a command of datatypes
	own               func(m *machine, out []byte) []byte // executes m.words
	limit             *limiters.Command                   // nil: not a limit
}

// isNewer reports whether calls of tx's level do not have the command.
func (c *command) isNewer(tx *engine.Tx) bool { return c.since != 0 && c.since > tx.Level() }

// commands are the commands by name in capitals.
var commands = func() map[string]*command {
	all := make(map[string]*command)
	for i := range datatypes.All() {
		c := &datatypes.All()[i]
		if c.Name == "" {
			continue
		}
		x := &command{number: uint16(i), least: c.Arity, most: c.Arity, writes: c.Flags&datatypes.ReadOnly == 0, keys: c.Keys, plain: true, blocks: c.Flags&datatypes.Blocking != 0}
		if c.Arity < 0 {
			x.least, x.most = -c.Arity, math.MaxInt
		}
		all[c.Name] = x
	}
	for i := range limiters.All() {
		c := &limiters.All()[i]
		least, most := c.Words()
		all[c.Name] = &command{
			limit: c, least: least, most: most, writes: c.Flags&limiters.ReadOnly == 0, keys: datatypes.Keys{First: c.Keys.First, Last: c.Keys.Last, Step: c.Keys.Step},
		}
	}
	reset := *all["DEL"]
	all["RL.RESET"] = &reset
	all["TIME"] = &command{least: 1, most: 1, own: timeNow}
	all["ECHO"] = &command{least: 2, most: 2, own: echo}
	all["PING"] = &command{least: 1, most: 2, own: ping}
	all["KEYS"] = &command{least: 2, most: 2, own: onAllKeys(keysCommand), since: namesLevel, allKeys: true}
	all["SCAN"] = &command{least: 2, most: math.MaxInt, own: onAllKeys(scanCommand), since: namesLevel, allKeys: true}
	all["DBSIZE"] = &command{least: 1, most: 1, own: onAllKeys(dbSizeCommand), since: namesLevel, allKeys: true}
	all["RANDOMKEY"] = &command{least: 1, most: 1, own: onAllKeys(randomKeyCommand), since: namesLevel, allKeys: true}
	all["SELECT"] = &command{least: 2, most: 2, own: onAllKeys(selectCommand), since: namesLevel, allKeys: true}
	all["INFO"] = &command{least: 1, most: math.MaxInt, own: onAllKeys(infoCommand), since: namesLevel, allKeys: true}
	all["MEMORY"] = &command{least: 2, most: math.MaxInt, own: memoryCommand, since: namesLevel, keys: datatypes.Keys{First: 2, Last: 2, Step: 1}}
	all["WAIT"] = &command{least: 3, most: 3, own: wait, since: blockingLevel}
	all["PUBLISH"] = &command{least: 3, most: 3, own: publish, writes: true, publishes: true}
	for _, name := range strings.Fields(`ASKING AUTH CLIENT CLUSTER CONFIG DEBUG DISCARD EVAL EVALSHA EVAL_RO EVALSHA_RO EXEC FAILOVER FCALL FCALL_RO
		FUNCTION HELLO LATENCY MIGRATE MODULE MONITOR MULTI PSUBSCRIBE PSYNC PUNSUBSCRIBE QUIT REPLCONF REPLICAOF RESET RL.BACKUP RL.STATS RL.TOP SAVE BGSAVE SCRIPT
		SHUTDOWN SLAVEOF SLOWLOG SSUBSCRIBE SUBSCRIBE SUNSUBSCRIBE SYNC UNSUBSCRIBE UNWATCH WATCH`) {
		all[name] = &command{forbidden: true}
	}
	for i, name := range slices.Sorted(maps.Keys(all)) {
		all[name].counter = uint16(i)
	}
	return all
}()

// maxName is longer than any name.
const maxName = 32

// findCommand returns the command with a name, in any case, or nil. No allocation.
func findCommand(name []byte) *command {
	if len(name) >= maxName {
		return nil
	}
	var upper [maxName]byte
	for i, c := range name {
		if 'a' <= c && c <= 'z' {
			c -= 'a' - 'A'
		}
		upper[i] = c
	}
	return commands[string(upper[:len(name)])]
}
