package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// A dialer connects to a server in at most timeout.
type dialer func(timeout time.Duration) (net.Conn, error)

// errNoAdmin is the error for a server that does not answer probes as the admin listener does.
var errNoAdmin = errors.New("no admin listener of limitsrv: the address must be --admin of a server")

const (
	maxProbeBytes = 64 << 10 // of the answer of a probe
	httpStart     = "HTTP/1."
)

// probe asks the admin listener that d connects to for a path. It returns the status and the first
// line of the answer.
func (d dialer) probe(path string, timeout time.Duration) (status int, line string, err error) {
	conn, err := d(timeout)
	if err != nil {
		return 0, "", err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(timeout))
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", path); err != nil {
		return 0, "", err
	}
	in := bufio.NewReader(conn)
	if first, err := in.Peek(len(httpStart)); err != nil || string(first) != httpStart {
		return 0, "", cmp.Or(err, errNoAdmin)
	}
	answer, err := http.ReadResponse(in, nil)
	if err != nil {
		return 0, "", err
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxProbeBytes))
	line, _, _ = strings.Cut(string(body), "\n")
	return answer.StatusCode, line, err
}

// isLive returns nil if /livez says that the server answers.
func (d dialer) isLive(timeout time.Duration) error {
	status, line, err := d.probe("/livez", timeout)
	if err == nil && (status != http.StatusOK || line != "ok") {
		err = fmt.Errorf("%w; /livez answers %d %.80q", errNoAdmin, status, line)
	}
	return err
}

// isReady returns nil if /readyz says that the server is ready, with the reason if it is degraded,
// and otherwise the reason or the error.
func (d dialer) isReady(timeout time.Duration) (degraded string, err error) {
	status, line, err := d.probe("/readyz", timeout)
	if err != nil {
		return "", err
	}
	why, isReason := strings.CutPrefix(line, "not ready: ")
	degraded, isDegraded := strings.CutPrefix(line, "ready, degraded: ")
	switch {
	case status == http.StatusServiceUnavailable && isReason:
		return "", errors.New(why)
	case status == http.StatusOK && isDegraded:
		return degraded, nil
	case status == http.StatusOK && line == "ready":
		return "", nil
	}
	return "", fmt.Errorf("%w; /readyz answers %d %.80q", errNoAdmin, status, line)
}
