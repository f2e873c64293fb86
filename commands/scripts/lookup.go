package scripts

import (
	"maps"
	"math"
	"slices"
	"strings"

	"limitsrv/commands/datatypes"
	"limitsrv/commands/limiters"
	"limitsrv/commands/spec"
)

// A command is the record of a command, for redis.call. The flag NoScript forbids it, but for
// blocking commands: they do not wait in scripts.
type command struct {
	*spec.Command
	counter     uint16 // see Counter
	least, most int    // words, the name included
	// The body is one of these, except for a forbidden command.
	call  *spec.Call
	limit *spec.Ops
	own   *own
}

// An own is the body of a command that is different in scripts, because it depends on more than keys.
type own struct {
	do    func(m *machine, out []byte) []byte // executes m.words
	since uint8                               // the first level of calls that has the command
}

// Body implements spec.Body.
func (*own) Body() {}

// isNewer reports whether calls of a level do not have the command.
func (c *command) isNewer(level uint8) bool { return c.own != nil && c.own.since > level }

// isForbidden reports whether scripts may not call the command.
func (c *command) isForbidden(level uint8) bool {
	return c.Flags&spec.NoScript != 0 && (c.Flags&spec.Blocking == 0 || level < blockingLevel)
}

// isTooLong reports whether a line of words is too long for calls of a level.
func (c *command) isTooLong(words int, level uint8) bool {
	return words > c.most || c.Keys.Once > 0 && level < spec.OnceLevel && words > c.most-spec.OnceWords ||
		c.limit != nil && c.limit.Before > 0 && words > c.limit.Before && level < chargedLevel
}

// writes reports whether the command may change the state, or publishes, as in Redis.
func (c *command) writes() bool { return c.Flags&spec.Write != 0 }

// ownCommands are the commands with a meaning of their own in scripts.
var ownCommands = []spec.Command{
	{Name: "TIME", Body: &own{do: timeNow}},
	{Name: "ECHO", Args: "message", Body: &own{do: echo}},
	{Name: "PING", Args: "[message]", Body: &own{do: ping}},
	{Name: "KEYS", Args: "pattern", Flags: spec.AllKeys, Body: &own{onAllKeys(keysCommand), namesLevel}},
	{Name: "SCAN", Args: "cursor [option ...]", Flags: spec.AllKeys, Body: &own{onAllKeys(scanCommand), namesLevel}},
	{Name: "DBSIZE", Flags: spec.AllKeys, Body: &own{onAllKeys(dbSizeCommand), namesLevel}},
	{Name: "RANDOMKEY", Flags: spec.AllKeys, Body: &own{onAllKeys(randomKeyCommand), namesLevel}},
	{Name: "SELECT", Args: "index", Flags: spec.AllKeys, Body: &own{onAllKeys(selectCommand), namesLevel}},
	{Name: "INFO", Args: "[section ...]", Flags: spec.AllKeys, Body: &own{onAllKeys(infoCommand), namesLevel}},
	{Name: "MEMORY", Args: "subcommand [arg ...]", Keys: spec.Keys{First: 2, Last: 2, Step: 1},
		Body: &own{memoryCommand, namesLevel}},
	{Name: "WAIT", Args: "numreplicas timeout", Body: &own{wait, blockingLevel}},
	{Name: "PUBLISH", Args: "channel message", Flags: spec.Write | spec.Reaches, Body: &own{do: publish}},
}

// forbidden are the names of further commands of Redis and of limitsrv, which scripts may not call.
// Other names are unknown.
const forbidden = `ASKING AUTH CLIENT CLUSTER CONFIG DEBUG DISCARD EVAL EVALSHA EVAL_RO EVALSHA_RO EXEC FAILOVER FCALL FCALL_RO
	FUNCTION HELLO LATENCY MIGRATE MODULE MONITOR MULTI PSUBSCRIBE PSYNC PUNSUBSCRIBE QUIT REPLCONF REPLICAOF RESET RL.BACKUP RL.STATS RL.TOP SAVE BGSAVE SCRIPT
	SHUTDOWN SLAVEOF SLOWLOG SSUBSCRIBE SUBSCRIBE SUNSUBSCRIBE SYNC UNSUBSCRIBE UNWATCH WATCH`

// commands are the commands by name in capitals.
var commands = func() spec.Index[*command] {
	all := make(spec.Index[*command])
	add := func(table []spec.Command) {
		for i := range table {
			if c := &table[i]; c.Name != "" {
				all[c.Name] = commandOf(c)
			}
		}
	}
	add(datatypes.All())
	add(limiters.All())
	add(ownCommands)
	all["RL.RESET"] = commandOf(datatypes.Find([]byte("DEL")))
	for _, name := range strings.Fields(forbidden) {
		all[name] = commandOf(&spec.Command{Name: name, Flags: spec.NoScript})
	}
	for i, name := range slices.Sorted(maps.Keys(all)) {
		all[name].counter = uint16(i)
	}
	return all
}()

func commandOf(c *spec.Command) *command {
	x := &command{Command: c}
	x.least, x.most = c.Words()
	if c.Flags&spec.OwnArity != 0 {
		x.least, x.most = 0, math.MaxInt
	}
	x.call, _ = c.Body.(*spec.Call)
	x.limit, _ = c.Body.(*spec.Ops)
	x.own, _ = c.Body.(*own)
	return x
}

// findCommand returns the command with a name, in any case, or nil. No allocation.
func findCommand(name []byte) *command { return commands.Find(name, nil) }
