package testwait

import (
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"
)

// A Log is a log that tests read. The zero value is empty. Concurrency: any goroutine.
type Log struct {
	mu      sync.Mutex
	text    strings.Builder
	written chan struct{} // closed at the next write
}

// Write implements io.Writer.
func (l *Log) Write(data []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.written != nil {
		close(l.written)
		l.written = nil
	}
	return l.text.Write(data)
}

// String returns all that was logged.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Await blocks until text has been logged.
func (l *Log) Await(t testing.TB, text string) {
	t.Helper()
	late := time.After(Scaled(30 * time.Second))
	for {
		l.mu.Lock()
		if l.written == nil {
			l.written = make(chan struct{})
		}
		written, logged := l.written, l.text.String()
		l.mu.Unlock()
		if strings.Contains(logged, text) {
			return
		}
		select {
		case <-written:
		case <-late:
			t.Errorf("%q has not been logged, but\n%s", text, logged)
			return
		}
	}
}

// Logger returns a logger that writes to the log.
func (l *Log) Logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }
