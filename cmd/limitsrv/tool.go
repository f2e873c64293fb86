package main

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// Exit codes.
const (
	exitOK      = 0
	exitFailure = 1 // it could not serve, or a second signal ended it at once
	exitUsage   = 2 // the command line is wrong
	exitDrops   = 3 // check found only a log tail that a start drops
	exitPoison  = 4 // an entry of the log has ended too many processes: see recover --skip-entry
)

// A tool is a program within limitsrv, selected by the first argument in place of
// serving.
type tool struct {
	name, args, help string
	run              func(call) (code int)
}

// A call is the command line of the server or of a tool, without their names, and the
// standard files.
type call struct {
	args           []string
	stdin          io.Reader
	stdout, stderr io.Writer
	tools          []tool // all
}

// tool returns the tool that the command line selects, if any.
func (c call) tool() (tool, bool) {
	for _, t := range c.tools {
		if len(c.args) > 0 && c.args[0] == t.name {
			return t, true
		}
	}
	return tool{}, false
}

func (c call) toolNames() (names []string) {
	for _, t := range c.tools {
		names = append(names, t.name)
	}
	return names
}

// parse parses the command line of a tool. If ok is false, the tool must exit with code:
// the command line asked for help or was wrong.
func (c call) parse(name, description string, options any) (code int, ok bool) {
	shown := false
	parser, err := kong.New(options, kong.Name("limitsrv "+name), kong.Description(description),
		kong.Writers(c.stdout, c.stderr), kong.Exit(func(int) { shown = true }))
	if err == nil {
		_, err = parser.Parse(c.args)
	}
	switch {
	case shown:
		return exitOK, false
	case err != nil:
		fmt.Fprintf(c.stderr, "limitsrv %s: %v (limitsrv %s --help shows the options)\n", name, err, name)
		return exitUsage, false
	}
	return exitOK, true
}

// ask prints a question and reports whether the answer is yes. The end of stdin means
// no.
func (c call) ask(question string) bool {
	fmt.Fprintf(c.stdout, "%s [y/N] ", question)
	answer, _ := bufio.NewReader(c.stdin).ReadString('\n')
	fmt.Fprintln(c.stdout)
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes"
}

// asksHelp reports whether the command line of a tool, which also has the server's
// options, asks for help.
func (c call) asksHelp() bool {
	return slices.Contains(c.args, "--help") || slices.Contains(c.args, "-h")
}
