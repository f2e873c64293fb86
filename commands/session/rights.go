package session

import (
	"sync/atomic"

	"limitsrv/commands/auth"
	"limitsrv/commands/auth/users"
	"limitsrv/commands/resp"
	"limitsrv/rules"
)

var errNoKey = resp.NewError("NOPERM", "this user has no permissions to access one of the keys used as arguments")

// A Denial is the reason for denying a command to a user.
type Denial int

const (
	Granted Denial = iota
	DeniedCommand
	DeniedKey
)

// Deny returns the reason for denying the command to a user, and the key if the reason is
// a key. No allocation.
func (c *Spec) Deny(r *auth.Rights, line [][]byte) (Denial, []byte) {
	if r.All() || c.Flags&NoAuth != 0 {
		return Granted, nil
	}
	if r.Revoked() || c.needs != 0 && !r.In(c.needs) {
		return DeniedCommand, nil
	}
	if r.AnyKey() {
		return Granted, nil
	}
	if c.Flags&AllKeys != 0 {
		return DeniedKey, []byte("*")
	}
	if c.Domain > 0 {
		if key := append([]byte(rules.KeyPrefix), line[c.Domain]...); !r.MayUse(key) {
			return DeniedKey, key
		}
	}
	k := c.positions(line)
	for i := k.First; i <= k.Last; i += k.Step {
		if !r.MayUse(line[i]) {
			return DeniedKey, line[i]
		}
	}
	return Granted, nil
}

var (
	errNotConstant = resp.NewError("NOPERM", "this user may only run scripts that name their commands by constants, as in redis.call('GET', KEYS[1])")
	errNotDeclared = resp.NewError("NOPERM", "this user may only run scripts whose keys are all elements of KEYS, as in redis.call('GET', KEYS[1])")
)

// DenyScript returns an error if a user may not everything that the script of a line does.
// Requires: Deny granted the line.
func (c *Spec) DenyScript(r *auth.Rights, line [][]byte) error {
	if c.Uses == nil || r.All() {
		return nil
	}
	u, err := c.Uses(line)
	switch {
	case err != nil:
		return err
	case !u.Constant && !r.In(users.Admin):
		return errNotConstant
	case !u.Declared && !r.AnyKey():
		return errNotDeclared
	}
	for _, name := range u.Names {
		if used := c.registry.Find([]byte(name), nil); used != nil && used.needs != 0 && !r.In(used.needs) {
			return resp.NewError("NOPERM", "this user has no permissions to run the '"+used.FullName+"' command, which the script calls")
		}
	}
	return nil
}

// denials count the commands denied to users.
type denials struct{ commands, keys atomic.Int64 }

// mayAs returns an error if the session's user has no permission for c. It allocates only
// for an error.
func (s *Session) mayAs(c *Spec, args [][]byte) error {
	if s.account == nil {
		return nil
	}
	r := s.account.Rights()
	if r.All() {
		return nil
	}
	why, _ := c.Deny(r, args)
	switch why {
	case DeniedCommand:
		s.h.denied.commands.Add(1)
		return resp.NewError("NOPERM", "this user has no permissions to run the '"+c.FullName+"' command")
	case DeniedKey:
		s.h.denied.keys.Add(1)
		return errNoKey
	}
	err := c.DenyScript(r, args)
	if err != nil {
		s.h.denied.commands.Add(1)
	}
	return err
}
