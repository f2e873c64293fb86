package commands

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// fixed are Redis' names of settings that clients ask for and that are as they
// are, or that follow from an option of ours by another name.
var fixed = []struct{ name, option, value string }{
	{"appendonly", "", "no"},
	{"cluster-enabled", "cluster-mode", "no"},
	{"databases", "", strconv.Itoa(databases)},
	{"maxclients", "max-clients", "0"},
	{"maxmemory", "max-memory", "0"},
	{"maxmemory-policy", "on-full", "noeviction"},
	{"replica-read-only", "", "yes"},
	{"save", "", ""},
	{"slave-read-only", "", "yes"},
	{"slowlog-max-len", "", "0"},
	{"timeout", "idle-timeout", "0"},
}

// redisWords are Redis' words for values of options that are words.
var redisWords = map[string]map[string]string{
	"on-full":      {"refuse": "noeviction", "evict": "volatile-ttl"},
	"cluster-mode": {"off": "no", "emulated": "yes"},
}

var config = Command{
	Name: "CONFIG", Summary: "Container for commands about settings.",
	Complexity: "Depends on the subcommand", Since: "2.0.0", Group: "server",
	Sub: []Command{
		configSub("GET", "parameter [parameter ...]", "Answers the settings that match a pattern.", runConfigGet),
		configSub("RESETSTAT", "", "Sets the counters of INFO to zero, but for those of the limits.", func(s *Session, _ [][]byte) {
			s.h.stats.reset()
			s.w.OK()
		}),
		configSub("REWRITE", "", "Refused: settings come from the command line.", func(s *Session, _ [][]byte) {
			s.w.Error(&Error{"ERR", "The server is running without a config file"})
		}),
		configSub("SET", "<parameter value ...>", "Refused: settings are made when the server starts.", runConfigSet),
	},
}

// configSub is a line of CONFIG's subcommands.
func configSub(name, args, summary string, run func(*Session, [][]byte)) Command {
	return Command{
		Name: name, Args: args, Summary: summary, Complexity: "O(N), N being the settings", Since: "2.0.0", Group: "server",
		Flags: Admin | NoScript | Loading | Stale, Run: run,
	}
}

// settings are all that CONFIG GET tells, in order of their names.
func (h *Handler) settings() []Option {
	all := slices.Clone(h.options())
	for _, f := range fixed {
		if _, ok := option(all, f.name); ok {
			continue
		}
		value, ok := option(all, f.option)
		if !ok {
			value = f.value
		}
		if word, ok := redisWords[f.option][value]; ok {
			value = word
		}
		all = append(all, Option{f.name, value})
	}
	slices.SortFunc(all, func(a, b Option) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// option finds an option's value.
func option(all []Option, name string) (string, bool) {
	for _, o := range all {
		if o.Name == name {
			return o.Value, true
		}
	}
	return "", false
}

func runConfigGet(s *Session, args [][]byte) {
	var found []Option
	for _, o := range s.h.settings() {
		for _, pattern := range args[2:] {
			if globMatch(pattern, []byte(o.Name), anyCase) {
				found = append(found, o)
				break
			}
		}
	}
	s.w.Map(len(found))
	for _, o := range found {
		s.w.pair(o.Name, o.Value)
	}
}

func runConfigSet(s *Session, args [][]byte) {
	if len(args)%2 != 0 {
		s.w.Error(errSyntax)
		return
	}
	name := cString(args[2])
	if _, ok := option(s.h.settings(), strings.ToLower(name)); !ok {
		s.w.Error(&Error{"ERR", "Unknown option or number of arguments for CONFIG SET - '" + name + "'"})
		return
	}
	s.w.Error(&Error{"ERR", "CONFIG SET failed (possibly related to argument '" + name + "') - can't set immutable config"})
}
