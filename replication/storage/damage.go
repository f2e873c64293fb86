package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	bolt "go.etcd.io/bbolt/errors"

	"limitsrv/persist"
)

// Anew is the remedy for a node with a damaged directory.
const Anew = "empty the directory and start the node with --join, and it gets its state from the others"

// WithHint appends the remedy to an error that reports damage.
func WithHint(err error, dir string) error {
	if !errors.As(err, new(*persist.CorruptError)) {
		return err
	}
	return fmt.Errorf("%w (limitsrv check %s says more; %s)", err, dir, Anew)
}

// votesLost returns a *CorruptError if a node has a log but no votes. The log begins after
// the votes; without them the node could vote twice in a term.
func votesLost(dir string) error {
	votes := filepath.Join(dir, VotesName)
	info, err := os.Stat(votes)
	if err == nil && info.Size() > 0 {
		return nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if _, err := os.Stat(filepath.Join(dir, LogName)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return &persist.CorruptError{What: "the votes", File: votes, Reason: "they are missing, but there is a log"}
}

// openingVotes wraps an error of opening the votes.
func openingVotes(dir string, err error) error {
	if errors.Is(err, bolt.ErrInvalid) || errors.Is(err, bolt.ErrChecksum) || errors.Is(err, bolt.ErrVersionMismatch) {
		return &persist.CorruptError{What: "the votes", File: filepath.Join(dir, VotesName), Err: err}
	}
	return fmt.Errorf("open the votes: %w", err)
}
