// Package settings holds the options of a running server. CONFIG GET reads them, CONFIG
// SET and a reload of the configuration file change them, and CONFIG REWRITE writes the
// changes to the file.
package settings

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"limitsrv/cmd/limitsrv/options"
	"limitsrv/commands/session"
)

// Settings are the options as read by CONFIG GET and changed by CONFIG SET.
//
// Concurrency: safe for concurrent use, except as noted.
type Settings struct {
	config    *options.Configuration // as read at the start
	log       *slog.Logger
	rewriting sync.Mutex
	mu        sync.Mutex
	all       []session.Option
	// maxMemory and evict are the current memory bound of keys.
	maxMemory options.Size
	evict     bool
}

// New returns the options of c. No option can be changed before Allow.
func New(c *options.Configuration, log *slog.Logger) *Settings {
	return &Settings{config: c, log: log, all: c.List(), maxMemory: c.MaxMemory, evict: c.OnFull == "evict"}
}

// List returns a copy of the options.
func (s *Settings) List() []session.Option {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.all)
}

// Changes are the functions that apply a changed option to the server.
//
// Concurrency: one function is called at a time.
type Changes struct {
	// ReserveClients makes room for that many connections. Its error rejects the change.
	ReserveClients                   func(clients int) error
	MaxClients                       func(clients int)
	IdleTimeout, WriteTimeout, Drain func(time.Duration)
	Bound                            func(maxMemory int64, evict bool) // nil: there are no keys to bound
	LogLevel                         func(slog.Level)
}

// Allow makes the options settable that take effect at run time.
func (s *Settings) Allow(c Changes) {
	s.allow("max-clients", func(value string) (string, func(), error) {
		clients, err := strconv.Atoi(value)
		switch {
		case err != nil:
			return "", nil, errors.New("argument couldn't be parsed into an integer")
		case clients < 1 || clients > options.MostClients:
			return "", nil, fmt.Errorf("argument must be between 1 and %d inclusive", options.MostClients)
		}
		if err := c.ReserveClients(clients); err != nil {
			return "", nil, err
		}
		return value, func() { c.MaxClients(clients) }, nil
	})
	s.allow("idle-timeout", durationFrom(0, c.IdleTimeout))
	s.allow("write-timeout", durationFrom(time.Millisecond, c.WriteTimeout))
	s.allow("drain", durationFrom(0, c.Drain))
	if c.Bound != nil {
		s.allowBound(c.Bound)
	}
	s.allow("log-level", func(value string) (string, func(), error) {
		var l slog.Level
		if err := l.UnmarshalText([]byte(value)); err != nil {
			return "", nil, errors.New("argument must be one of: " + strings.Join(options.Levels(), ", "))
		}
		return l.String(), func() { c.LogLevel(l) }, nil
	})
}

// allowBound makes the memory bound settable.
func (s *Settings) allowBound(set func(maxMemory int64, evict bool)) {
	s.allow("max-memory", func(value string) (string, func(), error) {
		var bytes options.Size
		if err := bytes.UnmarshalText([]byte(value)); err != nil {
			return "", nil, errors.New("argument must be a memory value, such as 1048576, 256mb or 1gb; 0 is no bound")
		}
		return strconv.FormatInt(int64(bytes), 10), func() {
			s.maxMemory = bytes
			set(int64(bytes), s.evict)
		}, nil
	})
	s.allow("on-full", func(value string) (string, func(), error) {
		if value != "refuse" && value != "evict" {
			return "", nil, errors.New("argument must be one of: evict, refuse")
		}
		return value, func() {
			s.evict = value == "evict"
			set(int64(s.maxMemory), s.evict)
		}, nil
	})
}

// allow makes an option settable. read parses a value as people write it, and returns
// the value that CONFIG GET reports from then on and the function that applies it.
func (s *Settings) allow(name string, read func(value string) (text string, apply func(), err error)) {
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
		return options.Seconds(d), func() { set(d) }, nil
	}
}
