package commands

import (
	"limitsrv/commands/auth"
	"limitsrv/commands/auth/users"
	"limitsrv/commands/resp"
)

var errNoKey = resp.NewError("NOPERM", "this user has no permissions to access one of the keys used as arguments")

// A denial is the reason for denying a command to a user.
type denial int

const (
	granted denial = iota
	deniedCommand
	deniedKey
)

// deny returns the reason for denying the command to a user, and the key if the reason is
// a key. No allocation.
func (c *spec) deny(r *auth.Rights, line [][]byte) (denial, []byte) {
	if r.All() || c.Flags&NoAuth != 0 {
		return granted, nil
	}
	if r.Revoked() || c.needs != 0 && !r.In(c.needs) {
		return deniedCommand, nil
	}
	if r.AnyKey() {
		return granted, nil
	}
	if c.Flags&AllKeys != 0 {
		return deniedKey, []byte("*")
	}
	if c.Keys.Step == 0 {
		return granted, nil
	}
	for i, last := c.Keys.First, c.lastKey(line); i <= last; i += c.Keys.Step {
		if !r.MayUse(line[i]) {
			return deniedKey, line[i]
		}
	}
	return granted, nil
}

// everyone is the category of the commands that any user may send.
const everyone = "everyone"

// needsOf returns the groups of which a user must have one to send a command; 0: none is
// required. That holds for commands that neither read nor write keys nor administer, such
// as INFO, ROLE and CLUSTER SLOTS: client libraries send them on their own, and some do
// not continue after an error.
func needsOf(c *Command) users.Groups {
	switch {
	case c.Flags&(Admin|Forgets|Reaches) != 0:
		return users.Admin
	case c.Flags&(ReadOnly|AllKeys) != 0:
		return users.Peek
	case c.Flags&Write != 0:
		return users.Decide
	}
	return 0
}

// group returns the category of a command by the group that it requires.
func (c *spec) group() string {
	for i, name := range users.GroupNames {
		if c.needs == 1<<i {
			return name
		}
	}
	return everyone
}

// mayAs returns an error if the session's user has no permission for c. It allocates only
// for an error.
func (s *Session) mayAs(c *spec, args [][]byte) error {
	if s.account == nil {
		return nil
	}
	r := s.account.Rights()
	if r.All() {
		return nil
	}
	why, _ := c.deny(r, args)
	switch why {
	case deniedCommand:
		s.h.denied.commands.Add(1)
		return resp.NewError("NOPERM", "this user has no permissions to run the '"+c.name+"' command")
	case deniedKey:
		s.h.denied.keys.Add(1)
		return errNoKey
	}
	return nil
}
