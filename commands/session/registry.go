package session

import (
	"slices"
	"strings"

	"limitsrv/commands/auth/users"
	"limitsrv/commands/resp"
	"limitsrv/commands/spec"
	"limitsrv/commands/usage"
	"limitsrv/commands/word"
)

// A Spec is a command of a Registry, with the values derived from its record.
type Spec struct {
	*spec.Command
	body
	FullName  string // in lower case; of a Sub with its container's name: client|setname
	ID        int    // index of its counters
	Arguments []usage.Arg
	Subs      []*Spec
	Min, Max  int // bounds of the number of words, including the name
	isSub     bool
	isClient  bool         // CLIENT or a subcommand of it
	needs     users.Groups // see needsOf
	weight    int          // the least in a batch, see weigh
	registry  *Registry
}

// A Registry finds the specs of a table. It is read-only once made, except for its Constants.
type Registry struct {
	All []*Spec // a Spec for each line of the table, in its order
	// Descriptions and Docs are the replies to COMMAND and COMMAND DOCS about all of them.
	Descriptions, Docs Constant

	byName spec.Index[*Spec]
	total  int // number of specs including subs
	advice func(name []byte) string
}

// NewRegistry makes the Registry of a table. It panics if a name is invalid or occurs
// twice. advice returns a suffix for the error about an unknown command; empty: it has no
// suffix for that name.
func NewRegistry(table []*spec.Command, advice func(name []byte) string) *Registry {
	r := &Registry{byName: make(spec.Index[*Spec]), advice: advice}
	for _, c := range table {
		r.All = append(r.All, r.add(c, ""))
	}
	return r
}

func (r *Registry) add(c *spec.Command, container string) *Spec {
	s := &Spec{Command: c, body: bodyOf(c), FullName: container + strings.ToLower(c.Name), ID: r.total,
		Arguments: usage.Parse(c.Args), registry: r}
	r.total++
	s.needs, s.weight = s.needsOf(), s.weigh()
	s.isClient = s.FullName == "client" || container == "client|"
	s.Min, s.Max = c.Words()
	if container != "" {
		s.Min, s.Max, s.isSub = s.Min+1, s.Max+1, true
	}
	name := strings.ToUpper(s.FullName)
	if len(name) > spec.MaxName || r.byName[name] != nil {
		panic("command table: bad name " + s.FullName)
	}
	r.byName[name] = s
	subs, ok := c.Body.(*spec.Container)
	if !ok {
		return s
	}
	s.Max = usage.Unlimited
	if s.Run == nil {
		s.Min = 2
	}
	for i := range subs.Sub {
		s.Subs = append(s.Subs, r.add(&subs.Sub[i], s.FullName+"|"))
	}
	s.Subs = append(s.Subs, r.add(helpOf(s), s.FullName+"|"))
	return s
}

// Specs returns all specs, each followed by its subs.
func (r *Registry) Specs() []*Spec {
	all := make([]*Spec, 0, r.total)
	for _, c := range r.All {
		all = append(append(all, c), c.Subs...)
	}
	return all
}

// Lookup finds the command of a line and checks the number of its words. With an arity
// error it returns the spec too. guess, unless nil, is tried first: most lines repeat the
// command of the line before, and the comparison costs a tenth of Find.
func (r *Registry) Lookup(args [][]byte, guess *Spec) (*Spec, error) {
	s := guess
	if s == nil || s.isSub || !s.isNamed(args[0]) {
		s = r.Find(args[0], nil)
	}
	if s == nil || s.isSub {
		return nil, unknownCommand(args, r.advice(args[0]), namesOf(r.All))
	}
	if s.Subs != nil && len(args) > 1 {
		sub := r.Find(args[0], args[1])
		if sub == nil {
			return nil, unknownSub(args[1], s.Name, namesOf(s.Subs))
		}
		s = sub
	}
	if (len(args) < s.Min || len(args) > s.Max) && s.Flags&spec.OwnArity == 0 {
		return s, s.wrongArity(args)
	}
	return s, nil
}

// wrongArity returns the error for a line with a wrong number of words. For a command of Redis it
// is Redis' text, because clients compare it. For other commands it includes the usage.
func (s *Spec) wrongArity(args [][]byte) error {
	if s.Surplus != nil && len(args) > s.Max {
		return s.Surplus(args)
	}
	text := "wrong number of arguments for '" + s.FullName + "' command"
	if s.Group == spec.LimiterGroup || strings.HasPrefix(s.FullName, "rl.") {
		text += "; usage: " + s.line()
	}
	return resp.NewError("ERR", text)
}

// Find looks a name up, in any case. A subcommand is given as sub, or within name as
// container|sub. No allocation.
func (r *Registry) Find(name, sub []byte) *Spec { return r.byName.Find(name, sub) }

// isNamed reports whether name is the spec's name, in any case: mostly in capitals.
func (s *Spec) isNamed(name []byte) bool {
	if string(name) == s.Name {
		return true
	}
	if len(name) != len(s.FullName) {
		return false
	}
	for i, c := range name {
		if lower(c) != s.FullName[i] {
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

// Arity returns the arity of COMMAND: the number of words, or negative for a minimum.
func (s *Spec) Arity() int {
	if s.Min == s.Max {
		return s.Min
	}
	return -s.Min
}

func namesOf(all []*Spec) []string {
	names := make([]string, 0, len(all))
	for _, c := range all {
		names = append(names, c.Name)
	}
	return names
}

// line returns the usage as a whole command line.
func (s *Spec) line() string {
	container, _, isSub := strings.Cut(s.FullName, "|")
	switch {
	case isSub:
		return strings.ToUpper(container) + " " + s.Usage()
	case s.Subs != nil:
		return s.Usage() + " <subcommand> [<arg> ...]"
	}
	return s.Usage()
}

// helpOf makes the HELP of a container, which lists its subcommands in Redis' form.
func helpOf(container *Spec) *spec.Command {
	return &spec.Command{
		Name: "HELP", Summary: "Lists the subcommands.",
		Complexity: "O(1)", Since: "5.0.0", Group: "server", Flags: spec.Loading | spec.Stale,
		Body: Run(func(_ *Session, w *resp.Writer, _ [][]byte) {
			w.Array(1 + 2*len(container.Subs))
			w.Simple(container.Name + " <subcommand> [<arg> [value] [opt] ...]. Subcommands are:")
			for _, sub := range container.Subs {
				w.Simple(sub.Usage())
				w.Simple("    " + sub.Summary)
			}
		}),
	}
}

// redacted returns a command line without its secrets: without the words after AUTH if
// the flag AuthWord is set, otherwise, with the flag Secret, without any argument.
func (s *Spec) redacted(args [][]byte) [][]byte {
	if s.Flags&spec.Secret == 0 {
		return args
	}
	shown := 1
	switch {
	case s.isSub:
		shown = 2
	case s.Flags&spec.AuthWord != 0:
		for shown < len(args) && !word.Is(args[shown-1], "AUTH") {
			shown++
		}
	}
	hidden := append([][]byte(nil), args[:shown]...)
	for range args[shown:] {
		hidden = append(hidden, []byte("(redacted)"))
	}
	return hidden
}

// KeysOf returns the keys of a line. Requires: the arity of the line is right.
func (s *Spec) KeysOf(line [][]byte) (keys [][]byte) {
	return slices.Collect(s.positions(line).All(line))
}

// positions returns the positions of the keys of a line, within it. No keys: First is
// above Last.
func (s *Spec) positions(line [][]byte) spec.Keys {
	if s.Asks == nil {
		return s.Keys.In(line)
	}
	if at := s.Asks.ID(line); at > 0 {
		return spec.Keys{First: at, Last: at, Step: 1}
	}
	return spec.Keys{First: 1, Step: 1}
}
