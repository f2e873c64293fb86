package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// A client sends single commands that are not part of a load: loading scripts, counting
// keys, flushing.
//
// Concurrency: one goroutine at a time.
type client struct {
	conn   net.Conn
	reader *bufio.Reader
}

// A replyError is an error reply of a server.
type replyError string

func (e replyError) Error() string { return string(e) }

// dial connects to address.
func dial(address string) (*client, error) {
	conn, err := net.DialTimeout("tcp", address, time.Second)
	if err != nil {
		return nil, err
	}
	return newClient(conn), nil
}

func newClient(conn net.Conn) *client { return &client{conn: conn, reader: bufio.NewReader(conn)} }

// askOnce sends one command over a connection of its own and waits for the reply for at
// most wait.
func askOnce(address string, wait time.Duration, args ...string) (any, error) {
	c, err := dial(address)
	if err != nil {
		return nil, err
	}
	defer c.conn.Close()
	c.conn.SetDeadline(time.Now().Add(wait))
	return c.do(args...)
}

// do sends one command and returns its reply: a string, an int64, a slice of these, or
// nil. An error reply is returned as an error.
func (c *client) do(args ...string) (any, error) {
	if _, err := c.conn.Write(appendCommand(nil, args...)); err != nil {
		return nil, err
	}
	reply, err := c.read()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", strings.Join(args, " "), err)
	}
	return reply, nil
}

// read parses one RESP2 reply.
func (c *client) read() (any, error) {
	line, err := c.reader.ReadString('\n')
	if err != nil {
		return nil, err
	}
	line = strings.TrimRight(line, "\r\n")
	if line == "" {
		return nil, errors.New("empty line in place of a reply")
	}
	kind, rest := line[0], line[1:]
	switch kind {
	case '+':
		return rest, nil
	case '-':
		return nil, replyError(rest)
	}
	n, err := strconv.ParseInt(rest, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("reply %q: %w", line, err)
	}
	switch {
	case kind == ':':
		return n, nil
	case n < 0:
		return nil, nil
	case kind == '$':
		text := make([]byte, n+2)
		_, err := io.ReadFull(c.reader, text)
		return string(text[:n]), err
	case kind == '*':
		all := make([]any, n)
		for i := range all {
			if all[i], err = c.read(); err != nil {
				return nil, err
			}
		}
		return all, nil
	}
	return nil, fmt.Errorf("reply %q has an unknown type", line)
}

// appendCommand appends a command as RESP to buf.
func appendCommand(buf []byte, args ...string) []byte {
	buf = fmt.Appendf(buf, "*%d\r\n", len(args))
	for _, arg := range args {
		buf = fmt.Appendf(buf, "$%d\r\n%s\r\n", len(arg), arg)
	}
	return buf
}
