package main

import (
	"bufio"
	"errors"
	"fmt"
	"strings"
	"time"

	"limitsrv/internal/respclient"
)

// A redisProbe asks a listener for Redis clients.
type redisProbe struct {
	dial           dialer
	user, password string
}

// errNoReadiness is the error for a server that does not report whether it is ready.
var errNoReadiness = errors.New("INFO has no line ready: this is no limitsrv, or an older version; without --wait " +
	"ping asks whether it answers")

// isReady reads INFO server.
func (p *redisProbe) isReady(timeout time.Duration) (degraded string, err error) {
	c, err := p.connect(timeout)
	if err != nil {
		return "", err
	}
	defer c.Close()
	if err := c.logIn(p.user, p.password); err != nil {
		return "", err
	}
	reply, err := c.do("INFO", "server")
	if err != nil {
		return "", err
	}
	text, _ := reply.(string)
	var why string
	ready := false
	for line := range strings.SplitSeq(text, "\r\n") {
		name, value, _ := strings.Cut(line, ":")
		switch {
		case name == "not_ready":
			why = value
		case name == "degraded":
			degraded = value
		case line == "ready:1":
			ready = true
		}
	}
	switch {
	case ready:
		return degraded, nil
	case why == "":
		return "", errNoReadiness
	}
	return "", errors.New(why)
}

// connect connects to the server. timeout bounds the dial, and then the use of the connection.
func (p *redisProbe) connect(timeout time.Duration) (*client, error) {
	conn, err := p.dial(timeout)
	if err != nil {
		return nil, err
	}
	conn.SetDeadline(time.Now().Add(timeout))
	return &client{conn, bufio.NewReader(conn)}, nil
}

// isLive logs in, if there is a password, and sends PING. The error is a respclient.Error if the
// server answers something other than PONG.
func (p *redisProbe) isLive(timeout time.Duration) error {
	c, err := p.connect(timeout)
	if err != nil {
		return err
	}
	defer c.Close()
	var refused respclient.Error
	if err := c.logIn(p.user, p.password); err != nil && !errors.As(err, &refused) {
		return err
	}
	reply, err := c.do("PING")
	switch {
	case err != nil && refused != "" && !errors.As(err, new(respclient.Error)):
		// Above --max-clients the server sends an error and closes the connection.
		return refused
	case err == nil && reply != "PONG":
		return respclient.Error(fmt.Sprint(reply))
	}
	return err
}
