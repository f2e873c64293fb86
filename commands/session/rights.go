package session

import (
	"sync/atomic"

	"limitsrv/commands/auth"
	"limitsrv/commands/auth/users"
	"limitsrv/commands/resp"
	"limitsrv/commands/rules"
	"limitsrv/commands/spec"
)

var (
	errNoKey     = resp.NewError("NOPERM", "this user has no permissions to access one of the keys used as arguments")
	errNoChannel = resp.NewError("NOPERM", "this user has no permissions to access one of the channels used as arguments")
)

// A Denial is the reason for denying a command to a user.
type Denial int

const (
	Granted Denial = iota
	DeniedCommand
	DeniedKey
	DeniedChannel
)

// Deny returns the reason why the user may not run a command line, and the key or channel if that
// is the reason. It does not allocate.
func (c *Spec) Deny(r *auth.Rights, line [][]byte) (Denial, []byte) {
	if r.All() || c.Flags&spec.NoAuth != 0 {
		return Granted, nil
	}
	if r.Revoked() || c.needs != 0 && !r.In(c.needs) {
		return DeniedCommand, nil
	}
	if c.Channels.Step > 0 {
		k := c.Channels.In(line)
		for i := k.First; i <= k.Last; i += k.Step {
			if !r.MayUseChannel(line[i], c.Patterns) {
				return DeniedChannel, line[i]
			}
		}
	}
	if r.AnyKey() {
		return Granted, nil
	}
	if c.Flags&spec.AllKeys != 0 {
		return DeniedKey, []byte("*")
	}
	if c.Domain > 0 {
		if key := append([]byte(rules.KeyPrefix), line[c.Domain]...); !r.MayUse(key) {
			return DeniedKey, key
		}
	}
	for key := range c.positions(line).All(line) {
		if !r.MayUse(key) {
			return DeniedKey, key
		}
	}
	return Granted, nil
}

var (
	errNotConstant = resp.NewError("NOPERM",
		"this user may only run scripts that name their commands by constants, as in redis.call('GET', KEYS[1])")
	errScriptChannel = resp.NewError("NOPERM", "this user may only run scripts that publish if one of its channels is *")

	errNotDeclared = resp.NewError("NOPERM",
		"this user may only run scripts whose keys are all elements of KEYS, as in redis.call('GET', KEYS[1])")
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
		used := c.registry.Find([]byte(name), nil)
		if denied := used.deniedTo(r); denied != nil {
			return resp.NewError("NOPERM",
				"this user has no permissions to run the '"+denied.FullName+"' command, which the script calls")
		}
		// The script chooses the channel at run time.
		if used != nil && used.Channels.Step > 0 && !r.AnyChannel() {
			return errScriptChannel
		}
	}
	return nil
}

// deniedTo returns the spec, or the first of its subcommands, that the user's groups do not allow,
// or nil. It checks all subcommands, because the text of a script names only the container.
func (c *Spec) deniedTo(r *auth.Rights) *Spec {
	if c == nil {
		return nil
	}
	if c.needs != 0 && !r.In(c.needs) {
		return c
	}
	for _, sub := range c.Subs {
		if denied := sub.deniedTo(r); denied != nil {
			return denied
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
	case DeniedChannel:
		s.h.denied.keys.Add(1)
		return errNoChannel
	}
	err := c.DenyScript(r, args)
	if err != nil && resp.ErrorOf(err).Code == "NOPERM" {
		s.h.denied.commands.Add(1)
	}
	return err
}

// judges reports whether *err, the result of mayAs for a command with Uses, is final. On a node that
// does not lead, the script may be unknown although another node has answered that it is loaded. Then
// judges calls Cluster.Fresh, and mayAs again. If it returns false, the session is in the state away,
// or a batch is in flight.
func (s *Session) judges(c *Spec, args [][]byte, err *error) bool {
	asked := s.fresh
	s.fresh = freshness{}
	switch {
	case asked.asked:
		if *err != nil && asked.err != nil {
			*err = asked.err
		}
		return true
	case *err == nil || s.stale && !c.Flags.MayWrite() || s.h.config.Cluster.Leads():
		return true
	}
	if _, unknown := c.Uses(args); unknown == nil {
		return true
	}
	if !s.flush() || !s.askFresh() {
		return false
	}
	*err = s.mayAs(c, args)
	return s.judges(c, args, err)
}

// limitedTo returns the rights of the user if the answers of a command may have names that these rights do not
// allow. Otherwise it returns nil.
func (s *Session) limitedTo(spec *Spec) *auth.Rights {
	if spec.Hide == nil || s.account == nil {
		return nil
	}
	if r := s.account.Rights(); !r.AnyKey() {
		return r
	}
	return nil
}

// visible returns the answer of a call of a command, without the names that the user's rights do not allow.
func (s *Session) visible(spec *Spec, answer []byte) []byte {
	if r := s.limitedTo(spec); r != nil {
		return spec.Hide(answer, r.MayUse)
	}
	return answer
}
