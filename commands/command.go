package commands

import (
	"strings"

	"limitsrv/commands/glob"
	"limitsrv/commands/resp"
)

var (
	errNoSuchCommand = resp.NewError("ERR", "Invalid command specified")
	errNoKeys        = resp.NewError("ERR", "The command has no key arguments")
	errBadLine       = resp.NewError("ERR", "Invalid number of arguments specified for command")
)

var command = Command{
	Name: "COMMAND", Summary: "Describes all commands.",
	Complexity: "O(N), N being the commands", Since: "2.8.13", Group: "server", Flags: Loading | Stale,
	Run: func(s *Session, _ [][]byte) { s.describeAll() },
	Sub: []Command{
		{
			Name: "COUNT", Summary: "Returns the number of commands.",
			Complexity: "O(1)", Since: "2.8.13", Group: "server", Flags: Loading | Stale,
			Run: func(s *Session, _ [][]byte) { s.w.Int(int64(len(s.h.registry.all))) },
		},
		{
			Name: "INFO", Args: "[command-name ...]", Summary: "Describes the given commands, or all.",
			Complexity: "O(N), N being the commands", Since: "2.8.13", Group: "server", Flags: Loading | Stale,
			Run: func(s *Session, args [][]byte) {
				if len(args) == 2 {
					s.describeAll()
					return
				}
				s.w.Array(len(args) - 2)
				for _, name := range args[2:] {
					if c := s.h.registry.find(name, nil); c != nil {
						s.describe(c)
						continue
					}
					s.w.Null()
				}
			},
		},
		{
			Name: "DOCS", Args: "[command-name ...]", Summary: "Documents the given commands, or all.",
			Complexity: "O(N), N being the commands", Since: "7.0.0", Group: "server", Flags: Loading | Stale,
			Run: runDocs,
		},
		{
			Name: "LIST", Args: "[FILTERBY <MODULE module-name | ACLCAT category | PATTERN pattern>]", Summary: "Lists the names of the commands.",
			Complexity: "O(N), N being the commands", Since: "7.0.0", Group: "server", Flags: Loading | Stale,
			Run: runList,
		},
		{
			Name: "GETKEYS", Args: "command [arg ...]", Summary: "Lists the keys of a command line.",
			Complexity: "O(N), N being the words", Since: "2.8.13", Group: "server", Flags: Loading | Stale,
			Run: func(s *Session, args [][]byte) { s.getKeys(args[2:], (*resp.Writer).Bulk) },
		},
		{
			Name: "GETKEYSANDFLAGS", Args: "command [arg ...]", Summary: "Lists the keys of a command line with their access flags.",
			Complexity: "O(N), N being the words", Since: "7.0.0", Group: "server", Flags: Loading | Stale,
			Run: func(s *Session, args [][]byte) {
				c, _ := s.h.registry.lookup(args[2:], nil)
				s.getKeys(args[2:], func(w *resp.Writer, key []byte) {
					w.Array(2)
					w.Bulk(key)
					c.writeKeyFlags(w)
				})
			},
		},
	},
}

func (s *Session) describeAll() {
	s.w.Array(len(s.h.registry.all))
	for _, c := range s.h.registry.all {
		s.describe(c)
	}
}

// describe writes the ten fields of COMMAND INFO.
func (s *Session) describe(c *spec) {
	w := &s.w
	w.Array(10)
	w.BulkString(c.name)
	w.Int(int64(c.arity()))
	flags := c.flagWords()
	w.Set(len(flags))
	for _, f := range flags {
		w.Simple(f)
	}
	w.Int(int64(c.Keys.First))
	w.Int(int64(c.Keys.Last))
	w.Int(int64(c.Keys.Step))
	categories := c.categories()
	w.Set(len(categories))
	for _, cat := range categories {
		w.Simple("@" + cat)
	}
	w.Set(0) // tips
	s.describeKeys(c)
	w.Set(len(c.subs))
	for _, sub := range c.subs {
		s.describe(sub)
	}
}

// describeKeys writes the key specifications; there is at most one.
func (s *Session) describeKeys(c *spec) {
	w := &s.w
	if c.Keys == (Keys{}) {
		w.Set(0)
		return
	}
	w.Set(1)
	w.Map(3)
	w.BulkString("flags")
	c.writeKeyFlags(w)
	w.BulkString("begin_search")
	s.keySpec("index", 1)
	w.BulkString("index")
	w.Int(int64(c.Keys.First))
	w.BulkString("find_keys")
	last := c.Keys.Last
	if last > 0 { // relative to the first key
		last -= c.Keys.First
	}
	s.keySpec("range", 3)
	w.BulkString("lastkey")
	w.Int(int64(last))
	w.BulkString("keystep")
	w.Int(int64(c.Keys.Step))
	w.BulkString("limit")
	w.Int(0)
}

// writeKeyFlags writes the access flags of a command's keys.
func (c *spec) writeKeyFlags(w *resp.Writer) {
	flags := []string{"RO", "access"}
	if c.Flags&Write != 0 {
		flags = []string{"RW", "access", "update"}
	}
	w.Set(len(flags))
	for _, f := range flags {
		w.Simple(f)
	}
}

// keySpec begins a map of type and spec; the spec has that number of fields.
func (s *Session) keySpec(kind string, fields int) {
	s.w.Map(2)
	s.w.BulkString("type")
	s.w.BulkString(kind)
	s.w.BulkString("spec")
	s.w.Map(fields)
}

// flagWords returns the flags in the words of COMMAND INFO.
func (c *spec) flagWords() []string {
	var words []string
	for i, name := range flagNames {
		if c.Flags&(1<<i) != 0 {
			words = append(words, name)
		}
	}
	return words
}

// categories returns the ACL categories of a command, derived from its flags and group.
func (c *spec) categories() []string {
	var cats []string
	for _, has := range []struct {
		name string
		ok   bool
	}{
		{"write", c.Flags&Write != 0},
		{"read", c.Flags&ReadOnly != 0},
		{c.group(), true},
		{"dangerous", c.Flags&Admin != 0},
		{"fast", c.Flags&Fast != 0},
		{"slow", c.Flags&Fast == 0},
		{"keyspace", c.Group == "generic"},
		{"pubsub", c.Group == "pubsub"},
		{"connection", c.Group == "connection"},
		{"transaction", c.Group == "transactions"},
		{c.Group, c.Group != "" && !redisGroups[c.Group]},
	} {
		if has.ok {
			cats = append(cats, has.name)
		}
	}
	return cats
}

// redisGroups are the groups of Redis' own commands. A group not listed here is a
// category too.
var redisGroups = map[string]bool{
	"generic": true, "connection": true, "transactions": true, "server": true, "cluster": true, "scripting": true, "pubsub": true,
}

func runList(s *Session, args [][]byte) {
	var keep func(*spec) bool
	switch {
	case len(args) == 2:
		keep = func(*spec) bool { return true }
	case !isWord(args[2], "FILTERBY"):
	case isWord(args[3], "MODULE"): // there are no modules
		keep = func(*spec) bool { return false }
	case isWord(args[3], "ACLCAT"):
		keep = func(c *spec) bool {
			for _, cat := range c.categories() {
				if strings.EqualFold(cat, string(args[4])) {
					return true
				}
			}
			return false
		}
	case isWord(args[3], "PATTERN"):
		keep = func(c *spec) bool { return glob.Match(args[4], []byte(c.name), glob.AnyCase) }
	}
	if keep == nil {
		s.w.Error(errSyntax)
		return
	}
	var names []string
	for _, c := range s.h.registry.allSpecs() {
		if keep(c) {
			names = append(names, c.name)
		}
	}
	s.w.BulkStrings(names)
}

// getKeys writes each key of a line with write, or an error if the line has none.
func (s *Session) getKeys(line [][]byte, write func(*resp.Writer, []byte)) {
	c, err := s.h.registry.lookup(line, nil)
	switch {
	case c == nil:
		s.w.Error(errNoSuchCommand)
		return
	case c.Keys == (Keys{}):
		s.w.Error(errNoKeys)
		return
	case err != nil:
		s.w.Error(errBadLine)
		return
	}
	keys := c.keysOf(line)
	s.w.Array(len(keys))
	for _, k := range keys {
		write(&s.w, k)
	}
}

// keysOf returns the keys of a line. Requires: the arity of the line is right.
func (c *spec) keysOf(line [][]byte) (keys [][]byte) {
	for i, last := c.Keys.First, c.lastKey(line); i <= last; i += c.Keys.Step {
		keys = append(keys, line[i])
	}
	return keys
}

// lastKey returns an upper bound on the index of the line's last key, within the line.
func (c *spec) lastKey(line [][]byte) int {
	last := c.Keys.Last
	if last < 0 {
		last += len(line)
	}
	return min(last, len(line)-1)
}
