package replication

import (
	"context"
	"fmt"
	"io"
	"log"
	"log/slog"
	"slices"
	"time"

	"github.com/hashicorp/go-hclog"
)

// A raftLog passes raft's log messages to the server's. Operators can not act on raft's
// information messages, so each level is lowered by one, and the same warning is logged at
// most once per logInterval.
type raftLog struct {
	to      *slog.Logger
	name    string
	logOnce *logLimiter
}

// logInterval is the time for which the same message is not logged again.
const logInterval = 30 * time.Second

func newRaftLog(to *slog.Logger) *raftLog { return &raftLog{to: to, logOnce: newLogLimiter()} }

func (l *raftLog) Log(level hclog.Level, msg string, args ...any) {
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
	if !l.to.Enabled(context.Background(), at) || at > slog.LevelDebug && !l.logOnce.first(msg) {
		return
	}
	for i, a := range args {
		if f, ok := a.(hclog.Format); ok && len(f) > 0 {
			args[i] = fmt.Sprintf(f[0].(string), f[1:]...)
		}
	}
	l.to.Log(context.Background(), at, "raft: "+msg, args...)
}

func (l *raftLog) Trace(msg string, args ...any) { l.Log(hclog.Trace, msg, args...) }
func (l *raftLog) Debug(msg string, args ...any) { l.Log(hclog.Debug, msg, args...) }
func (l *raftLog) Info(msg string, args ...any)  { l.Log(hclog.Info, msg, args...) }
func (l *raftLog) Warn(msg string, args ...any)  { l.Log(hclog.Warn, msg, args...) }
func (l *raftLog) Error(msg string, args ...any) { l.Log(hclog.Error, msg, args...) }

func (l *raftLog) IsTrace() bool { return false }
func (l *raftLog) IsDebug() bool { return false }
func (l *raftLog) IsInfo() bool  { return true }
func (l *raftLog) IsWarn() bool  { return true }
func (l *raftLog) IsError() bool { return true }

func (l *raftLog) ImpliedArgs() []any { return nil }

func (l *raftLog) With(args ...any) hclog.Logger {
	return &raftLog{to: l.to.With(slices.Clone(args)...), name: l.name, logOnce: l.logOnce}
}

func (l *raftLog) Name() string { return l.name }

func (l *raftLog) Named(name string) hclog.Logger {
	return &raftLog{to: l.to, name: name, logOnce: l.logOnce}
}

func (l *raftLog) ResetNamed(name string) hclog.Logger { return l.Named(name) }

func (l *raftLog) SetLevel(hclog.Level)  {}
func (l *raftLog) GetLevel() hclog.Level { return hclog.Info }

func (l *raftLog) StandardLogger(*hclog.StandardLoggerOptions) *log.Logger {
	return log.New(io.Discard, "", 0)
}

func (l *raftLog) StandardWriter(*hclog.StandardLoggerOptions) io.Writer { return io.Discard }
