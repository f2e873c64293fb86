package files

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
)

// SecretsInterval is the shortest time between two readings of a file of secrets that is in use.
const SecretsInterval = time.Second

const maxSecretsBytes = 64 << 10

// Secrets are the secrets of a file, a secret in each line. The file is read again while its
// secrets are used. Empty lines and lines that start with # are ignored. No error contains a part of
// the file. All fields are required, and must not change after Open. Concurrency: any goroutine may
// call the methods after Open.
type Secrets[S comparable] struct {
	File   string
	Option string // names the file in errors
	Name   string // names the secrets in the log
	Empty  string // is the error for a file without a secret
	Max    int    // the number of secrets
	// Parse returns the secret of a line, which has no spaces around it.
	Parse func(line string) (S, error)
	// Loaded is called after each reading without an error. changed is false in the first call.
	Loaded func(info fs.FileInfo, list []S, changed bool)
	Log    *slog.Logger

	mu      sync.Mutex
	list    []S
	read    time.Time // the file was last read
	failure string    // the last error of reading, which was logged
}

// Open reads the file for the first time.
func (s *Secrets[S]) Open() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.load()
}

// Current returns the secrets, at least one. The caller must not change them. It reads the file again
// if the last reading is SecretsInterval old.
func (s *Secrets[S]) Current() []S {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.read) >= SecretsInterval {
		_ = s.reload() // it logs its error
	}
	return s.list
}

// Reload reads the file at once. After an error, which is logged, the secrets stay as they are.
func (s *Secrets[S]) Reload() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failure = ""
	return s.reload()
}

// reload is load, and logs an error unless it is the same as before. Requires: mu is held.
func (s *Secrets[S]) reload() error {
	err := s.load()
	switch {
	case err == nil:
		s.failure = ""
	case err.Error() != s.failure:
		s.failure = err.Error()
		s.Log.Error(s.Name+" can't be read, and the previous secrets stay in use", "error", err)
	}
	return err
}

// load reads the file. Requires: mu is held.
func (s *Secrets[S]) load() error {
	s.read = time.Now()
	text, info, err := Read(s.File, maxSecretsBytes)
	if err != nil {
		return fmt.Errorf("%s: %w", s.Option, err)
	}
	list, err := s.parse(string(text))
	if err != nil {
		return fmt.Errorf("%s %s: %w", s.Option, s.File, err)
	}
	changed := s.list != nil && !slices.Equal(list, s.list)
	s.list = list
	s.Loaded(info, list, changed)
	return nil
}

func (s *Secrets[S]) parse(text string) (list []S, err error) {
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		secret, err := s.Parse(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		if len(list) == s.Max {
			return nil, fmt.Errorf("line %d: it may have at most %d secrets, this is one more", number, s.Max)
		}
		list = append(list, secret)
	}
	if len(list) == 0 {
		return nil, errors.New(s.Empty + "; make one with: openssl rand -hex 32")
	}
	return list, nil
}
