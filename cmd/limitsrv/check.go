package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kong"

	"limitsrv/persist"
	"limitsrv/replication/offline"
	"limitsrv/replication/storage"
)

// A tool is a program within limitsrv, selected by the first argument in place of
// serving.
type tool struct {
	name, args, help string
	run              func(args []string, stdin io.Reader, stdout, stderr io.Writer) int
}

// tools returns all tools.
func tools() []tool {
	return []tool{
		{"check", "[--repair [--yes]] DIR", "verify a data directory that no server uses; --repair makes it usable again, and asks before data is lost", runCheck},
		{"completion", "bash|zsh|fish", "print the completion script of a shell; --help shows where to install it", runCompletion},
		{"config", "check|show [FILE]", "check a configuration file as the server would read it, or show all options with their sources", runConfig},
		{"help", "[TOOL|COMMAND]", "show this text, or the usage of a tool or of a command for clients", runHelp},
		{"hash-password", "", "read a password from standard input and print its hash for the file of --users", runHash},
		{"ping", "[options]", "check that the server started with these options on this machine answers; exits with 0 if so", runPing},
		{"recover", "DIR [--to NEW --raft HOST:PORT|--single [--yes]]", "convert a data directory or a backup to a data directory of a new cluster or a single server; without --to, describe it", runRecover},
		{"version", "", "show the version", runVersion},
	}
}

// toolOf returns the tool that the command line selects, if any.
func toolOf(args []string) (tool, bool) {
	for _, t := range tools() {
		if len(args) > 0 && args[0] == t.name {
			return t, true
		}
	}
	return tool{}, false
}

// checkOptions are the options of the tool check.
type checkOptions struct {
	Dir    string `arg:"" help:"The data directory. No server may be using it."`
	Repair bool   `help:"Set aside or cut off unreadable data, so that a server starts. Reports the data that would be lost, and asks first."`
	Yes    bool   `help:"Answer yes to the questions of --repair."`
}

const checkDescription = `Verifies a data directory: every block of its snapshots, every entry of its log,
and that the log continues the newest snapshot. Nothing is changed without --repair,
which is not for nodes of a cluster.

Exits with 0 if the data is intact, with 1 if it is damaged, and with 3 if a server
would start, but drop the tail of the log, which was not on disk when the machine
went down.`

// parseTool parses the command line of a tool. If ok is false, the tool must exit with
// code: the command line asked for help or was wrong.
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
	member, err := offline.IsMember(o.Dir)
	switch {
	case err != nil:
	case member && o.Repair:
		err = errors.New("a node of a cluster can't be repaired, because its state would differ from that on the other nodes: " + storage.Anew)
	case member:
		err = offline.Check(o.Dir, say)
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
		fmt.Fprintf(stderr, "limitsrv check: %v; %s\n", err, storage.Anew)
	case errors.Is(err, persist.ErrDamaged) && !o.Repair:
		fmt.Fprintf(stderr, "limitsrv check: %v; limitsrv check --repair %s reports which data can be saved\n", err, o.Dir)
	case err != nil:
		fmt.Fprintf(stderr, "limitsrv check: %v\n", err)
	default:
		return exitOK
	}
	return exitFailure
}

// ask prints a question and reports whether the answer is yes. The end of stdin means
// no.
func ask(question string, stdin io.Reader, stdout io.Writer) bool {
	fmt.Fprintf(stdout, "%s [y/N] ", question)
	answer, _ := bufio.NewReader(stdin).ReadString('\n')
	fmt.Fprintln(stdout)
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes"
}
