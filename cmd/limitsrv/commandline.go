package main

import (
	"errors"
	"fmt"
	"strings"

	"limitsrv/cmd/limitsrv/options"
	"limitsrv/commands/word"
)

// errDone is the error of parseOptions if the command line asked for a text.
var errDone = errors.New("done")

// parseOptions parses the command line of the server, or prints the text that it asks for.
// Its errors are errDone and the errors of options.Parse.
func (c call) parseOptions() (*options.Configuration, error) {
	o, err := options.Parse(c.args, c.stdout)
	switch {
	case errors.Is(err, options.ErrHelp):
		c.printHelp()
	case errors.Is(err, options.ErrHelpCommands):
		printCommands(c.stdout)
	case errors.Is(err, options.ErrVersion):
		fmt.Fprintln(c.stdout, versionText())
	default:
		return o, c.withTools(err)
	}
	return nil, errDone
}

// withTools adds the nearest tool, or all tools, to an error about a first argument that is neither a
// tool nor an option.
func (c call) withTools(err error) error {
	if err == nil || len(c.args) == 0 || err.Error() != "unexpected argument "+c.args[0] {
		return err
	}
	names := c.toolNames()
	if nearest := word.DidYouMean([]byte(c.args[0]), names...); nearest != "" {
		return fmt.Errorf("%w%s", err, nearest)
	}
	return fmt.Errorf("%w; the tools are %s", err, strings.Join(names, ", "))
}

// complain writes the errors of parseOptions, each in a line.
func (c call) complain(err error) {
	hint := " (limitsrv --help shows the options)"
	if errors.As(err, new(options.Mistake)) {
		hint = ""
	}
	for line := range strings.SplitSeq(err.Error(), "\n") {
		fmt.Fprintf(c.stderr, "limitsrv: %s%s\n", line, hint)
	}
}
