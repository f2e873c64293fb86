package events

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"limitsrv/internal/files"
	"limitsrv/internal/testing/testwait"
)

func TestSecrets(t *testing.T) {
	file := filepath.Join(t.TempDir(), "secrets")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct{ text, wrong string }{
		{"", "it must have a secret, got none"},
		{"# 0123456789abcdef\n\n", "it must have a secret, got none"},
		{"0123456789abcdef\nshort-secret\n", "line 2: a secret must have at least 16 bytes, got 12"},
		{strings.Repeat("0123456789abcdef\n", 5), "line 5: it may have at most 4 secrets"},
		{" 0123456789abcdef \n#\nfedcba9876543210", ""},
	} {
		write(tt.text)
		_, err := OpenSecrets(file, slog.Default())
		if (err == nil) != (tt.wrong == "") || err != nil && (!strings.Contains(err.Error(), tt.wrong) ||
			!strings.Contains(err.Error(), "--events-secret-file") || strings.Contains(err.Error(), "short-secret")) {
			t.Errorf("%q: %v, want %q", tt.text, err, tt.wrong)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		var log testwait.Log
		s, err := OpenSecrets(file, log.Logger())
		if err != nil {
			t.Fatal(err)
		}
		for _, tt := range []struct {
			text string
			want []string
			log  string
		}{
			{"0123456789abcdef", []string{"0123456789abcdef"}, "have changed"},
			{"short", []string{"0123456789abcdef"}, "previous secrets stay"},
			{"fedcba9876543210", []string{"fedcba9876543210"}, "have changed"},
		} {
			write(tt.text)
			time.Sleep(files.SecretsInterval)
			if got := s.Current(); !slices.Equal(got, tt.want) || strings.Count(log.String(), tt.log) == 0 {
				t.Errorf("secrets %q, want %q; log %s", got, tt.want, log.String())
			}
		}
	})
}
