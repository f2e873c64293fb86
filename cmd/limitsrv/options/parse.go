package options

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"limitsrv/commands/rules/live"
	"limitsrv/persist"
	"limitsrv/server"
)

// description is the beginning of --help.
const description = `A rate limiter server that speaks the Redis protocol. Limiters made for Redis, with
their Lua scripts, run on it unchanged.

Start it, and request a token of a bucket of 10 that gets one back each minute:

  limitsrv --data ./limits &
  limitsrv ping --wait 5s
  redis-cli RL.TOKEN user:42 10 1/m

Serve a network, with 1 GB for keys:

  LIMITSRV_PASSWORD=secret limitsrv --data ./limits --listen 0.0.0.0:6379 --max-memory 1gb

With a status page at http://127.0.0.1:9379 and metrics at /metrics:

  limitsrv --data ./limits --admin 127.0.0.1:9379`

// The errors of Parse if the command line asks for a text in place of a server.
var (
	ErrHelp         = errors.New("--help")
	ErrHelpCommands = errors.New("--help-commands")
	ErrVersion      = errors.New("--version")
)

// Parse parses the command line, the environment and the configuration file. Its
// error is for people, one line per mistake, or ErrHelp, ErrHelpCommands or ErrVersion. If
// it returns an error and a Configuration, every source was read, despite mistakes in
// some. If the command line asks for help, it describes the options to help.
func Parse(args []string, help io.Writer) (*Configuration, error) {
	shown := false
	c := &Configuration{Options: new(Options), args: args, given: map[string]bool{}}
	parser, err := newParser(c.Options, kong.Writers(help, help), kong.Exit(func(int) { shown = true }), kong.Resolvers(c))
	if err != nil {
		return nil, err
	}
	c.flags = optionsOf(parser.Model.Flags)
	ctx, err := parser.Parse(args)
	switch {
	case shown:
		return nil, ErrHelp
	case err != nil:
		return nil, errors.Join(append([]error{withAdvice(err)}, c.unparsed(err)...)...)
	case c.Version:
		return nil, ErrVersion
	case c.HelpCommands:
		return nil, ErrHelpCommands
	}
	for _, p := range ctx.Path {
		if p.Flag != nil && !p.Resolved {
			c.given[p.Flag.Name] = true
		}
	}
	return c, c.mistakes()
}

// mistakes returns all mistakes of the options, or nil.
func (c *Configuration) mistakes() error {
	all := []error{c.fileErr}
	if c.fileErr == nil || c.entries != nil {
		for _, err := range c.check() {
			if !c.mentions(err, func(f *kong.Flag) bool { return c.entries[f.Name].wrong }) {
				all = append(all, c.WithSource(err))
			}
		}
	}
	return errors.Join(all...)
}

// unparsed returns the mistakes of the environment and the configuration file that kong
// did not reach, because parsing ended at first, an error of the command line.
func (c *Configuration) unparsed(first error) (all []error) {
	name := os.Getenv("LIMITSRV_CONFIG")
	for i, arg := range c.args {
		if value, ok := strings.CutPrefix(arg, "--config="); ok {
			name = value
		} else if arg == "--config" && i+1 < len(c.args) {
			name = c.args[i+1]
		}
	}
	if name != "" {
		_, _, err := readConfig(name, c.fileFlags())
		all = append(all, err)
	}
	for _, f := range c.flags {
		env, ok := envSetting(f)
		if value := os.Getenv(env); ok && !accepts(f, value) && !strings.Contains(first.Error(), env) {
			all = append(all, fmt.Errorf("--%s %s, got %q (from %s)", f.Name, requirement(f), value, env))
		}
	}
	return all
}

// Reparse reads the sources of Parse again.
func (c *Configuration) Reparse() (*Configuration, error) {
	return Parse(c.args, io.Discard)
}

// Flags returns everything that a command line may have, --help and --version included.
func Flags() ([]*kong.Flag, error) {
	parser, err := newParser(new(Options))
	if err != nil {
		return nil, err
	}
	return parser.Model.Flags, nil
}

// optionsOf returns the flags that configure the server.
func optionsOf(flags []*kong.Flag) []*kong.Flag {
	return slices.DeleteFunc(slices.Clone(flags), func(f *kong.Flag) bool { return !isOption(f) })
}

// newParser returns a parser that stores options in o.
func newParser(o *Options, more ...kong.Option) (*kong.Kong, error) {
	return kong.New(o, append([]kong.Option{
		kong.Name("limitsrv"), kong.Description(description), kong.DefaultEnvars("LIMITSRV"), defaults(),
		kong.ConfigureHelp(kong.HelpOptions{NoAppDescFormat: true}),
		kong.TypeMapper(reflect.TypeFor[slog.Level](), kong.MapperFunc(readLevel)),
	}, more...)...)
}

// defaults are the default values that other packages define.
func defaults() kong.Vars {
	limits := server.DefaultLimits
	return kong.Vars{
		"maxClients":     strconv.Itoa(server.DefaultMaxClients),
		"ruleSeries":     strconv.Itoa(live.DefaultSeries),
		"writeTimeout":   server.DefaultWriteTimeout.String(),
		"maxArgs":        strconv.Itoa(limits.Args),
		"maxArgBytes":    Size(limits.ArgBytes).String(),
		"maxQueryBytes":  Size(limits.QueryBytes).String(),
		"maxOutputBytes": Size(limits.OutputBytes).String(),

		"snapshotLogBytes": Size(persist.DefaultSnapshotLogBytes).String(),
	}
}
