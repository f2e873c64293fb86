package raftfix

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"slices"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

// A logger is an hclog.Logger; see NewLogger.
type logger struct {
	to    *slog.Logger
	name  string
	first func(message string) bool
}

// NewLogger returns a logger for raft that logs to another logger. Operators can not act on
// raft's information messages, so each message gets the next lower level. A warning is
// logged only if first returns true for its message. The messages of ordinary, and errors because
// this node has closed its own connections, as it does when it stops, have the level of debugging.
func NewLogger(to *slog.Logger, first func(message string) bool) hclog.Logger {
	return &logger{to: to, first: first}
}

func (l *logger) Log(level hclog.Level, msg string, args ...any) {
	at := slog.LevelDebug
	switch level {
	case hclog.Warn:
		at = slog.LevelInfo
	case hclog.Error:
		at = slog.LevelWarn
	case hclog.Info:
		at = slog.LevelDebug
	case hclog.Trace, hclog.Debug:
		return
	}
	if slices.Contains(ordinary, msg) || slices.ContainsFunc(args, isOwnEnd) {
		at = slog.LevelDebug
	}
	if !l.to.Enabled(context.Background(), at) || at > slog.LevelDebug && !l.first(msg) {
		return
	}
	for i, a := range args {
		if f, ok := a.(hclog.Format); ok && len(f) > 0 {
			args[i] = fmt.Sprintf(f[0].(string), f[1:]...)
		}
	}
	l.to.Log(context.Background(), at, "raft: "+msg, args...)
}

// ordinary are warnings about events of a healthy cluster: a leader has handed over, or a node that
// starts lacks entries.
var ordinary = []string{
	"peer has newer term, stopping replication",
	"failed to get previous log",
	"appendEntries rejected, sending older logs",
}

// isOwnEnd reports whether an argument is the error of a connection that this node has closed.
func isOwnEnd(arg any) bool {
	err, ok := arg.(error)
	return ok && (errors.Is(err, raft.ErrTransportShutdown) || errors.Is(err, net.ErrClosed))
}

func (l *logger) Trace(msg string, args ...any) { l.Log(hclog.Trace, msg, args...) }
func (l *logger) Debug(msg string, args ...any) { l.Log(hclog.Debug, msg, args...) }
func (l *logger) Info(msg string, args ...any)  { l.Log(hclog.Info, msg, args...) }
func (l *logger) Warn(msg string, args ...any)  { l.Log(hclog.Warn, msg, args...) }
func (l *logger) Error(msg string, args ...any) { l.Log(hclog.Error, msg, args...) }

func (l *logger) IsTrace() bool { return false }
func (l *logger) IsDebug() bool { return false }
func (l *logger) IsInfo() bool  { return true }
func (l *logger) IsWarn() bool  { return true }
func (l *logger) IsError() bool { return true }

func (l *logger) ImpliedArgs() []any { return nil }

func (l *logger) With(args ...any) hclog.Logger {
	return &logger{to: l.to.With(slices.Clone(args)...), name: l.name, first: l.first}
}

func (l *logger) Name() string { return l.name }

func (l *logger) Named(name string) hclog.Logger {
	return &logger{to: l.to, name: name, first: l.first}
}

func (l *logger) ResetNamed(name string) hclog.Logger { return l.Named(name) }

func (l *logger) SetLevel(hclog.Level)  {}
func (l *logger) GetLevel() hclog.Level { return hclog.Info }

func (l *logger) StandardLogger(*hclog.StandardLoggerOptions) *log.Logger {
	return log.New(io.Discard, "", 0)
}

func (l *logger) StandardWriter(*hclog.StandardLoggerOptions) io.Writer { return io.Discard }
