package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"limitsrv/commands"
	"limitsrv/commands/spec"
	"limitsrv/commands/word"
)

// printHelp prints the tools and the limiter commands: the end of --help.
func (c call) printHelp() {
	fmt.Fprint(c.stdout, "\nTools, by the first argument:\n\n")
	for _, t := range c.tools {
		describe(c.stdout, strings.TrimSpace("limitsrv "+t.name+" "+t.args), t.help)
	}
	fmt.Fprint(c.stdout, "\nCommands of the limiter; limitsrv --help-commands describes these and all others:\n\n")
	for _, command := range commands.Table() {
		if command.Group == spec.LimiterGroup {
			fmt.Fprintf(c.stdout, "  %s\n", command.Usage())
		}
	}
}

// runHelp is the tool help.
func runHelp(c call) int {
	if c.asksHelp() || len(c.args) > 1 {
		fmt.Fprintln(c.stdout, "usage: limitsrv help [TOOL|COMMAND]")
		return exitOK
	}
	if t, ok := c.tool(); ok {
		c.args = []string{"--help"}
		return t.run(c)
	}
	if len(c.args) == 0 {
		c.args = []string{"--help"}
		if _, err := c.parseOptions(); !errors.Is(err, errDone) {
			c.complain(err)
			return exitUsage
		}
		return exitOK
	}
	all, name := commands.Table(), c.args[0]
	i := slices.IndexFunc(all, func(command spec.Command) bool { return strings.EqualFold(command.Name, name) })
	if i < 0 {
		names := c.toolNames()
		for _, command := range all {
			names = append(names, command.Name)
		}
		fmt.Fprintf(c.stderr,
			"limitsrv help: there is no tool or command %s%s; limitsrv --help and limitsrv --help-commands show them\n", name,
			word.DidYouMean([]byte(name), names...))
		return exitUsage
	}
	describeCommand(c.stdout, all[i])
	return exitOK
}

// printCommands describes every command.
func printCommands(w io.Writer) {
	for _, c := range commands.Table() {
		describeCommand(w, c)
	}
}

// describeCommand describes a command, or its subcommands.
func describeCommand(w io.Writer, c spec.Command) {
	container, ok := c.Body.(*spec.Container)
	if !ok {
		describe(w, c.Usage(), c.Summary)
		return
	}
	for _, sub := range container.Sub {
		describe(w, c.Name+" "+sub.Usage(), sub.Summary)
	}
}

// helpWidth is the maximum number of characters in a line of help, except for a longer
// word.
const helpWidth = 80

// describe writes a usage line and the indented summary below it.
func describe(w io.Writer, usage, summary string) {
	const indent = "     "
	fmt.Fprintf(w, "  %s\n", usage)
	line := indent
	for word := range strings.FieldsSeq(summary) {
		if len(line)+1+len(word) > helpWidth && line != indent {
			fmt.Fprintln(w, line)
			line = indent
		}
		line += " " + word
	}
	fmt.Fprintln(w, line)
}
