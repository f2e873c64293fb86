package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kong"

	"limitsrv/persist"
	"limitsrv/replication"
)

// A tool is what limitsrv does besides serving, if its first argument says so.
type tool struct {
	name, args, help string
	run              func(args []string, stdin io.Reader, stdout, stderr io.Writer) int
}

// tools are all of them.
func tools() []tool {
	return []tool{
		{"check", "[--repair [--yes]] DIR", "verify a data directory that no server uses; --repair makes it one that a server starts from, and asks before anything is lost", runCheck},
		{"completion", "bash|zsh|fish", "print what makes a shell complete options and tools; --help says where it goes", runCompletion},
		{"config", "check|show [FILE]", "check a file of options as the server would read it, or show all options and where each comes from", runConfig},
		{"help", "[TOOL|COMMAND]", "show this text, or how a tool is used, or a command that clients may send", runHelp},
		{"hash-password", "", "read a password from standard input and print its hash, for the file of --users", runHash},
		{"ping", "[options]", "ask a server that was started with these options, here, whether it serves; ends with 0 if so", runPing},
		{"recover", "DIR [--to NEW --raft HOST:PORT|--single [--yes]]", "make a data directory of a new cluster, or of a server by itself, of what another one or a backup has; without --to, show what that is", runRecover},
		{"version", "", "show the version", runVersion},
	}
}

// toolOf is the tool that the command line asks for, if it does.
func toolOf(args []string) (tool, bool) {
	for _, t := range tools() {
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
and that one goes on where the other ends. Nothing is changed, unless by --repair,
which is not for nodes of a cluster.

Ends with 0 if all is well, with 1 if something is damaged, and with 3 if a server
would start, but drop the end of the log, which was not on disk when the machine
went down.`

// parseTool reads the command line of a tool. If not ok, that is all, with an exit code.
func parseTool(name, description string, options any, args []string, stdout, stderr io.Writer) (code int, ok bool) {
	shown := false
	parser, err := kong.New(options, kong.Name("limitsrv "+name), kong.Description(description),
		kong.Writers(stdout, stderr), kong.Exit(func(int) { shown = true }))
	if err == nil {
		_, err = parser.Parse(args)
	}
	switch {
	case shown:
		return exitOK, false
	case err != nil:
		fmt.Fprintf(stderr, "limitsrv %s: %v (limitsrv %s --help shows the options)\n", name, err, name)
		return exitUsage, false
	}
	return exitOK, true
}

func runCheck(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	var o checkOptions
	if code, ok := parseTool("check", checkDescription, &o, args, stdout, stderr); !ok {
		return code
	}
	say := func(line string) { fmt.Fprintln(stdout, line) }
	member, err := replication.IsMember(o.Dir)
	switch {
	case err != nil:
	case member && o.Repair:
		err = errors.New("a node of a cluster is not repaired, for the others would disagree with what is left: " + replication.Anew)
	case member:
		err = replication.Check(o.Dir, say)
	case o.Repair:
		err = persist.Repair(nil, o.Dir, say, func(question string) bool { return o.Yes || ask(question, stdin, stdout) })
	default:
		err = persist.Check(nil, o.Dir, say)
	}
	switch {
	case errors.Is(err, persist.ErrDrops):
		fmt.Fprintf(stderr, "limitsrv check: %v\n", err)
		return exitDrops
	case errors.Is(err, persist.ErrDamaged) && member:
		fmt.Fprintf(stderr, "limitsrv check: %v; %s\n", err, replication.Anew)
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
