package linktest

import (
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"limitsrv/testwait"
)

// A Log is a log that tests read. The zero value is empty. Concurrency: any goroutine.
type Log struct {
	mu      sync.Mutex
	text    strings.Builder
	written chan struct{} // closed at the next write
}

func (r *Log) Write(data []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.written != nil {
		close(r.written)
		r.written = nil
	}
	return r.text.Write(data)
}

// String returns all that was logged.
func (r *Log) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.String()
}

// Await blocks until text has been logged.
func (r *Log) Await(t testing.TB, text string) {
	t.Helper()
	late := time.After(testwait.Scaled(30 * time.Second))
	for {
		r.mu.Lock()
		if r.written == nil {
			r.written = make(chan struct{})
		}
		written, logged := r.written, r.text.String()
		r.mu.Unlock()
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
func (r *Log) Logger() *slog.Logger { return slog.New(slog.NewTextHandler(r, nil)) }
