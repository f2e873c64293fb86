package simtest

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
)

// Logs keeps the latest log lines of the nodes, and counts some of them.
type Logs struct {
	// Verbose makes all lines go to stderr.
	Verbose bool
	// Counted are the messages, or their ends, that are counted.
	Counted []string
	// OnCounted, unless nil, is called for each of them.
	OnCounted func(text string)

	mu     sync.Mutex
	kept   []line // a ring
	next   int
	counts map[string]int // by text, of Counted
}

type line struct {
	attrs  []slog.Attr
	record slog.Record
}

const linesKept = 150

// Logger returns the logger of a node.
func (l *Logs) Logger(node string) *slog.Logger {
	return slog.New(&handler{l, []slog.Attr{slog.String("on", node)}})
}

// A handler is the slog.Handler of a node.
type handler struct {
	logs  *Logs
	attrs []slog.Attr
}

func (l *handler) Enabled(context.Context, slog.Level) bool { return true }

func (l *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &handler{l.logs, append(l.attrs[:len(l.attrs):len(l.attrs)], attrs...)}
}

func (l *handler) WithGroup(string) slog.Handler { return l }

func (l *handler) Handle(_ context.Context, r slog.Record) error {
	kept := line{l.attrs, r.Clone()}
	l.logs.mu.Lock()
	defer l.logs.mu.Unlock()
	for _, text := range l.logs.Counted {
		if strings.HasSuffix(r.Message, text) {
			l.logs.count(text)
		}
	}
	if len(l.logs.kept) < linesKept {
		l.logs.kept = append(l.logs.kept, kept)
	} else {
		l.logs.kept[l.logs.next%linesKept] = kept
	}
	l.logs.next++
	if l.logs.Verbose {
		os.Stderr.WriteString(kept.String())
	}
	return nil
}

// count counts a message. Requires: mu is held.
func (l *Logs) count(text string) {
	if l.counts == nil {
		l.counts = map[string]int{}
	}
	l.counts[text]++
	if l.OnCounted != nil {
		l.OnCounted(text)
	}
}

func (l line) String() string {
	var text bytes.Buffer
	h := slog.NewTextHandler(&text, &slog.HandlerOptions{Level: slog.LevelDebug}).WithAttrs(l.attrs)
	h.Handle(context.Background(), l.record)
	return text.String()
}

// Last returns the kept lines, oldest first.
func (l *Logs) Last() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var text strings.Builder
	for i := range l.kept {
		text.WriteString(l.kept[(l.next+i)%len(l.kept)].String())
	}
	return text.String()
}

// Count returns how often a message of Counted was logged.
func (l *Logs) Count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.counts[text]
}

// Counts returns the counts as text.
func (l *Logs) Counts() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return fmt.Sprint(l.counts)
}
