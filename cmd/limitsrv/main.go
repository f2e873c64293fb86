// Command limitsrv is the server: it parses the options, wires the packages together,
// serves until a signal or SHUTDOWN, and shuts down gracefully. It is the only package
// that imports all others.
package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

func main() {
	if t, ok := toolOf(os.Args[1:]); ok {
		os.Exit(t.run(os.Args[2:], os.Stdin, os.Stdout, os.Stderr))
	}
	signals, hangups := make(chan os.Signal, 2), make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	signal.Notify(hangups, syscall.SIGHUP)
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr, signals, hangups))
}

// Exit codes.
const (
	exitOK      = 0
	exitFailure = 1 // it could not serve, or a second signal ended it at once
	exitUsage   = 2 // the command line is wrong
	exitDrops   = 3 // check found only a log tail that a start drops
)

// run is the program. It serves until a signal or SHUTDOWN and returns the exit code.
func run(args []string, stdout, stderr io.Writer, signals, hangups <-chan os.Signal) int {
	o, err := parseOptions(args, stdout, stderr)
	if errors.Is(err, errDone) {
		return exitOK
	}
	if err != nil {
		complain(stderr, err)
		return exitUsage
	}
	var level slog.LevelVar
	level.Set(o.LogLevel)
	log := newLogger(o.options, &level, stderr)
	for _, w := range o.warnings() {
		log.Warn(w)
	}
	if err := newNode(o, log, &level).run(signals, hangups); err != nil {
		writeFinalError(stderr, err)
		return exitFailure
	}
	return exitOK
}

// complain writes the errors of the options to w, one per line.
func complain(w io.Writer, err error) {
	hint := " (limitsrv --help shows the options)"
	if errors.As(err, new(mistake)) {
		hint = ""
	}
	for line := range strings.SplitSeq(err.Error(), "\n") {
		fmt.Fprintf(w, "limitsrv: %s%s\n", line, hint)
	}
}

// newLogger returns a logger to w in the format of --log-format.
func newLogger(o *options, level slog.Leveler, w io.Writer) *slog.Logger {
	options := &slog.HandlerOptions{Level: level}
	if o.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}
