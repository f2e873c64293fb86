package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"limitsrv/commands/session"
)

// configOptions name the configuration file.
type configOptions struct {
	Config string `group:"Configuration" placeholder:"FILE" help:"YAML file of options, with lines such as max-memory: 256mb. The command line takes precedence over the environment, and both over the file. SIGHUP reloads it."`
}

// A configuration is the options with the source of each.
type configuration struct {
	*options
	args    []string         // the command line
	flags   []*kong.Flag     // all options
	given   map[string]bool  // names on the command line
	entries map[string]entry // options in the file
	fileErr error            // the mistakes in the file
	// exposed reports whether all users of this machine can read the file.
	exposed bool
	read    bool // readFile was called
}

// isOption reports whether f configures the server, unlike --help and --version.
func isOption(f *kong.Flag) bool { return f.Name != "help" && len(f.Envs) > 0 }

// isSecret reports whether the value of f must never be printed.
func isSecret(f *kong.Flag) bool { return f.Tag.Has("secret") }

// envSetting returns the environment variable of f that is set, if any.
func envSetting(f *kong.Flag) (name string, ok bool) {
	for _, name := range f.Envs {
		if _, ok := os.LookupEnv(name); ok {
			return name, true
		}
	}
	return "", false
}

// Validate implements kong.Resolver.
func (c *configuration) Validate(*kong.Application) error { return nil }

// Resolve implements kong.Resolver: it returns the file's value of an option that is
// not on the command line. It returns nothing for an option set in the environment,
// because kong would let the resolver override the environment.
func (c *configuration) Resolve(ctx *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	if !c.read {
		c.read = true
		c.readFile(ctx)
	}
	e, ok := c.entries[flag.Name]
	if _, set := envSetting(flag); set || !ok || e.wrong {
		return nil, nil
	}
	return e.value, nil
}

// readFile reads the configuration file named on the command line or in the
// environment, if any.
func (c *configuration) readFile(ctx *kong.Context) {
	i := slices.IndexFunc(c.flags, isConfig)
	if name := ctx.FlagValue(c.flags[i]).(string); name != "" {
		c.entries, c.exposed, c.fileErr = readConfig(name, c.fileFlags())
	}
}

// isConfig reports whether f is --config, the only option that can't be in the file.
func isConfig(f *kong.Flag) bool { return f.Name == "config" }

// fileFlags returns the options that a configuration file may set.
func (c *configuration) fileFlags() []*kong.Flag {
	return slices.DeleteFunc(slices.Clone(c.flags), isConfig)
}

// warnings returns messages about valid but unsafe options.
func (c *configuration) warnings() []string {
	if !c.exposed {
		return nil
	}
	for _, f := range c.flags {
		if e, ok := c.entries[f.Name]; ok && isSecret(f) && e.value != "" {
			return []string{fmt.Sprintf("%s:%d: all users of this machine can read the %s; chmod o-r %s", c.Config, e.line, f.Name, c.Config)}
		}
	}
	return nil
}

// origin describes the source of the value of f.
func (c *configuration) origin(f *kong.Flag) string {
	if c.given[f.Name] {
		return "command line"
	}
	if name, ok := envSetting(f); ok {
		return name
	}
	if e, ok := c.entries[f.Name]; ok {
		return fmt.Sprintf("%s:%d", c.Config, e.line)
	}
	return "default"
}

// mentioned matches option names in an error.
var mentioned = regexp.MustCompile(`--([a-z][a-z-]*[a-z])`)

// withSource prefixes err with FILE:LINE of the first option it mentions that was set
// in the configuration file.
func (c *configuration) withSource(err error) error {
	if err == nil {
		return nil
	}
	for _, match := range mentioned.FindAllStringSubmatch(err.Error(), -1) {
		for _, f := range c.flags {
			if e, ok := c.entries[f.Name]; ok && f.Name == match[1] && c.origin(f) == fmt.Sprintf("%s:%d", c.Config, e.line) {
				return mistake{c.Config, e.line, err.Error()}
			}
		}
	}
	return err
}

// list returns the options as reported by CONFIG GET and INFO: all except secrets,
// sizes in bytes, durations in seconds.
func (c *configuration) list() []session.Option {
	var all []session.Option
	for _, f := range c.flags {
		if !isSecret(f) {
			all = append(all, session.Option{Name: f.Name, Value: valueText(f)})
		}
	}
	return all
}

// secrets returns the values of the options that list omits, by name.
func (c *configuration) secrets() map[string]string {
	all := map[string]string{}
	for _, f := range c.flags {
		if isSecret(f) {
			all[f.Name] = valueText(f)
		}
	}
	return all
}

// valueText formats the value of an option as CONFIG GET reports it.
func valueText(f *kong.Flag) string {
	switch v := f.Target.Interface().(type) {
	case size:
		return strconv.FormatInt(int64(v), 10)
	case time.Duration:
		return seconds(v)
	case []string:
		return strings.Join(v, ",")
	default:
		return fmt.Sprint(v)
	}
}

// errDone reports that the command line asked for a text, which has been printed.
var errDone = errors.New("done")

// parseOptions parses the command line, the environment and the configuration file. Its
// error is for people, one line per mistake, or errDone. If it returns an error and a
// configuration, every source was read, despite mistakes in some.
func parseOptions(args []string, stdout, stderr io.Writer) (*configuration, error) {
	shown := false
	c := &configuration{options: new(options), args: args, given: map[string]bool{}}
	parser, err := newParser(c.options, kong.Writers(stdout, stderr), kong.Exit(func(int) { shown = true }), kong.Resolvers(c))
	if err != nil {
		return nil, err
	}
	c.flags = optionsOf(parser)
	ctx, err := parser.Parse(args)
	switch {
	case shown:
		return nil, errDone
	case err != nil:
		return nil, errors.Join(append([]error{withAdvice(err)}, c.unparsed(err)...)...)
	case c.Version:
		fmt.Fprintln(stdout, versionText())
		return nil, errDone
	case c.HelpCommands:
		printCommands(stdout)
		return nil, errDone
	}
	for _, p := range ctx.Path {
		if p.Flag != nil && !p.Resolved {
			c.given[p.Flag.Name] = true
		}
	}
	return c, c.mistakes()
}

// mistakes returns all mistakes of the options, or nil.
func (c *configuration) mistakes() error {
	all := []error{c.fileErr}
	if c.fileErr == nil || c.entries != nil {
		for _, err := range c.check() {
			if !c.mentions(err, func(f *kong.Flag) bool { return c.entries[f.Name].wrong }) {
				all = append(all, c.withSource(err))
			}
		}
	}
	return errors.Join(all...)
}

// unparsed returns the mistakes of the environment and the configuration file that kong
// did not reach, because parsing ended at first, an error of the command line.
func (c *configuration) unparsed(first error) (all []error) {
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

// mentions reports whether err mentions an option for which match returns true.
func (c *configuration) mentions(err error, match func(*kong.Flag) bool) bool {
	if err == nil {
		return false
	}
	for _, mention := range mentioned.FindAllStringSubmatch(err.Error(), -1) {
		if slices.ContainsFunc(c.flags, func(f *kong.Flag) bool { return f.Name == mention[1] && match(f) }) {
			return true
		}
	}
	return false
}

// levels are the log levels that people choose from.
var levels = []string{"debug", "info", "warn", "error"}

// readLevel decodes a log level for kong.
func readLevel(ctx *kong.DecodeContext, target reflect.Value) error {
	var text string
	if err := ctx.Scan.PopValueInto("level", &text); err != nil {
		return err
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(text)); err != nil {
		return fmt.Errorf("must be one of: %s, got %q", strings.Join(levels, ", "), text)
	}
	target.Set(reflect.ValueOf(level))
	return nil
}

// reparse reads the sources of parseOptions again.
func (c *configuration) reparse() (*configuration, error) {
	return parseOptions(c.args, io.Discard, io.Discard)
}

// optionsOf returns the options that a parser accepts.
func optionsOf(parser *kong.Kong) []*kong.Flag {
	return slices.DeleteFunc(slices.Clone(parser.Model.Flags), func(f *kong.Flag) bool { return !isOption(f) })
}

// newParser returns a parser that stores options in o.
func newParser(o *options, more ...kong.Option) (*kong.Kong, error) {
	return kong.New(o, append([]kong.Option{
		kong.Name("limitsrv"), kong.Description(description), kong.DefaultEnvars("LIMITSRV"), kong.Help(printHelp), defaults(),
		kong.TypeMapper(reflect.TypeFor[slog.Level](), kong.MapperFunc(readLevel)),
	}, more...)...)
}
