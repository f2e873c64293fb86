package commands

import (
	"slices"
	"strings"
	"time"

	"limitsrv/commands/datatypes"
	"limitsrv/commands/resp"
	"limitsrv/commands/session"
	"limitsrv/commands/waiting"
	"limitsrv/engine"
)

// plainCommands returns the commands on plain values, from the table of package datatypes,
// without those that have a line of their own because they work on limits as well.
func plainCommands() (all []*session.Command) {
	for number := range datatypes.All() {
		if c := plainCommand(uint16(number)); c.Name != "" && !slices.Contains(anyKind, c.Name) {
			all = append(all, c)
		}
	}
	return all
}

// anyKind are the commands of package datatypes that work on limits as well. Outside of
// transactions and scripts all but OBJECT are ops without a call, which nodes of every
// version know.
var anyKind = []string{del.Name, unlink.Name, exists.Name, touch.Name, typeOf.Name, ttl.Name, pttl.Name, object.Name}

// plainFlags are the flags of package datatypes, by bit.
var plainFlags = [...]session.Flags{session.Write, session.ReadOnly, session.DenyOOM, session.Fast, session.NoScript, session.Blocking}

// plainCommand makes the line of the command with a number. The command itself answers
// wrong arguments, since their texts and order are those of Redis.
func plainCommand(number uint16) *session.Command {
	c := &datatypes.All()[number]
	line := &session.Command{
		Name: c.Name, Args: c.Args, Summary: c.Summary, Complexity: c.Complexity, Since: c.Since, Group: c.Group,
		Flags: session.Plain, Keys: session.Keys(c.Keys), Long: c.Long(),
		Op: func(b *engine.Batch, args [][]byte) error {
			datatypes.Set(b.AddCall(0), number, args[1:])
			return nil
		},
	}
	if datatypes.HasWork(number) {
		line.Work = func(look *engine.Batch, db uint8, args [][]byte) {
			datatypes.SetWork(look.AddCall(db), number, args[1:])
		}
	}
	if c.Flags&datatypes.Blocking != 0 {
		line.Wait = &waiting.Command{
			Timeout: timeoutOf, Take: line.Op,
			Return: func(b *engine.Batch, key, element []byte) { datatypes.Return(b.AddCall(0), number, key, element) },
		}
	}
	if datatypes.Replaces(number) {
		line.Flags |= session.Replaces
	}
	for i, flag := range plainFlags {
		if c.Flags>>i&1 != 0 {
			line.Flags |= flag
		}
	}
	if c.Arity < 0 {
		line.Flags |= session.OpenEnded
	}
	return line
}

// workOf adds to look a call for the work of each call of the batch of, see session.Command.Work.
func workOf(look, of *engine.Batch) {
	for i := range of.Ops {
		if op := &of.Ops[i]; op.Kind == engine.Do {
			if c := of.CallOf(op); datatypes.HasWork(c.Command) {
				datatypes.SetWork(look.AddCall(op.DB), c.Command, c.Args)
			}
		}
	}
}

// timeoutOf reads the timeout of a command that waits.
func timeoutOf(args [][]byte) (time.Duration, error) {
	d, wrong := datatypes.Timeout(args[len(args)-1])
	if wrong != "" {
		code, text, _ := strings.Cut(wrong, " ")
		return 0, resp.NewError(code, text)
	}
	return d, nil
}
