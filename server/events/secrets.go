package events

import (
	"fmt"
	"io/fs"
	"log/slog"

	"limitsrv/internal/files"
)

const (
	maxSecrets     = 4
	minSecretBytes = 16
)

// OpenSecrets reads a file of 1 to 4 secrets of signatures.
func OpenSecrets(file string, log *slog.Logger) (*files.Secrets[string], error) {
	s := &files.Secrets[string]{
		File: file, Option: "--events-secret-file", Name: "the secrets of events", Max: maxSecrets,
		Empty: "it must have a secret, got none", Parse: parseSecret, Log: log,
	}
	s.Loaded = func(_ fs.FileInfo, list []string, changed bool) {
		if changed {
			log.Info("the secrets of events have changed", "file", file, "secrets", len(list))
		}
	}
	return s, s.Open()
}

func parseSecret(line string) (string, error) {
	if len(line) < minSecretBytes {
		return "", fmt.Errorf("a secret must have at least %d bytes, got %d; make one with: openssl rand -hex 32",
			minSecretBytes, len(line))
	}
	return line, nil
}
