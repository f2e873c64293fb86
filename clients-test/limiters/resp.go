package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// replyTimeout bounds the wait for a reply, with a margin for a busy machine.
const replyTimeout = 20 * time.Second

// A respConn is a connection that speaks RESP2.
type respConn struct {
	conn net.Conn
	in   *bufio.Reader
}

func dialRESP(address string) (*respConn, error) {
	conn, err := net.DialTimeout("tcp", address, startTimeout)
	if err != nil {
		return nil, err
	}
	return &respConn{conn, bufio.NewReader(conn)}, nil
}

func (c *respConn) close() { c.conn.Close() }

// do sends a command, and returns its reply as tokens: each begins with the sign of RESP, the
// text of a bulk string follows its sign, and an array has its length and its elements.
func (c *respConn) do(words ...string) ([]string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(words))
	for _, word := range words {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(word), word)
	}
	c.conn.SetDeadline(time.Now().Add(replyTimeout))
	if _, err := io.WriteString(c.conn, b.String()); err != nil {
		return nil, err
	}
	return c.read(nil)
}

// read appends the tokens of a reply.
func (c *respConn) read(tokens []string) ([]string, error) {
	line, err := c.in.ReadString('\n')
	if err != nil {
		return nil, err
	}
	line = strings.TrimRight(line, "\r\n")
	if line == "" || line[0] != '$' && line[0] != '*' {
		return append(tokens, line), nil
	}
	n, err := strconv.Atoi(line[1:])
	switch {
	case err != nil:
		return nil, fmt.Errorf("reply %q: %w", line, err)
	case n < 0:
		return append(tokens, "nil"), nil
	case line[0] == '*':
		tokens = append(tokens, line)
		for range n {
			if tokens, err = c.read(tokens); err != nil {
				return nil, err
			}
		}
		return tokens, nil
	}
	text := make([]byte, n+2)
	if _, err := io.ReadFull(c.in, text); err != nil {
		return nil, err
	}
	return append(tokens, "$"+string(text[:n])), nil
}
