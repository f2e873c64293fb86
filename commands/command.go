package commands

import (
	"strings"

	"limitsrv/commands/glob"
	"limitsrv/commands/resp"
	"limitsrv/commands/session"
	"limitsrv/commands/spec"
	"limitsrv/commands/word"
)

var (
	errNoSuchCommand = resp.NewError("ERR", "Invalid command specified")
	errNoKeys        = resp.NewError("ERR", "The command has no key arguments")
	errBadLine       = resp.NewError("ERR", "Invalid number of arguments specified for command")
)

var command = spec.Command{
	Name: "COMMAND", Summary: "Describes all commands.",
	Complexity: "O(N), N being the commands", Since: "2.8.13", Group: "server", Flags: spec.Loading | spec.Stale, Long: 1,
	Body: &spec.Container{Sub: []spec.Command{
		{
			Name: "COUNT", Summary: "Returns the number of commands.",
			Complexity: "O(1)", Since: "2.8.13", Group: "server", Flags: spec.Loading | spec.Stale,
			Body: session.Run(func(s *session.Session, w *resp.Writer,
				_ [][]byte) {
				w.Int(int64(len(s.Handler().Registry().All)))
			}),
		},
		{
			Name: "INFO", Args: "[command-name ...]", Summary: "Describes the given commands, or all.",
			Complexity: "O(N), N being the commands", Since: "2.8.13", Group: "server", Flags: spec.Loading | spec.Stale,
			Long: 2,
			Body: session.Run(func(s *session.Session, w *resp.Writer, args [][]byte) {
				if len(args) == 2 {
					describeAll(s, w)
					return
				}
				from := len(w.Buf)
				w.Array(len(args) - 2)
				for _, name := range args[2:] {
					if c := s.Handler().Registry().Find(name, nil); c != nil {
						describe(w, c)
					} else {
						w.Null()
					}
					if isTooLong(w, from) {
						return
					}
				}
			}),
		},
		{
			Name: "DOCS", Args: "[command-name ...]", Summary: "Documents the given commands, or all.",
			Complexity: "O(N), N being the commands", Since: "7.0.0", Group: "server", Flags: spec.Loading | spec.Stale, Long: 2,
			Body: session.Run(runDocs),
		},
		{
			Name: "LIST", Args: "[FILTERBY <MODULE module-name | ACLCAT category | PATTERN pattern>]",
			Summary:    "Lists the names of the commands.",
			Complexity: "O(N), N being the commands", Since: "7.0.0", Group: "server", Flags: spec.Loading | spec.Stale, Long: 2,
			Body: session.Run(runList),
		},
		{
			Name: "GETKEYS", Args: "command [arg ...]", Summary: "Lists the keys of a command line.",
			Complexity: "O(N), N being the words", Since: "2.8.13", Group: "server", Flags: spec.Loading | spec.Stale,
			Body: session.Run(func(s *session.Session, w *resp.Writer,
				args [][]byte) {
				getKeys(s, w, args[2:], (*resp.Writer).Bulk)
			}),
		},
		{
			Name: "GETKEYSANDFLAGS", Args: "command [arg ...]",
			Summary:    "Lists the keys of a command line with their access flags.",
			Complexity: "O(N), N being the words", Since: "7.0.0", Group: "server", Flags: spec.Loading | spec.Stale,
			Body: session.Run(func(s *session.Session, w *resp.Writer, args [][]byte) {
				c, _ := s.Handler().Registry().Lookup(args[2:], nil)
				getKeys(s, w, args[2:], func(w *resp.Writer, key []byte) {
					w.Array(2)
					w.Bulk(key)
					writeKeyFlags(w, c)
				})
			}),
		},
	}, Bare: session.Run(func(s *session.Session, w *resp.Writer, _ [][]byte) { describeAll(s, w) })},
}

func describeAll(s *session.Session, w *resp.Writer) {
	r := s.Handler().Registry()
	r.Descriptions.Write(w, func(w *resp.Writer) {
		w.Array(len(r.All))
		for _, c := range r.All {
			describe(w, c)
		}
	})
}

// describe writes the ten fields of COMMAND INFO.
func describe(w *resp.Writer, c *session.Spec) {
	w.Array(10)
	w.BulkString(c.FullName)
	w.Int(int64(c.Arity()))
	flags := c.Flags.Words()
	keys := c.Keys
	if keys.Count > 0 || keys.Lead > 0 || keys.Word != "" {
		flags = append(flags, "movablekeys")
	}
	keys = keys.Fixed()
	w.Set(len(flags))
	for _, f := range flags {
		w.Simple(f)
	}
	w.Int(int64(keys.First))
	w.Int(int64(keys.Last))
	w.Int(int64(keys.Step))
	categories := c.Categories()
	w.Set(len(categories))
	for _, cat := range categories {
		w.Simple("@" + cat)
	}
	w.Set(0) // tips
	describeKeys(w, c)
	w.Set(len(c.Subs))
	for _, sub := range c.Subs {
		describe(w, sub)
	}
}

// describeKeys writes the key specifications; there is at most one specification.
func describeKeys(w *resp.Writer, c *session.Spec) {
	if c.Keys == (spec.Keys{}) {
		w.Set(0)
		return
	}
	w.Set(1)
	w.Map(3)
	w.BulkString("flags")
	writeKeyFlags(w, c)
	w.BulkString("begin_search")
	keySpec(w, "index", 1)
	w.BulkString("index")
	if c.Keys.Count > 0 {
		w.Int(int64(c.Keys.Count))
		w.BulkString("find_keys")
		keySpec(w, "keynum", 3)
		writeInts(w, "keynumidx", 0, "firstkey", 1, "keystep", 1)
		return
	}
	keys := c.Keys.Fixed()
	w.Int(int64(keys.First))
	w.BulkString("find_keys")
	last := keys.Last
	if last > 0 { // relative to the first key
		last -= keys.First
	}
	keySpec(w, "range", 3)
	writeInts(w, "lastkey", last, "keystep", keys.Step, "limit", 0)
}

// writeInts writes names and integers in turn.
func writeInts(w *resp.Writer, pairs ...any) {
	for i := 0; i < len(pairs); i += 2 {
		w.BulkString(pairs[i].(string))
		w.Int(int64(pairs[i+1].(int)))
	}
}

// writeKeyFlags writes the access flags of a command's keys.
func writeKeyFlags(w *resp.Writer, c *session.Spec) {
	flags := []string{"RO", "access"}
	if c.Flags.MayWrite() {
		flags = []string{"RW", "access", "update"}
	}
	w.Set(len(flags))
	for _, f := range flags {
		w.Simple(f)
	}
}

// keySpec begins a map of type and spec; the spec has that number of fields.
func keySpec(w *resp.Writer, kind string, fields int) {
	w.Map(2)
	w.BulkString("type")
	w.BulkString(kind)
	w.BulkString("spec")
	w.Map(fields)
}

func runList(s *session.Session, w *resp.Writer, args [][]byte) {
	var keep func(*session.Spec) bool
	switch {
	case len(args) == 2:
		keep = func(*session.Spec) bool { return true }
	case len(args) != 5 || !word.Is(args[2], "FILTERBY"):
	case word.Is(args[3], "MODULE"): // there are no modules
		keep = func(*session.Spec) bool { return false }
	case word.Is(args[3], "ACLCAT"):
		keep = func(c *session.Spec) bool {
			for _, cat := range c.Categories() {
				if strings.EqualFold(cat, string(args[4])) {
					return true
				}
			}
			return false
		}
	case word.Is(args[3], "PATTERN"):
		pattern := glob.Compile(args[4], glob.AnyCase)
		keep = func(c *session.Spec) bool { return pattern.Match([]byte(c.FullName)) }
	}
	if keep == nil {
		w.Error(errSyntax)
		return
	}
	var names []string
	for _, c := range s.Handler().Registry().Specs() {
		if keep(c) {
			names = append(names, c.FullName)
		}
	}
	w.BulkStrings(names)
}

// getKeys writes each key of a line with write, or an error if the line has no keys.
func getKeys(s *session.Session, w *resp.Writer, line [][]byte, write func(*resp.Writer, []byte)) {
	c, err := s.Handler().Registry().Lookup(line, nil)
	switch {
	case c == nil:
		w.Error(errNoSuchCommand)
		return
	case c.Keys == (spec.Keys{}):
		w.Error(errNoKeys)
		return
	case err != nil:
		w.Error(errBadLine)
		return
	}
	keys := c.KeysOf(line)
	w.Array(len(keys))
	for _, k := range keys {
		write(w, k)
	}
}
