package options

import (
	"fmt"
	"io"
	"limitsrv/commands/session"
	"os"
	"regexp"
	"slices"
	"text/tabwriter"

	"github.com/alecthomas/kong"
)

// A Configuration is the options with the source of each.
type Configuration struct {
	*Options
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
func (c *Configuration) Validate(*kong.Application) error { return nil }

// Resolve implements kong.Resolver: it returns the file's value of an option that is
// not on the command line. It returns nothing for an option set in the environment,
// because kong would let the resolver override the environment.
func (c *Configuration) Resolve(ctx *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
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
func (c *Configuration) readFile(ctx *kong.Context) {
	i := slices.IndexFunc(c.flags, isConfig)
	if name := ctx.FlagValue(c.flags[i]).(string); name != "" {
		c.entries, c.exposed, c.fileErr = readConfig(name, c.fileFlags())
	}
}

// isConfig reports whether f is --config, the only option that can't be in the file.
func isConfig(f *kong.Flag) bool { return f.Name == "config" }

// fileFlags returns the options that a configuration file may set.
func (c *Configuration) fileFlags() []*kong.Flag {
	return slices.DeleteFunc(slices.Clone(c.flags), isConfig)
}

// Warnings returns messages about valid but unsafe options.
func (c *Configuration) Warnings() []string {
	if !c.exposed {
		return nil
	}
	for _, f := range c.flags {
		if e, ok := c.entries[f.Name]; ok && isSecret(f) && e.value != "" {
			return []string{fmt.Sprintf("%s:%d: all users of this machine can read the %s; chmod o-r %s", c.Config, e.line,
				f.Name, c.Config)}
		}
	}
	return nil
}

// flag returns the option of that name.
//
// Requires: the option exists.
func (c *Configuration) flag(name string) *kong.Flag {
	return c.flags[slices.IndexFunc(c.flags, func(f *kong.Flag) bool { return f.Name == name })]
}

// Value returns the value of an option in the form of CONFIG GET.
//
// Requires: there is an option of that name.
func (c *Configuration) Value(name string) string { return valueText(c.flag(name)) }

// Override returns the source of an option that takes precedence over the configuration
// file: the command line or an environment variable. ok reports whether there is a source.
//
// Requires: there is an option of that name.
func (c *Configuration) Override(name string) (source string, ok bool) {
	f := c.flag(name)
	_, inEnvironment := envSetting(f)
	return c.origin(f), inEnvironment || c.given[name]
}

// origin describes the source of the value of f.
func (c *Configuration) origin(f *kong.Flag) string {
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

// WithSource prefixes err with FILE:LINE of the first option it mentions that was set
// in the configuration file.
func (c *Configuration) WithSource(err error) error {
	if err == nil {
		return nil
	}
	for _, match := range mentioned.FindAllStringSubmatch(err.Error(), -1) {
		for _, f := range c.flags {
			if e, ok := c.entries[f.Name]; ok && f.Name == match[1] && c.origin(f) == fmt.Sprintf("%s:%d", c.Config, e.line) {
				return Mistake{c.Config, e.line, err.Error()}
			}
		}
	}
	return err
}

// List returns the options as reported by CONFIG GET and INFO: all except secrets,
// sizes in bytes, durations in seconds.
func (c *Configuration) List() []session.Option {
	var all []session.Option
	for _, f := range c.flags {
		if !isSecret(f) {
			all = append(all, session.Option{Name: f.Name, Value: valueText(f)})
		}
	}
	return all
}

// Secrets returns the values of the options that List omits, by name.
func (c *Configuration) Secrets() map[string]string {
	all := map[string]string{}
	for _, f := range c.flags {
		if isSecret(f) {
			all[f.Name] = valueText(f)
		}
	}
	return all
}

// mentions reports whether err mentions an option that match accepts.
func (c *Configuration) mentions(err error, match func(*kong.Flag) bool) bool {
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

// Show prints the name, value and source of every option.
func (c *Configuration) Show(w io.Writer) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, f := range c.flags {
		value := fmt.Sprint(f.Target.Interface())
		if f.IsSlice() {
			value = valueText(f)
		}
		if isSecret(f) && value != "" {
			value = "(secret)"
		}
		if value == "" {
			value = `""`
		}
		fmt.Fprintf(table, "%s\t%s\t%s\n", f.Name, value, c.origin(f))
	}
	table.Flush()
}
