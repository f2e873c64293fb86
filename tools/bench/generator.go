package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"
)

// generate loads s with l for the time lasting, or until keysOf has no more keys. Each
// connection sends a pipeline, waits for all of its replies, and sends the next. keysOf
// returns the source of keys of a connection by its number; a source returns false at
// its end.
func generate(
	ctx context.Context, s *side, l load, lasting time.Duration, keysOf func(connection int) func() (int, bool),
) (outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, lasting)
	defer cancel()
	var (
		all    histogram
		lock   sync.Mutex
		failed error
		wait   sync.WaitGroup
		begin  = time.Now()
	)
	for i := range l.connections {
		wait.Go(func() {
			own, err := drive(ctx, s, l, keysOf(i))
			lock.Lock()
			defer lock.Unlock()
			all.merge(own)
			if err != nil {
				failed = err
				cancel()
			}
		})
	}
	wait.Wait()
	took := time.Since(begin)
	return outcome{
		decisions: all.total,
		perSecond: float64(all.total) / took.Seconds(),
		p50:       all.quantile(0.5),
		p99:       all.quantile(0.99),
		p999:      all.quantile(0.999),
	}, failed
}

// lastReplyWait bounds the wait for outstanding replies at the end of a run.
const lastReplyWait = 10 * time.Second

// drive is one connection of generate. The histogram holds one latency for each
// request.
func drive(ctx context.Context, s *side, l load, next func() (int, bool)) (*histogram, error) {
	own := new(histogram)
	conn, err := s.connect()
	if err != nil {
		return own, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.SetDeadline(time.Now().Add(lastReplyWait)) })()
	var (
		request = newPipeline(s.commands[l.algorithm], l.pipeline)
		lines   = s.replyLines[l.algorithm]
		buf     = make([]byte, 64<<10)
	)
	for ctx.Err() == nil {
		n := request.fill(next)
		if n == 0 {
			break
		}
		begin := time.Now()
		if _, err := conn.Write(request.first(n)); err != nil {
			return own, fmt.Errorf("%s: %w", s.name, err)
		}
		if err := readLines(conn, buf, n*lines); err != nil {
			return own, fmt.Errorf("%s: %w", s.name, err)
		}
		own.add(time.Since(begin), int64(n))
	}
	return own, nil
}

// readLines reads the given number of lines. An error reply is returned as an error.
func readLines(conn net.Conn, buf []byte, lines int) error {
	startsLine := true
	for lines > 0 {
		n, err := conn.Read(buf)
		if err != nil {
			return err
		}
		got := buf[:n]
		if startsLine && got[0] == '-' || bytes.Contains(got, []byte("\n-")) {
			return fmt.Errorf("error reply: %q", got[:min(n, 200)])
		}
		lines -= bytes.Count(got, []byte("\n"))
		startsLine = got[n-1] == '\n'
	}
	if lines < 0 {
		return fmt.Errorf("received %d surplus lines", -lines)
	}
	return nil
}

// A pipeline is the bytes of several equal commands, in which the keys' digits are
// overwritten before each write.
type pipeline struct {
	bytes  []byte
	length int // of one command
	digits int // offset of the key's digits in a command
}

// newPipeline returns a pipeline of n times command, with the key at keyPlace.
func newPipeline(command []string, n int) *pipeline {
	key := keyPrefix + strings.Repeat("0", keyDigits)
	var args []string
	for _, arg := range command {
		args = append(args, strings.ReplaceAll(arg, keyPlace, key))
	}
	one := appendCommand(nil, args...)
	return &pipeline{
		bytes:  bytes.Repeat(one, n),
		length: len(one),
		digits: bytes.Index(one, []byte(key)) + len(keyPrefix),
	}
}

// fill writes keys into the commands and returns the number of keys.
func (p *pipeline) fill(next func() (int, bool)) int {
	n := 0
	for at := p.digits; at < len(p.bytes); at += p.length {
		key, ok := next()
		if !ok {
			break
		}
		for i := keyDigits - 1; i >= 0; i-- {
			p.bytes[at+i] = byte('0' + key%10)
			key /= 10
		}
		n++
	}
	return n
}

// first returns the first n commands.
func (p *pipeline) first(n int) []byte { return p.bytes[:n*p.length] }

// sequential returns sources of keys that divide from..to-1 among connections.
func sequential(from, to, connections int) func(int) func() (int, bool) {
	return func(connection int) func() (int, bool) {
		key := from + connection - connections
		return func() (int, bool) {
			key += connections
			return key, key < to
		}
	}
}

// paced limits each source to a number of keys per second.
func paced(keysOf func(int) func() (int, bool), perSecond float64) func(int) func() (int, bool) {
	return func(connection int) func() (int, bool) {
		next, given, begin := keysOf(connection), 0, time.Now()
		return func() (int, bool) {
			if given%fillPipeline == 0 {
				time.Sleep(time.Until(begin.Add(time.Duration(float64(given) / perSecond * float64(time.Second)))))
			}
			given++
			return next()
		}
	}
}

// following returns sources that repeat a trace, each connection from its own offset.
func following(trace []uint32, connections int) func(int) func() (int, bool) {
	return func(connection int) func() (int, bool) {
		at := len(trace) / connections * connection
		return func() (int, bool) {
			key := trace[at]
			at++
			if at == len(trace) {
				at = 0
			}
			return int(key), true
		}
	}
}
