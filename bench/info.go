package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// info are the fields of an INFO reply by their names.
type info map[string]string

// parseInfo reads lines "name:value"; others are headings, which begin with #, or empty.
func parseInfo(text string) info {
	all := info{}
	for line := range strings.Lines(text) {
		name, value, found := strings.Cut(strings.TrimRight(line, "\r\n"), ":")
		if found {
			all[name] = value
		}
	}
	return all
}

// saving says whether the server writes a snapshot or a log anew, or is about to.
func (i info) saving() bool {
	for _, name := range []string{
		"rdb_bgsave_in_progress", "aof_rewrite_in_progress", "aof_rewrite_scheduled",
	} {
		if value, ok := i[name]; ok && value != "0" {
			return true
		}
	}
	return false
}

// failing names a way of keeping state that the server says has failed, if any.
func (i info) failing() error {
	for _, name := range []string{"rdb_last_bgsave_status", "aof_last_bgrewrite_status", "aof_last_write_status"} {
		if value, ok := i[name]; ok && value != "ok" {
			return fmt.Errorf("INFO persistence says %s:%s", name, value)
		}
	}
	return nil
}

// copied is how much memory the last process that the server forked for a
// snapshot had to itself at the end, in bytes; 0 where none is forked.
func (i info) copied() (int64, error) {
	text, ok := i["rdb_last_cow_size"]
	if !ok {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("INFO persistence has rdb_last_cow_size:%s: %w", text, err)
	}
	return n, nil
}

// persistence asks for what INFO tells about it.
func (s *side) persistence() (info, error) {
	reply, err := s.ask("INFO", "persistence")
	if err != nil {
		return nil, err
	}
	text, ok := reply.(string)
	if !ok {
		return nil, fmt.Errorf("%s: INFO answered %v", s.name, reply)
	}
	return parseInfo(text), nil
}

// number is one field that is a number.
func (i info) number(name string) (int64, error) {
	n, err := strconv.ParseInt(i[name], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("INFO has %s: %w", name, err)
	}
	return n, nil
}

// figure asks for one number that INFO tells.
func (s *side) figure(name string) (int64, error) {
	reply, err := s.ask("INFO")
	if err != nil {
		return 0, err
	}
	text, _ := reply.(string)
	n, err := parseInfo(text).number(name)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", s.name, err)
	}
	return n, nil
}

const (
	// restWait bounds how long a server may take to write its state.
	restWait = 5 * time.Minute
	// restPoll is how often it is asked whether it is done.
	restPoll = 10 * time.Millisecond
)

// rest waits until s writes no snapshot; it is an error if the last one failed.
func (s *side) rest(ctx context.Context) error {
	for deadline := time.Now().Add(restWait); time.Now().Before(deadline); time.Sleep(restPoll) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		now, err := s.persistence()
		if err != nil {
			return err
		}
		if !now.saving() {
			return now.failing()
		}
	}
	return fmt.Errorf("%s still writes a snapshot after %v", s.name, restWait)
}

// save has s write its state by a command that does so in the background, and
// waits for it. It tells how long that took, to a restPoll.
func (s *side) save(ctx context.Context, command string) (time.Duration, error) {
	if err := s.rest(ctx); err != nil {
		return 0, err
	}
	begin := time.Now()
	if _, err := s.ask(command); err != nil {
		return 0, fmt.Errorf("%s: %w", s.name, err)
	}
	err := s.rest(ctx)
	return time.Since(begin), err
}

// shutDown ends s by the command for it and tells how long that took. Nothing
// else may be under way.
func (s *side) shutDown() (time.Duration, error) {
	begin := time.Now()
	c, err := dial(s.address)
	if err != nil {
		return 0, err
	}
	defer c.conn.Close()
	if _, err := c.conn.Write(appendCommand(nil, "SHUTDOWN")); err != nil {
		return 0, err
	}
	if reply, err := c.read(); err == nil {
		return 0, fmt.Errorf("%s: SHUTDOWN was answered %v", s.name, reply)
	}
	err = s.awaitEnd()
	return time.Since(begin), err
}
