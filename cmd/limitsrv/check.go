package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kong"

	"limitsrv/persist"
)

// A tool is what limitsrv does besides serving, if its first argument says so.
type tool struct {
	name, args, help string
	run              func(args []string, stdin io.Reader, stdout, stderr io.Writer) int
}

var tools = []tool{
	{"check", "[--repair [--yes]] DIR", "verify a data directory that no server uses; --repair makes it one that a server starts from, and asks before anything is lost", runCheck},
}

// toolOf is the tool that the command line asks for, if it does.
func toolOf(args []string) (tool, bool) {
	for _, t := range tools {
		if len(args) > 0 && args[0] == t.name {
			return t, true
		}
	}
	return tool{}, false
}

// checkOptions are the command line of the tool check.
type checkOptions struct {
	Dir    string `arg:"" help:"The data directory, which no server uses."`
	Repair bool   `help:"Set aside or cut off what can't be read, so that a server starts. Says what would be lost, and asks."`
	Yes    bool   `help:"Answer yes to what --repair asks."`
}

const checkDescription = `Verifies a data directory: every block of its snapshots, every entry of its log,
and that one goes on where the other ends. Nothing is changed, unless by --repair.

Ends with 0 if all is well, and with 1 if something is damaged.`

func runCheck(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	var (
		o     checkOptions
		shown bool
	)
	parser, err := kong.New(&o, kong.Name("limitsrv check"), kong.Description(checkDescription),
		kong.Writers(stdout, stderr), kong.Exit(func(int) { shown = true }))
	if err == nil {
		_, err = parser.Parse(args)
	}
	switch {
	case shown:
		return exitOK
	case err != nil:
		fmt.Fprintf(stderr, "limitsrv check: %v (limitsrv check --help shows the options)\n", err)
		return exitUsage
	}
	say := func(line string) { fmt.Fprintln(stdout, line) }
	if o.Repair {
		err = persist.Repair(nil, o.Dir, say, func(question string) bool { return o.Yes || ask(question, stdin, stdout) })
	} else {
		err = persist.Check(nil, o.Dir, say)
	}
	switch {
	case errors.Is(err, persist.ErrDamaged) && !o.Repair:
		fmt.Fprintf(stderr, "limitsrv check: %v; limitsrv check --repair %s says what can be saved\n", err, o.Dir)
	case err != nil:
		fmt.Fprintf(stderr, "limitsrv check: %v\n", err)
	default:
		return exitOK
	}
	return exitFailure
}

// ask asks somebody who may not be there.
func ask(question string, stdin io.Reader, stdout io.Writer) bool {
	fmt.Fprintf(stdout, "%s [y/N] ", question)
	answer, _ := bufio.NewReader(stdin).ReadString('\n')
	fmt.Fprintln(stdout)
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes"
}
