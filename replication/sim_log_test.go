package replication

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"strings"
	"sync"
)

// A simLogs keeps the latest log lines of a cluster's nodes, and counts some of them.
type simLogs struct {
	verbose bool // all lines go to stderr

	mu     sync.Mutex
	kept   []simLine // a ring
	next   int
	counts map[string]int // by text, of simCounted
	// restarted is called when the cluster's time has continued from clocks alone.
	restarted func()
}

type simLine struct {
	attrs  []slog.Attr
	record slog.Record
}

const simLinesKept = 150

// simCounted are the messages, or their ends, that are counted.
var simCounted = []string{"Installed remote snapshot", "restarting raft from disk", "a node joins the cluster", textTimeByStamp, textTimeByClocks}

// simLogger is a slog.Handler for one node.
type simLogger struct {
	logs  *simLogs
	attrs []slog.Attr
}

func (l *simLogger) Enabled(context.Context, slog.Level) bool { return true }

func (l *simLogger) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &simLogger{l.logs, append(l.attrs[:len(l.attrs):len(l.attrs)], attrs...)}
}

func (l *simLogger) WithGroup(string) slog.Handler { return l }

func (l *simLogger) Handle(_ context.Context, r slog.Record) error {
	line := simLine{l.attrs, r.Clone()}
	l.logs.mu.Lock()
	defer l.logs.mu.Unlock()
	for _, text := range simCounted {
		if strings.HasSuffix(r.Message, text) {
			l.logs.counts[text]++
			if text == textTimeByClocks {
				l.logs.restarted()
			}
		}
	}
	if len(l.logs.kept) < simLinesKept {
		l.logs.kept = append(l.logs.kept, line)
	} else {
		l.logs.kept[l.logs.next%simLinesKept] = line
	}
	l.logs.next++
	if l.logs.verbose {
		os.Stderr.WriteString(line.String())
	}
	return nil
}

func (l simLine) String() string {
	var text bytes.Buffer
	h := slog.NewTextHandler(&text, &slog.HandlerOptions{Level: slog.LevelDebug}).WithAttrs(l.attrs)
	h.Handle(context.Background(), l.record)
	return text.String()
}

// last returns the kept lines, oldest first.
func (l *simLogs) last() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var text strings.Builder
	for i := range l.kept {
		text.WriteString(l.kept[(l.next+i)%len(l.kept)].String())
	}
	return text.String()
}

// count returns how often a message of simCounted was logged.
func (l *simLogs) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.counts[text]
}
