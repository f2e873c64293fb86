package persist

import (
	"errors"
	"fmt"
	"time"
)

// A Failure is the state of a disk that failed: when and why. As an error it is the
// answer to rejected batches.
type Failure struct {
	Since time.Time
	Err   error
}

func (f *Failure) Error() string {
	return fmt.Sprintf("decision rejected because the log cannot be written: %v", f.Err)
}

func (f *Failure) Unwrap() error { return f.Err }

// Code returns the Redis error code of a server that cannot write to its disk.
func (f *Failure) Code() string { return "MISCONF" }

// full reports whether the failure is a full disk that rejected the write. A sync that
// found no space does not count, because its data may still be read after a restart.
func (f *Failure) full() bool { return !errors.Is(f.Err, errSync) && IsFull(f.Err) }

// errHangs is the failure of a disk that neither completes a write nor returns an error.
var errHangs = errors.New("the disk does not respond")

// ErrUncertain answers batches that may or may not have been applied, because the outcome
// of writing their log entry is unknown.
var ErrUncertain error = uncertain{}

type uncertain struct{}

func (uncertain) Error() string { return "the decision may or may not have been applied" }
func (uncertain) Code() string  { return "UNCERTAIN" }

// fail marks the disk as failed, if it is not already, and returns the failure. Nothing is
// appended to the log until reopenLog has started a new log.
func (s *Store) fail(err error) *Failure {
	s.mu.Lock()
	if s.failing {
		f := s.failure.Load() // under mu, because it may be cleared at any time
		s.mu.Unlock()
		return f
	}
	f := &Failure{Since: time.Now(), Err: err}
	s.failing = true
	s.failure.Store(f)
	close(*s.failedCh.Load())
	after := s.pipeline.fail(f)
	s.mu.Unlock()
	after()
	s.maintainWake.send()
	s.o.Logger.Error("the disk has failed: "+s.consequence(), "error", err, "dir", s.o.Dir)
	return f
}

// failed returns a channel that is closed while the disk is failed.
func (s *Store) failed() <-chan struct{} { return *s.failedCh.Load() }

// resetFailed replaces the channel of failed: at the start, and when decisions are logged
// again.
func (s *Store) resetFailed() {
	fails := make(chan struct{})
	s.failedCh.Store(&fails)
}

// consequence describes the effect of a failed disk under the policy.
func (s *Store) consequence() string {
	if s.o.Policy == Always {
		return "requests are rejected until it can be written again"
	}
	return "decisions are not logged until it can be written again"
}
