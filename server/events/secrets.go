package events

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"limitsrv/internal/files"
)

const (
	maxSecretsBytes = 64 << 10
	maxSecrets      = 4
	minSecretBytes  = 16
	// secretsInterval is the shortest time between two readings of the file.
	secretsInterval = time.Second
)

// Secrets are the secrets of the signatures, in a file that may change. Concurrency: any goroutine
// may use them.
type Secrets struct {
	file string
	log  *slog.Logger

	mu      sync.Mutex
	list    []string
	read    time.Time
	failure string // the last error, which was logged
}

// OpenSecrets reads a file of 1 to 4 secrets, each in a line. Empty lines and lines that start with #
// are ignored. The errors contain no part of the file.
func OpenSecrets(file string, log *slog.Logger) (*Secrets, error) {
	s := &Secrets{file: file, log: log}
	_, err := s.load()
	return s, err
}

// load reads the file, and reports whether the secrets have changed. Requires: mu is held, or no other
// goroutine uses s.
func (s *Secrets) load() (changed bool, err error) {
	s.read = time.Now()
	text, _, err := files.Read(s.file, maxSecretsBytes)
	if err != nil {
		return false, fmt.Errorf("--events-secret-file: %w", err)
	}
	list, err := parseSecrets(string(text))
	if err != nil {
		return false, fmt.Errorf("--events-secret-file %s: %w", s.file, err)
	}
	changed = !slices.Equal(list, s.list)
	s.list = list
	return changed, nil
}

func parseSecrets(text string) (list []string, err error) {
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if len(line) < minSecretBytes {
			return nil, fmt.Errorf("line %d: a secret must have at least %d bytes, got %d; make one with: openssl rand -hex 32",
				number, minSecretBytes, len(line))
		}
		if len(list) == maxSecrets {
			return nil, fmt.Errorf("line %d: it may have at most %d secrets, this is one more", number, maxSecrets)
		}
		list = append(list, line)
	}
	if len(list) == 0 {
		return nil, errors.New("it must have a secret, got none; make one with: openssl rand -hex 32")
	}
	return list, nil
}

// Current returns the secrets, at least one. It reads the file again if the last reading is a second
// old. If the file has a mistake, which it logs once, the secrets stay as they are.
func (s *Secrets) Current() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.read) < secretsInterval {
		return s.list
	}
	switch changed, err := s.load(); {
	case err == nil:
		if s.failure = ""; changed {
			s.log.Info("the secrets of events have changed", "file", s.file, "secrets", len(s.list))
		}
	case err.Error() != s.failure:
		s.failure = err.Error()
		s.log.Error("the secrets of events can't be read, the previous secrets stay in use", "error", err)
	}
	return s.list
}
