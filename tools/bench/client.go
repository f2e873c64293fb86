package main

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"time"

	"limitsrv/internal/respclient"
)

// A client sends single commands that are not part of a load: loading scripts, counting
// keys, flushing.
//
// Concurrency: not safe for concurrent use.
type client struct {
	conn   net.Conn
	reader *bufio.Reader
}

func dial(address string) (*client, error) {
	conn, err := net.DialTimeout("tcp", address, time.Second)
	if err != nil {
		return nil, err
	}
	return newClient(conn), nil
}

func newClient(conn net.Conn) *client { return &client{conn: conn, reader: bufio.NewReader(conn)} }

// askOnce sends a command over a connection of its own and waits for the reply for at most
// wait.
func askOnce(address string, wait time.Duration, args ...string) (any, error) {
	c, err := dial(address)
	if err != nil {
		return nil, err
	}
	defer c.conn.Close()
	c.conn.SetDeadline(time.Now().Add(wait))
	return c.do(args...)
}

// do sends a command and returns its reply: a string, an int64, a slice of these, or nil.
// An error reply is returned as an error.
func (c *client) do(args ...string) (any, error) {
	if _, err := c.conn.Write(respclient.AppendCommand(nil, args...)); err != nil {
		return nil, err
	}
	reply, err := c.read()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", strings.Join(args, " "), err)
	}
	return reply, nil
}

// read reads a reply. An error reply is returned as an error.
func (c *client) read() (any, error) {
	reply, err := respclient.Read(c.reader)
	if refused, ok := reply.(respclient.Error); ok {
		return nil, refused
	}
	return reply, err
}
