package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"limitsrv/internal/respclient"
)

// info is the fields of an INFO reply by name.
type info map[string]string

// parseInfo parses lines "name:value". It ignores headings, which begin with #, and
// empty lines.
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

// saving reports whether the server is writing a snapshot or rewriting its log, or has
// scheduled that.
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

// failing returns an error that names a failed way of persistence, if any.
func (i info) failing() error {
	for _, name := range []string{"rdb_last_bgsave_status", "aof_last_bgrewrite_status", "aof_last_write_status"} {
		if value, ok := i[name]; ok && value != "ok" {
			return fmt.Errorf("INFO persistence says %s:%s", name, value)
		}
	}
	return nil
}

// copied returns the private memory, in bytes, of the last process that the server
// forked for a snapshot, at its end; 0 for a server that does not fork.
func (i info) copied() (int64, error) {
	if i["rdb_last_cow_size"] == "" {
		return 0, nil
	}
	return i.number("rdb_last_cow_size")
}

// info returns a section of INFO. It waits for the reply for at most wait.
//
// Requires: the server has no password.
func (p *process) info(section string, wait time.Duration) (info, error) {
	reply, err := askOnce(p.address, wait, "INFO", section)
	if err != nil {
		return nil, err
	}
	text, ok := reply.(string)
	if !ok {
		return nil, fmt.Errorf("INFO was answered %v", reply)
	}
	return parseInfo(text), nil
}

// number returns the value of an integer field.
func (i info) number(name string) (int64, error) {
	n, err := strconv.ParseInt(i[name], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("INFO has %s: %w", name, err)
	}
	return n, nil
}

// figure returns an integer field of a section of INFO.
func (p *process) figure(section, name string) (int64, error) {
	now, err := p.info(section, longWait)
	if err != nil {
		return 0, err
	}
	return now.number(name)
}

const (
	// restWait bounds the time to write a snapshot.
	restWait = 5 * time.Minute
	// restPoll is the polling interval for its end.
	restPoll = 10 * time.Millisecond
)

// rest waits until s is not writing a snapshot. It returns an error if the last
// snapshot failed.
func (s *side) rest(ctx context.Context) error {
	for deadline := time.Now().Add(restWait); time.Now().Before(deadline); time.Sleep(restPoll) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		now, err := s.info("persistence", longWait)
		if err != nil {
			return err
		}
		if !now.saving() {
			return now.failing()
		}
	}
	return fmt.Errorf("%s still writes a snapshot after %v", s.name, restWait)
}

// save runs a command that writes the state in the background, waits for its end, and
// returns its duration, with a resolution of restPoll.
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

// shutDown stops s by SHUTDOWN and returns the duration.
//
// Requires: no other requests are in progress.
func (s *side) shutDown() (time.Duration, error) {
	begin := time.Now()
	c, err := dial(s.address)
	if err != nil {
		return 0, err
	}
	defer c.conn.Close()
	if _, err := c.conn.Write(respclient.AppendCommand(nil, "SHUTDOWN")); err != nil {
		return 0, err
	}
	if reply, err := c.read(); err == nil {
		return 0, fmt.Errorf("%s: SHUTDOWN was answered %v", s.name, reply)
	}
	err = s.awaitEnd()
	return time.Since(begin), err
}
