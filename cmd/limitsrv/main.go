// Command limitsrv is the server: it parses the options, wires the packages together,
// serves until a signal or SHUTDOWN, and shuts down gracefully. It is the only package that
// imports all other packages.
package main

import (
	"errors"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"limitsrv/cmd/limitsrv/options"
	"limitsrv/persist"
)

func main() {
	hideNewFiles()
	c := call{args: os.Args[1:], stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, tools: tools()}
	if t, ok := c.tool(); ok {
		c.args = c.args[1:]
		os.Exit(t.run(c))
	}
	signals, hangups := make(chan os.Signal, 2), make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	signal.Notify(hangups, syscall.SIGHUP)
	os.Exit(run(c, signals, hangups))
}

// tools returns all tools.
func tools() []tool {
	return []tool{
		{"check", "[--repair [--yes]] DIR", "verify a data directory that no server uses; --repair makes it usable again, " +
			"and asks before data is lost", runCheck},
		{"completion", "bash|zsh|fish", "print the completion script of a shell; --help shows where to install it",
			runCompletion},
		{"config", "check|show [FILE]",
			"check a configuration file as the server would read it, or show all options with their sources", runConfig},
		{"help", "[TOOL|COMMAND]", "show this text, or the usage of a tool or of a command for clients", runHelp},
		{"hash-password", "", "read a password from standard input and print its hash for the file of --users", runHash},
		{"hash-value", "VALUE...", "print the hash that the log has instead of the value of an attribute", runHashValue},
		{"ping", "[--wait DURATION] [HOST:PORT | options]", "ask a server whether it answers, or wait until it is ready: " +
			"the one at an address, or the one started with these options on this machine; exits with 0 if so", runPing},
		{"recover", "DIR [--to NEW --raft HOST:PORT|--single] [--skip-entry INDEX] [--yes]", "convert a data directory or " +
			"a backup to a data directory of a new cluster or a single server; make a directory start without an entry of its " +
			"log that ends the process; otherwise describe it", runRecover},
		{"rules", "check|lint|show FILE|DIR... | test FILE|DIR CASES | push FILE|DIR... --to HOST:PORT",
			"check files of rules as the server would read them, show their limits, test their answers, or load them into a " +
				"server", runRules},
		{"version", "", "show the version", runVersion},
	}
}

// run is the program. It serves until a signal or SHUTDOWN and returns the exit code.
func run(c call, signals, hangups <-chan os.Signal) int {
	o, err := c.parseOptions()
	if errors.Is(err, errDone) {
		return exitOK
	}
	if err != nil {
		c.complain(err)
		return exitUsage
	}
	if o.Raft != "" || len(o.Front) > 0 {
		restartWithTimerSlack()
	}
	var level slog.LevelVar
	level.Set(o.LogLevel)
	log := newLogger(o.Options, &level, c.stderr)
	for _, w := range o.Warnings() {
		log.Warn(w)
	}
	if err := newNode(o, log, &level).run(signals, hangups); err != nil {
		writeFinalError(c.stderr, err)
		if errors.As(err, new(*persist.PoisonError)) {
			return exitPoison
		}
		return exitFailure
	}
	return exitOK
}

// newLogger returns a logger to w in the format of --log-format.
func newLogger(o *options.Options, level slog.Leveler, w io.Writer) *slog.Logger {
	handler := &slog.HandlerOptions{Level: level}
	if o.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, handler))
	}
	return slog.New(slog.NewTextHandler(w, handler))
}
