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

	"limitsrv/commands"
)

// configOptions say where other options are.
type configOptions struct {
	Config string `group:"Configuration" placeholder:"FILE" help:"YAML file of options by their names, such as max-memory: 256mb. The command line goes before the environment, and that before the file. SIGHUP reads it again."`
}

// A configuration is the options, with where each comes from.
type configuration struct {
	*options
	args    []string         // the command line
	flags   []*kong.Flag     // of the options
	given   map[string]bool  // those of the command line
	entries map[string]entry // those of the file
	fileErr error            // what is wrong with the file
	// exposed says that everybody on this machine may read the file.
	exposed bool
	read    bool // the file was looked at, or there is none
}

// isOption tells what can be configured from what is only asked of a command line.
func isOption(f *kong.Flag) bool { return f.Name != "help" && len(f.Envs) > 0 }

// isSecret says whether the value of an option may never be told.
func isSecret(f *kong.Flag) bool { return f.Tag.Has("secret") }

// setting is the environment's variable of an option, and whether it is there.
func setting(f *kong.Flag) (name string, ok bool) {
	for _, name := range f.Envs {
		if _, ok := os.LookupEnv(name); ok {
			return name, true
		}
	}
	return "", false
}

// Validate is for kong.
func (c *configuration) Validate(*kong.Application) error { return nil }

// Resolve is for kong: the value of an option that the command line does not have.
// kong would have it go before the environment.
func (c *configuration) Resolve(ctx *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	if !c.read {
		c.read = true
		c.readFile(ctx)
	}
	e, ok := c.entries[flag.Name]
	if _, set := setting(flag); set || !ok || e.wrong {
		return nil, nil
	}
	return e.value, nil
}

// readFile reads the file that the command line or the environment name, if any.
func (c *configuration) readFile(ctx *kong.Context) {
	i := slices.IndexFunc(c.flags, isConfig)
	if name := ctx.FlagValue(c.flags[i]).(string); name != "" {
		c.entries, c.exposed, c.fileErr = readConfig(name, c.fileFlags())
	}
}

// isConfig is of --config, the one option that no file has.
func isConfig(f *kong.Flag) bool { return f.Name == "config" }

// fileFlags are the options that a file may have.
func (c *configuration) fileFlags() []*kong.Flag {
	return slices.DeleteFunc(slices.Clone(c.flags), isConfig)
}

// warnings are what an operator should know of options that are not wrong.
func (c *configuration) warnings() []string {
	if !c.exposed {
		return nil
	}
	for _, f := range c.flags {
		if e, ok := c.entries[f.Name]; ok && isSecret(f) && e.value != "" {
			return []string{fmt.Sprintf("%s:%d: everybody on this machine may read the %s; chmod o-r %s", c.Config, e.line, f.Name, c.Config)}
		}
	}
	return nil
}

// origin is where the value of an option comes from, for people.
func (c *configuration) origin(f *kong.Flag) string {
	if c.given[f.Name] {
		return "command line"
	}
	if name, ok := setting(f); ok {
		return name
	}
	if e, ok := c.entries[f.Name]; ok {
		return fmt.Sprintf("%s:%d", c.Config, e.line)
	}
	return "default"
}

// mentioned are options in an error.
var mentioned = regexp.MustCompile(`--([a-z][a-z-]*[a-z])`)

// located has an error about options begin with the line of the file that the first
// of those comes from which come from there.
func (c *configuration) located(err error) error {
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

// list is what CONFIG GET and INFO tell: every option but secrets, sizes in bytes,
// durations in seconds.
func (c *configuration) list() []commands.Option {
	var all []commands.Option
	for _, f := range c.flags {
		if !isSecret(f) {
			all = append(all, commands.Option{Name: f.Name, Value: valueText(f)})
		}
	}
	return all
}

// secrets are the options that list leaves out, by name.
func (c *configuration) secrets() map[string]string {
	all := map[string]string{}
	for _, f := range c.flags {
		if isSecret(f) {
			all[f.Name] = valueText(f)
		}
	}
	return all
}

// valueText is the value of an option as CONFIG GET tells it.
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

// errDone says that the command line asked for a text, which has been printed.
var errDone = errors.New("done")

// parseOptions reads the command line, the environment and the file. Its error is
// for people, of one or more lines, or errDone. Beside an error there is a
// configuration if all that it could read was read.
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
		return nil, errors.Join(append([]error{advised(err)}, c.unparsed(err)...)...)
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

// mistakes are all that is wrong with the options; nil: nothing is.
func (c *configuration) mistakes() error {
	all := []error{c.fileErr}
	if c.fileErr == nil || c.entries != nil {
		for _, err := range c.check() {
			if !c.mentions(err, func(f *kong.Flag) bool { return c.entries[f.Name].wrong }) {
				all = append(all, c.located(err))
			}
		}
	}
	return errors.Join(all...)
}

// unparsed are the mistakes of the environment and the file beside the one at which the
// reading of the command line ended.
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
		env, ok := setting(f)
		if value := os.Getenv(env); ok && !takes(f, value) && !strings.Contains(first.Error(), env) {
			all = append(all, fmt.Errorf("--%s %s, got %q (from %s)", f.Name, allowed(f), value, env))
		}
	}
	return all
}

// mentions says whether an error is about an option, or more, that are such.
func (c *configuration) mentions(err error, such func(*kong.Flag) bool) bool {
	if err == nil {
		return false
	}
	for _, match := range mentioned.FindAllStringSubmatch(err.Error(), -1) {
		if slices.ContainsFunc(c.flags, func(f *kong.Flag) bool { return f.Name == match[1] && such(f) }) {
			return true
		}
	}
	return false
}

// levels are the levels of the log that people choose from.
var levels = []string{"debug", "info", "warn", "error"}

// readLevel is for kong.
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

// again reads what parseOptions has read, as it is now.
func (c *configuration) again() (*configuration, error) {
	return parseOptions(c.args, io.Discard, io.Discard)
}

// optionsOf are what a parser has of options.
func optionsOf(parser *kong.Kong) []*kong.Flag {
	return slices.DeleteFunc(slices.Clone(parser.Model.Flags), func(f *kong.Flag) bool { return !isOption(f) })
}

// newParser is what reads the command line into o.
func newParser(o *options, more ...kong.Option) (*kong.Kong, error) {
	return kong.New(o, append([]kong.Option{
		kong.Name("limitsrv"), kong.Description(description), kong.DefaultEnvars("LIMITSRV"), kong.Help(printHelp), defaults(),
		kong.TypeMapper(reflect.TypeFor[slog.Level](), kong.MapperFunc(readLevel)),
	}, more...)...)
}
