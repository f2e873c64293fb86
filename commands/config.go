package commands

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"limitsrv/commands/glob"
	"limitsrv/commands/resp"
	"limitsrv/commands/session"
	"limitsrv/commands/spec"
	"limitsrv/commands/word"
	"limitsrv/engine"
)

// An alias is Redis' name of a setting that clients ask for: another name of one of our
// options, or a constant value.
type alias struct {
	name, option, value string
	words               map[string]string // Redis' word for each word of the option; nil: no translation
}

var aliases = []alias{
	{name: "appendfsync", option: "fsync", value: "no"},
	{name: "cluster-enabled", option: "cluster-mode", value: "no",
		words: map[string]string{"off": "no", "emulated": "yes", "on": "yes"}},
	{name: "databases", value: strconv.Itoa(engine.Databases)},
	{name: "latency-tracking", value: "yes"},
	{name: "loglevel", option: "log-level", value: "notice", words: logLevels},
	{name: "maxclients", option: "max-clients", value: "0"},
	{name: "maxmemory", option: "max-memory", value: "0"},
	{name: "maxmemory-policy", option: "on-full", value: "noeviction",
		words: map[string]string{"refuse": "noeviction", "evict": "volatile-ttl"}},
	{name: "replica-read-only", value: "yes"},
	{name: "save"},
	{name: "slave-read-only", value: "yes"},
	{name: "timeout", option: "idle-timeout", value: "0"},
}

// logLevels maps levels to Redis' words. There is no level for Redis' verbose.
var logLevels = map[string]string{"DEBUG": "debug", "INFO": "notice", "WARN": "warning"}

// of returns the setting under Redis' name; all are the options under their own names.
func (a alias) of(all []session.Option) session.Option {
	i := slices.IndexFunc(all, func(o session.Option) bool { return o.Name == a.option })
	if i < 0 {
		return session.Option{Name: a.name, Value: a.value}
	}
	o := all[i]
	o.Name = a.name
	if a.words == nil {
		return o
	}
	if word, ok := a.words[o.Value]; ok {
		o.Value = word
	}
	if set := o.Set; set != nil {
		o.Set = func(value string) (func(), error) {
			for ours, theirs := range a.words {
				if strings.EqualFold(value, theirs) {
					return set(ours)
				}
			}
			return nil, errors.New("argument must be one of: " + strings.Join(slices.Sorted(maps.Values(a.words)), ", "))
		}
	}
	return o
}

// ownOptions returns the settings that this package keeps.
func ownOptions(h *session.Handler) []session.Option {
	log := h.SlowLog()
	bounds := log.Bounds()
	number := func(name string, value, least, most int64, change func(*session.SlowBounds, int64)) session.Option {
		return session.Option{Name: name, Value: strconv.FormatInt(value, 10), Set: func(text string) (func(), error) {
			n, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				return nil, errors.New("argument couldn't be parsed into an integer")
			}
			if n < least || n > most {
				return nil, fmt.Errorf("argument must be between %d and %d inclusive", least, most)
			}
			return func() { log.SetBounds(func(b *session.SlowBounds) { change(b, n) }) }, nil
		}}
	}
	const longest = int64(time.Hour)
	appendOnly := "no"
	if hasStore(h) {
		appendOnly = "yes"
	}
	return []session.Option{
		{Name: "appendonly", Value: appendOnly},
		trackedKeys(h),
		number("slowlog-log-slower-than", bounds.Slower, -1, longest/1000,
			func(b *session.SlowBounds, n int64) { b.Slower = n }),
		number("slowlog-max-len", int64(bounds.Most), 0, session.MaxSlowLog,
			func(b *session.SlowBounds, n int64) { b.Most = int(n) }),
		number("latency-monitor-threshold", bounds.Monitor, 0, longest/1_000_000,
			func(b *session.SlowBounds, n int64) { b.Monitor = n }),
	}
}

var config = spec.Command{
	Name: "CONFIG", Summary: "Commands about settings.",
	Complexity: "See its subcommands", Since: "2.0.0", Group: "server",
	Body: &spec.Container{Sub: []spec.Command{
		long(configSub("GET", "parameter [parameter ...]", "Returns the settings that match a pattern.", runConfigGet)),
		configSub("RESETSTAT", "", "Resets the counters of INFO, except those of the limits.",
			func(s *session.Session, w *resp.Writer, _ [][]byte) {
				s.Handler().Stats().Reset()
				w.OK()
			}),
		configRewrite,
		secret(configSub("SET", "<parameter value ...>",
			"Changes settings while the server runs: all the given ones, or none.", runConfigSet)),
	}},
}

// configRewrite is CONFIG REWRITE.
var configRewrite = spec.Command{
	Name:       "REWRITE",
	Summary:    "Writes the settings changed since the start into the configuration file and keeps its comments.",
	Complexity: "O(N), N being the settings", Since: "2.8.0", Group: "server",
	Flags: spec.Admin | spec.NoScript | spec.Loading | spec.Stale | spec.NoMulti, Body: session.Run(runConfigRewrite),
}

func runConfigRewrite(s *session.Session, w *resp.Writer, _ [][]byte) {
	rewrite := s.Handler().Config().Rewrite
	if rewrite == nil {
		w.Error(resp.NewError("ERR", "The server is running without a config file"))
		return
	}
	s.Defer(func(done func(error)) (func(), error) {
		rewrite(done)
		return nil, nil
	}, (*resp.Writer).OK)
}

// configSub makes a subcommand of CONFIG.
func configSub(name, args, summary string, run session.Run) spec.Command {
	return spec.Command{
		Name: name, Args: args, Summary: summary, Complexity: "O(N), N being the settings", Since: "2.0.0", Group: "server",
		Flags: spec.Admin | spec.NoScript | spec.Loading | spec.Stale, Body: run,
	}
}

// secret returns c with the flag Secret.
func secret(c spec.Command) spec.Command {
	c.Flags |= spec.Secret
	return c
}

// settings returns all settings of CONFIG GET in order of their names.
func settings(h *session.Handler) []session.Option {
	all := append(slices.Clone(h.Options()), ownOptions(h)...)
	for _, a := range aliases {
		if _, ok := option(all, a.name); !ok {
			all = append(all, a.of(all))
		}
	}
	slices.SortFunc(all, func(a, b session.Option) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// option returns the value of an option.
func option(all []session.Option, name string) (string, bool) {
	for _, o := range all {
		if o.Name == name {
			return o.Value, true
		}
	}
	return "", false
}

func runConfigGet(s *session.Session, w *resp.Writer, args [][]byte) {
	var found []session.Option
	patterns := make([]*glob.Pattern, 0, len(args)-2)
	for _, pattern := range args[2:] {
		patterns = append(patterns, glob.Compile(pattern, glob.AnyCase))
	}
	for _, o := range settings(s.Handler()) {
		for _, pattern := range patterns {
			if pattern.Match([]byte(o.Name)) {
				found = append(found, o)
				break
			}
		}
	}
	w.Map(len(found))
	for _, o := range found {
		w.Pair(o.Name, o.Value)
	}
}

// runConfigSet changes all the given settings, or no setting.
func runConfigSet(s *session.Session, w *resp.Writer, args [][]byte) {
	args = args[2:]
	if len(args)%2 != 0 {
		w.Error(errSyntax)
		return
	}
	var (
		settings = settings(s.Handler())
		seen     = map[string]bool{}
		changes  []func()
		applied  []string
	)
	for ; len(args) > 0; args = args[2:] {
		name := strings.ToLower(word.CString(args[0]))
		i := slices.IndexFunc(settings, func(o session.Option) bool { return o.Name == name })
		if i < 0 {
			w.Error(resp.NewError("ERR", "Unknown option or number of arguments for CONFIG SET - '"+word.CString(args[0])+"'"))
			return
		}
		var (
			change func()
			err    error
		)
		switch {
		case settings[i].Set == nil:
			err = errors.New("can't set immutable config")
		case seen[name]:
			err = errors.New("duplicate parameter")
		default:
			change, err = settings[i].Set(string(args[1]))
		}
		if err != nil {
			w.Error(resp.NewError("ERR", "CONFIG SET failed (possibly related to argument '"+name+"') - "+err.Error()))
			return
		}
		seen[name] = true
		changes = append(changes, change)
		applied = append(applied, name+"="+string(args[1]))
	}
	for _, change := range changes {
		change()
	}
	s.Handler().Config().Log.Info("settings changed", "options", strings.Join(applied, " "), "user", s.User(), "from",
		s.Addr())
	w.OK()
}
