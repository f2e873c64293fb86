package commands

import (
	"bytes"
	"strings"
)

// isWord says whether an argument is the word, in any case. word is in capitals.
func isWord(arg []byte, word string) bool {
	return len(arg) == len(word) && bytes.EqualFold(arg, []byte(word))
}

// Table is every command, in the order in which people are shown them.
func Table() []Command {
	all := make([]Command, len(table))
	for i, c := range table {
		all[i] = *c
	}
	return all
}

// Usage is the name and what may follow it.
func (c *Command) Usage() string {
	if c.Args == "" {
		return c.Name
	}
	return c.Name + " " + c.Args
}

// helpWidth is how long the lines of Help are at most, where words allow it.
const helpWidth = 100

// Help is the usage of the limiter commands with what they do, and the names of
// the others, as lines of text for a terminal.
func Help() string {
	var text strings.Builder
	others := make(map[string][]string)
	var groups []string
	for _, c := range table {
		if c.Group == limiterGroup {
			text.WriteString("  " + c.Usage() + "\n")
			wrap(&text, "      ", c.Summary)
			continue
		}
		if others[c.Group] == nil {
			groups = append(groups, c.Group)
		}
		others[c.Group] = append(others[c.Group], c.Name)
	}
	for _, g := range groups {
		wrap(&text, "  ", g+": "+strings.Join(others[g], " "))
	}
	return text.String()
}

// wrap writes words in lines that begin with an indent.
func wrap(text *strings.Builder, indent, words string) {
	width := 0
	for _, w := range strings.Fields(words) {
		if width > 0 && width+1+len(w) > helpWidth {
			text.WriteByte('\n')
			width = 0
		}
		if width == 0 {
			text.WriteString(indent)
			width = len(indent)
		} else {
			text.WriteByte(' ')
			width++
		}
		text.WriteString(w)
		width += len(w)
	}
	text.WriteByte('\n')
}

// helpSub is the HELP that every container has.
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

// help is a container's list of subcommands in the form of Redis.
func (c *spec) help() []string {
	lines := []string{c.Name + " <subcommand> [<arg> [value] [opt] ...]. Subcommands are:"}
	for _, sub := range c.subs {
		lines = append(lines, sub.Usage(), "    "+sub.Summary)
	}
	return lines
}
