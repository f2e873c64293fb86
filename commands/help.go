package commands

import "bytes"

// isWord reports whether an argument is the word, in any case. Requires: word is in upper
// case.
func isWord(arg []byte, word string) bool {
	return len(arg) == len(word) && bytes.EqualFold(arg, []byte(word))
}

// Table returns every command, in the order of help and the README.
func Table() []Command {
	all := make([]Command, len(table))
	for i, c := range table {
		all[i] = *c
	}
	return all
}

// Usage returns the name and the arguments.
func (c *Command) Usage() string {
	if c.Args == "" {
		return c.Name
	}
	return c.Name + " " + c.Args
}

// helpSub is the HELP of every container command.
var helpSub = Command{
	Name: "HELP", Summary: "Lists the subcommands.",
	Complexity: "O(1)", Since: "5.0.0", Group: "server", Flags: Loading | Stale,
	Run: func(s *Session, args [][]byte) {
		lines := s.h.registry.find(args[0], nil).help()
		s.w.Array(len(lines))
		for _, l := range lines {
			s.w.Simple(l)
		}
	},
}

// help returns a container's list of subcommands in Redis' form.
func (c *spec) help() []string {
	lines := []string{c.Name + " <subcommand> [<arg> [value] [opt] ...]. Subcommands are:"}
	for _, sub := range c.subs {
		lines = append(lines, sub.Usage(), "    "+sub.Summary)
	}
	return lines
}
