package commands

import (
	"limitsrv/commands/limiters"
	"limitsrv/commands/session"
)

const limiterGroup = "limiter"

// limitFlags are the flags of package limiters, by bit.
var limitFlags = [...]session.Flags{session.Write, session.ReadOnly, session.DenyOOM, session.Fast, session.OwnArity, session.Decides}

// limitCommands returns the commands on limits, from the table of package limiters.
func limitCommands() (all []*session.Command) {
	for _, c := range limiters.All() {
		line := &session.Command{
			Name: c.Name, Args: c.Args, Summary: c.Summary, Complexity: c.Complexity, Since: c.Since, Group: limiterGroup,
			Keys: session.Keys{First: c.Keys.First, Last: c.Keys.Last, Step: c.Keys.Step}, Op: c.Op, Reply: c.Reply,
		}
		for i, flag := range limitFlags {
			if c.Flags>>i&1 != 0 {
				line.Flags |= flag
			}
		}
		all = append(all, line)
	}
	return all
}
