package link

import (
	"crypto/hkdf"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"

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
	maxSecrets = 8
)

// Secrets are a node's cluster secrets: the first is for the links that it dials, and all
// are accepted. Concurrency: any goroutine. nil is no secret.
type Secrets struct {
	only        []Secret // never change; nil: the secrets of file
	file        files.Secrets[Secret]
	unprotected bool
	exposed     bool // a warning was logged that any user of the machine may read the file
}

// OneSecret returns a secret that never changes.
func OneSecret(text string) (*Secrets, error) {
	s, err := parseSecret(text)
	return &Secrets{only: []Secret{s}}, err
}

// OpenSecrets reads a file of secrets. It is read again when it changes. unprotected permits
// the line NoSecret.
func OpenSecrets(file string, unprotected bool, log *slog.Logger) (*Secrets, error) {
	s := &Secrets{unprotected: unprotected, file: files.Secrets[Secret]{
		File: file, Option: "--cluster-secret-file", Name: "the cluster secrets", Max: maxSecrets,
		Empty: "it has no secret", Log: log,
	}}
	s.file.Parse, s.file.Loaded = s.parse, s.loaded
	if err := s.file.Open(); err != nil {
		return nil, err
	}
	return s, nil
}

// Reload reads the file at once. On an error, which is logged as well, the previous
// secrets stay in force.
func (s *Secrets) Reload() error {
	if s.only != nil {
		return nil
	}
	return s.file.Reload()
}

// current returns the current secrets, at least one secret. The caller must not change
// them.
func (s *Secrets) current() []Secret {
	switch {
	case s == nil:
		return []Secret{{}}
	case s.only != nil:
		return s.only
	}
	return s.file.Current()
}

// loaded logs a change, and that the file is open to any user.
func (s *Secrets) loaded(info fs.FileInfo, list []Secret, changed bool) {
	if exposed := info.Mode().Perm()&0o004 != 0; exposed != s.exposed {
		if s.exposed = exposed; exposed {
			s.file.Log.Warn("everybody on this machine may read the cluster secrets; chmod o-r", "file", s.file.File)
		}
	}
	if changed {
		s.file.Log.Info("the cluster secrets have changed", "file", s.file.File, "secrets", len(list), "none_accepted",
			slices.Contains(list, Secret{}))
	}
}

// parse parses a line of the file.
func (s *Secrets) parse(line string) (Secret, error) {
	switch {
	case line != NoSecret:
		return parseSecret(line)
	case !s.unprotected:
		return Secret{}, fmt.Errorf("%s accepts any node that reaches this one: give --unprotected if that is intended",
			NoSecret)
	}
	return Secret{}, nil
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
