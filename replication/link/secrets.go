package link

import (
	"crypto/hkdf"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"limitsrv/internal/files"
)

// A Secret is shared by the nodes of a cluster. Its zero value is no secret: a link made
// with it is unencrypted, and open to any other node.
type Secret struct{ key [sha256.Size]byte }

// isNone reports whether it is no secret.
func (s Secret) isNone() bool { return s == Secret{} }

const (
	// NoSecret is the line of a file of secrets that stands for no secret.
	NoSecret = "none"
	// minSecretBytes is the minimal length of a secret, because a recorded greeting allows
	// guesses.
	minSecretBytes = 16
	// maxSecrets bounds the secrets of a file.
	maxSecrets      = 8
	maxSecretsBytes = 16 << 10
	// secretsReloadInterval is the least interval between two reads of the file, when
	// secrets are used.
	secretsReloadInterval = time.Second
)

// Secrets are a node's cluster secrets: the first is for the links that it dials, and all
// are accepted. Concurrency: any goroutine. nil is no secret.
type Secrets struct {
	file        string // empty: they never change
	unprotected bool
	log         *slog.Logger

	mu      sync.Mutex
	list    []Secret
	read    time.Time // when the file was last read
	failure string    // the last error of reading, which was logged
	exposed bool      // a warning was logged that any user of the machine may read the file
}

// OneSecret returns a secret that never changes.
func OneSecret(text string) (*Secrets, error) {
	s, err := parseSecret(text)
	return &Secrets{list: []Secret{s}}, err
}

// OpenSecrets reads a file of secrets, each in a line; empty lines and lines that start
// with # are ignored. It is read again when it changes. unprotected permits the line
// NoSecret.
func OpenSecrets(file string, unprotected bool, log *slog.Logger) (*Secrets, error) {
	s := &Secrets{file: file, unprotected: unprotected, log: log}
	if _, err := s.load(); err != nil {
		return nil, err
	}
	return s, nil
}

// Reload reads the file at once. On an error, which is logged as well, the previous
// secrets stay in force.
func (s *Secrets) Reload() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failure = ""
	return s.reload()
}

// current returns the current secrets, at least one secret. The caller must not change
// them.
func (s *Secrets) current() []Secret {
	if s == nil {
		return []Secret{{}}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.read) >= secretsReloadInterval {
		_ = s.reload() // it logs its error
	}
	return s.list
}

// reload loads the file and logs the outcome once. Requires: mu is held.
func (s *Secrets) reload() error {
	if s.file == "" {
		return nil
	}
	changed, err := s.load()
	switch {
	case err == nil && changed:
		s.log.Info("the cluster secrets have changed", "file", s.file, "secrets", len(s.list), "none_accepted",
			slices.Contains(s.list, Secret{}))
	case err != nil && err.Error() != s.failure:
		s.failure = err.Error()
		s.log.Error("the cluster secrets can't be read, and the previous ones stay in use", "error", err)
	}
	if err == nil {
		s.failure = ""
	}
	return err
}

// load reads the file and reports whether the secrets have changed. Requires: mu is held.
func (s *Secrets) load() (changed bool, err error) {
	s.read = time.Now()
	text, info, err := files.Read(s.file, maxSecretsBytes)
	if err != nil {
		return false, fmt.Errorf("--cluster-secret-file: %w", err)
	}
	list, err := parseSecrets(string(text), s.unprotected)
	if err != nil {
		return false, fmt.Errorf("--cluster-secret-file %s: %w", s.file, err)
	}
	if exposed := info.Mode().Perm()&0o004 != 0; exposed != s.exposed {
		if s.exposed = exposed; exposed {
			s.log.Warn("everybody on this machine may read the cluster secrets; chmod o-r", "file", s.file)
		}
	}
	changed = !slices.Equal(list, s.list)
	s.list = list
	return changed, nil
}

// parseSecrets parses the text of a file of secrets. Its errors contain no part of the
// text.
func parseSecrets(text string, unprotected bool) (list []Secret, err error) {
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		s := Secret{}
		if line != NoSecret {
			if s, err = parseSecret(line); err != nil {
				return nil, fmt.Errorf("line %d: %w", number, err)
			}
		} else if !unprotected {
			return nil, fmt.Errorf("line %d: %s accepts any node that reaches this one: give --unprotected if that is intended",
				number, NoSecret)
		}
		if len(list) == maxSecrets {
			return nil, fmt.Errorf("line %d: it may have at most %d secrets", number, maxSecrets)
		}
		list = append(list, s)
	}
	if len(list) == 0 {
		return nil, errors.New("it has no secret; make one with: openssl rand -hex 32")
	}
	return list, nil
}

// parseSecret derives the key of a secret.
func parseSecret(text string) (s Secret, err error) {
	if len(text) < minSecretBytes {
		return s, fmt.Errorf("a cluster secret has at least %d bytes, not %d; make one with: openssl rand -hex 32",
			minSecretBytes, len(text))
	}
	key, err := hkdf.Key(sha256.New, []byte(text), nil, "limitsrv cluster secret", len(s.key))
	copy(s.key[:], key)
	return s, err
}
