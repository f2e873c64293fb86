package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"limitsrv/commands"
	"limitsrv/commands/session"
)

// description is the beginning of --help.
const description = `A rate limiter server that speaks the Redis protocol.

Start it, and request a token of a bucket of 10 that refills at 5 per second:

  limitsrv --data ./limits &
  redis-cli RL.TOKEN user:42 10 5

Serve a network, with 1 GB for keys:

  LIMITSRV_PASSWORD=secret limitsrv --data ./limits --listen 0.0.0.0:6379 --max-memory 1gb

With a status page at http://127.0.0.1:9379 and metrics at /metrics:

  limitsrv --data ./limits --admin 127.0.0.1:9379`

// printHelp prints kong's help of the options, then the tools and the limiter commands.
func printHelp(options kong.HelpOptions, ctx *kong.Context) error {
	options.NoAppDescFormat = true
	if err := kong.DefaultHelpPrinter(options, ctx); err != nil {
		return err
	}
	fmt.Fprint(ctx.Stdout, "\nTools, by the first argument:\n\n")
	for _, t := range tools() {
		describe(ctx.Stdout, strings.TrimSpace("limitsrv "+t.name+" "+t.args), t.help)
	}
	fmt.Fprint(ctx.Stdout, "\nCommands of the limiter; limitsrv --help-commands describes these and all others:\n\n")
	for _, c := range commands.Table() {
		if c.Group == limiterGroup {
			fmt.Fprintf(ctx.Stdout, "  %s\n", c.Usage())
		}
	}
	return nil
}

// runHelp is the tool help.
func runHelp(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if asksHelp(args) || len(args) > 1 {
		fmt.Fprintln(stdout, "usage: limitsrv help [TOOL|COMMAND]")
		return exitOK
	}
	if len(args) == 0 {
		return run([]string{"--help"}, stdout, stderr, nil, nil)
	}
	if t, ok := toolOf(args); ok {
		return t.run([]string{"--help"}, stdin, stdout, stderr)
	}
	all := commands.Table()
	i := slices.IndexFunc(all, func(c session.Command) bool { return strings.EqualFold(c.Name, args[0]) })
	if i < 0 {
		fmt.Fprintf(stderr, "limitsrv help: there is no tool or command %s; limitsrv --help and limitsrv --help-commands show them\n", args[0])
		return exitUsage
	}
	describeCommand(stdout, all[i])
	return exitOK
}

// asksHelp reports whether the command line of a tool, which also has the server's
// options, asks for help.
func asksHelp(args []string) bool {
	return slices.Contains(args, "--help") || slices.Contains(args, "-h")
}

// limiterGroup is the group of the commands that decide.
const limiterGroup = "limiter"

// printCommands describes every command.
func printCommands(w io.Writer) {
	for _, c := range commands.Table() {
		describeCommand(w, c)
	}
}

// describeCommand describes a command, or its subcommands.
func describeCommand(w io.Writer, c session.Command) {
	if len(c.Sub) == 0 {
		describe(w, c.Usage(), c.Summary)
	}
	for _, sub := range c.Sub {
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
