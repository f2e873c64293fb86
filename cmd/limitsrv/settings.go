package main

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"limitsrv/commands/session"
)

// settings are the options as read by CONFIG GET and changed by CONFIG SET.
//
// Concurrency: safe for concurrent use.
type settings struct {
	mu  sync.Mutex
	all []session.Option
}

// list returns a copy of the options.
func (s *settings) list() []session.Option {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.all)
}

// allow makes an option settable. read parses a value as people write it, and returns
// the value that CONFIG GET reports from then on and the function that applies it.
func (s *settings) allow(name string, read func(value string) (text string, apply func(), err error)) {
	i := slices.IndexFunc(s.all, func(o session.Option) bool { return o.Name == name })
	s.all[i].Set = func(value string) (func(), error) {
		text, apply, err := read(value)
		if err != nil {
			return nil, err
		}
		return func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			apply()
			s.all[i].Value = text
		}, nil
	}
}

// allowChanges makes the options settable that take effect at run time.
func (n *node) allowChanges(level *slog.LevelVar) {
	n.settings.allow("max-clients", func(value string) (string, func(), error) {
		clients, err := strconv.Atoi(value)
		switch {
		case err != nil:
			return "", nil, errors.New("argument couldn't be parsed into an integer")
		case clients < 1 || clients > maxClients:
			return "", nil, fmt.Errorf("argument must be between 1 and %d inclusive", maxClients)
		}
		if err := raiseFileLimit(clients + spareFiles); err != nil {
			return "", nil, err
		}
		return value, func() { n.server.SetMaxClients(clients) }, nil
	})
	n.settings.allow("idle-timeout", durationFrom(0, n.server.SetIdleTimeout))
	n.settings.allow("write-timeout", durationFrom(time.Millisecond, n.server.SetWriteTimeout))
	n.settings.allow("drain", durationFrom(0, func(d time.Duration) { n.drainTime.Store(int64(d)) }))
	n.settings.allow("max-memory", func(value string) (string, func(), error) {
		var bytes size
		if err := bytes.UnmarshalText([]byte(value)); err != nil {
			return "", nil, errors.New("argument must be a memory value, such as 1048576, 256mb or 1gb; 0 is no bound")
		}
		return strconv.FormatInt(int64(bytes), 10), func() { n.setBound(bytes, n.evict) }, nil
	})
	n.settings.allow("on-full", func(value string) (string, func(), error) {
		if value != "refuse" && value != "evict" {
			return "", nil, errors.New("argument must be one of: evict, refuse")
		}
		return value, func() { n.setBound(n.maxMemory, value == "evict") }, nil
	})
	n.settings.allow("log-level", func(value string) (string, func(), error) {
		var l slog.Level
		if err := l.UnmarshalText([]byte(value)); err != nil {
			return "", nil, errors.New("argument must be one of: " + strings.Join(levels, ", "))
		}
		return l.String(), func() { level.Set(l) }, nil
	})
}

// setBound changes the memory bound of keys and the heap limit derived from it.
//
// Requires: settings.mu is held.
func (n *node) setBound(maxMemory size, evict bool) {
	n.maxMemory, n.evict = maxMemory, evict
	n.state.SetBound(int64(maxMemory), evict)
	n.limitHeap()
}

// durationFrom returns a parser of seconds, or a duration with its unit, of at least
// least.
func durationFrom(least time.Duration, set func(time.Duration)) func(string) (string, func(), error) {
	return func(value string) (string, func(), error) {
		d, err := time.ParseDuration(value)
		if err != nil {
			d, err = time.ParseDuration(value + "s")
		}
		if err != nil || d < least {
			return "", nil, fmt.Errorf("argument must be a duration of %v or more, such as 60 (seconds) or 500ms", least)
		}
		return seconds(d), func() { set(d) }, nil
	}
}

// seconds formats d as CONFIG GET reports durations.
func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) }
