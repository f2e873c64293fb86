package commands

import (
	"strings"

	"limitsrv/commands/auth/users"
)

// A spec is a Command with the values derived from it.
type spec struct {
	*Command
	name string // in lower case; of a Sub with its container's name: client|setname
	id   int    // index of its counters
	args []arg
	// min and max bound the number of words, including the name.
	min, max int
	isSub    bool
	needs    users.Groups // see needsOf
	subs     []*spec
}

// A registry finds the specs of a table. It is read-only once made.
type registry struct {
	all    []*spec // one for each line of the table, in its order
	byName map[string]*spec
	total  int // number of specs including subs
}

// maxNameBytes is the length of the longest name that find looks up.
const maxNameBytes = 64

func newRegistry(table []*Command) *registry {
	r := &registry{byName: make(map[string]*spec)}
	for _, c := range table {
		r.all = append(r.all, r.add(c, ""))
	}
	return r
}

func (r *registry) add(c *Command, container string) *spec {
	s := &spec{Command: c, name: container + strings.ToLower(c.Name), id: r.total, args: parseUsage(c.Args), needs: needsOf(c)}
	r.total++
	s.min, s.max = counts(s.args)
	s.min, s.max = s.min+1, s.max+1
	if container != "" {
		s.min, s.max, s.isSub = s.min+1, s.max+1, true
	}
	if len(s.name) > maxNameBytes || r.byName[s.name] != nil {
		panic("command table: bad name " + s.name)
	}
	r.byName[s.name] = s
	if c.Sub == nil {
		return s
	}
	s.max = unlimited
	if c.Run == nil {
		s.min = 2
	}
	for i := range c.Sub {
		s.subs = append(s.subs, r.add(&c.Sub[i], s.name+"|"))
	}
	s.subs = append(s.subs, r.add(&helpSub, s.name+"|"))
	return s
}

// allSpecs returns all specs, each followed by its subs.
func (r *registry) allSpecs() []*spec {
	all := make([]*spec, 0, r.total)
	for _, c := range r.all {
		all = append(append(all, c), c.subs...)
	}
	return all
}

// lookup finds the command of a line and checks the number of its words. With an arity
// error it returns the spec too. guess, unless nil, is tried first: most lines repeat the
// command of the line before, and the comparison costs a tenth of find.
func (r *registry) lookup(args [][]byte, guess *spec) (*spec, error) {
	s := guess
	if s == nil || s.isSub || !s.isNamed(args[0]) {
		s = r.find(args[0], nil)
	}
	if s == nil || s.isSub {
		return nil, r.unknownCommand(args)
	}
	if s.subs != nil && len(args) > 1 {
		sub := r.find(args[0], args[1])
		if sub == nil {
			return nil, s.unknownSub(args[1])
		}
		s = sub
	}
	if (len(args) < s.min || len(args) > s.max) && s.Flags&OwnArity == 0 {
		return s, s.wrongArity()
	}
	return s, nil
}

// find looks a name up, in any case. A subcommand is given as sub, or within name as
// container|sub. No allocation.
func (r *registry) find(name, sub []byte) *spec {
	if len(name)+1+len(sub) > maxNameBytes {
		return nil
	}
	var full [maxNameBytes]byte
	n := copyLower(full[:], name)
	if sub != nil {
		full[n] = '|'
		n++
		n += copyLower(full[n:], sub)
	}
	return r.byName[string(full[:n])]
}

// isNamed reports whether name is the spec's name, in any case.
func (s *spec) isNamed(name []byte) bool {
	if len(name) != len(s.name) {
		return false
	}
	for i, c := range name {
		if lower(c) != s.name[i] {
			return false
		}
	}
	return true
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

func copyLower(dst, src []byte) int {
	for i, c := range src {
		dst[i] = lower(c)
	}
	return len(src)
}

// cString returns b up to a zero byte, and at most 128 bytes, as Redis truncates quoted
// arguments.
func cString(b []byte) string {
	for i, c := range b[:min(len(b), 128)] {
		if c == 0 {
			return string(b[:i])
		}
	}
	return string(b[:min(len(b), 128)])
}

// arity returns the arity of COMMAND: the number of words, or negative for a minimum.
func (s *spec) arity() int {
	if s.min == s.max {
		return s.min
	}
	return -s.min
}
