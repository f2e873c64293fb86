package main

import (
	"bufio"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"limitsrv/internal/respclient"
	"limitsrv/internal/testing/testwait"
)

// A wire is a connection for inline commands. Its methods return errors of the
// connection; error replies are replies.
type wire struct{ client }

// wireTo connects to a server.
func wireTo(address string) (*wire, error) { return wireWithin(address, 6*wait) }

// wireWithin connects with a timeout and a deadline of most.
func wireWithin(address string, most time.Duration) (*wire, error) {
	deadline := testwait.Soon(most)
	conn, err := net.DialTimeout("tcp", address, most)
	if err != nil {
		return nil, err
	}
	conn.SetDeadline(deadline)
	return &wire{client{conn, bufio.NewReader(conn)}}, nil
}

// wired connects for the duration of the test.
func wired(t *testing.T, address string) *wire {
	t.Helper()
	w, err := wireTo(address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

// all sends commands in a pipeline and returns their replies.
func (w *wire) all(commands ...string) ([]any, error) {
	// In another goroutine, because the server stops reading while replies are not read.
	sent := make(chan error, 1)
	go func() {
		_, err := io.WriteString(w, strings.Join(commands, "\r\n")+"\r\n")
		sent <- err
	}()
	var (
		replies = make([]any, len(commands))
		err     error
	)
	for i := range replies {
		if replies[i], err = respclient.Read(w.in); err != nil {
			break
		}
	}
	if err != nil {
		w.Close()
	}
	return replies, errors.Join(err, <-sent)
}

// do sends a command and returns its reply.
func (w *wire) do(t *testing.T, command string) any {
	t.Helper()
	replies, err := w.all(command)
	if err != nil {
		t.Fatalf("%s: %v", command, err)
	}
	return replies[0]
}

// whenLed sends a command until it is not refused because the cluster has no leader, and
// returns its reply.
func (w *wire) whenLed(command string) (any, error) {
	for deadline := testwait.Soon(wait); ; time.Sleep(20 * time.Millisecond) {
		replies, err := w.all(command)
		if err != nil || !isError(replies[0], "CLUSTERDOWN") || time.Now().After(deadline) {
			return replies[0], err
		}
	}
}

// isError reports whether a reply is an error with a code word.
func isError(reply any, code string) bool {
	text, ok := reply.(respclient.Error)
	return ok && strings.HasPrefix(string(text), code+" ")
}

// loaded waits until the server has loaded its state.
func (w *wire) loaded(t *testing.T) {
	t.Helper()
	until(t, "the state is loaded", func() bool { return !isError(w.do(t, "DBSIZE"), "LOADING") })
}

// info returns a field of INFO.
func (w *wire) info(t *testing.T, field string) string {
	t.Helper()
	text, _ := w.do(t, "INFO").(string)
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(line, field+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	t.Fatalf("no %s in\n%s", field, text)
	return ""
}
