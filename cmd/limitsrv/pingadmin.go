package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// An adminProbe asks an admin listener, which its function connects to.
type adminProbe dialer

// errNoAdmin is the error for a server that does not answer probes as the admin listener does.
var errNoAdmin = errors.New("no admin listener of limitsrv: the address must be --admin of a server")

const (
	maxProbeBytes = 64 << 10 // of the answer of a probe
	httpStart     = "HTTP/1."
)

// get asks the admin listener for a path. It returns the status and the first
// line of the answer.
func (p adminProbe) get(path string, timeout time.Duration) (status int, line string, err error) {
	conn, err := p(timeout)
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

// isLive asks /livez.
func (p adminProbe) isLive(timeout time.Duration) error {
	status, line, err := p.get("/livez", timeout)
	if err == nil && (status != http.StatusOK || line != "ok") {
		err = fmt.Errorf("%w; /livez answers %d %.80q", errNoAdmin, status, line)
	}
	return err
}

// isReady asks /readyz.
func (p adminProbe) isReady(timeout time.Duration) (degraded string, err error) {
	status, line, err := p.get("/readyz", timeout)
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
