package persist

import (
	"errors"
	"fmt"
	"syscall"
	"time"
)

// A Failure is the state of a disk that can't be relied on: since when, and why.
// As an error it is what refused batches are answered with.
type Failure struct {
	Since time.Time
	Err   error
}

func (f *Failure) Error() string {
	return fmt.Sprintf("the decision was not made, since it can't be written to disk: %v", f.Err)
}

func (f *Failure) Unwrap() error { return f.Err }

// Code is the code word of Redis for a server that can't write to its disk.
func (f *Failure) Code() string { return "MISCONF" }

// full says whether the disk is, and has shown so before it took what was written:
// where a sync finds no room, that may still be read after a restart.
func (f *Failure) full() bool {
	return !errors.Is(f.Err, errSync) && (errors.Is(f.Err, syscall.ENOSPC) || errors.Is(f.Err, syscall.EDQUOT))
}

// errHangs is what is wrong with a disk that neither fails nor comes back.
var errHangs = errors.New("the disk does not answer")

// ErrUncertain answers batches that may or may not have been carried out, as nobody
// knows what became of their log entry.
var ErrUncertain error = uncertain{}

type uncertain struct{}

func (uncertain) Error() string { return "the decision may or may not have been applied" }
func (uncertain) Code() string  { return "UNCERTAIN" }

// fail says that the disk has failed, if it has not already, and returns the
// failure. Nothing goes into the log from now on until mend has begun a new one.
func (s *Store) fail(err error) *Failure {
	s.mu.Lock()
	if s.failing {
		f := s.failure.Load() // under mu, as it may be mended at any time
		s.mu.Unlock()
		return f
	}
	f := &Failure{Since: time.Now(), Err: err}
	s.failing = true
	s.failure.Store(f)
	close(*s.fails.Load())
	after := s.order.fail(f)
	s.mu.Unlock()
	after()
	s.call()
	s.o.Logger.Error("the disk has failed: "+s.consequence(), "error", err, "dir", s.o.Dir)
	return f
}

// failed is closed when the disk has failed, until it is mended.
func (s *Store) failed() <-chan struct{} { return *s.fails.Load() }

// rearm is for the beginning, and for a disk that decisions are logged on again.
func (s *Store) rearm() {
	fails := make(chan struct{})
	s.fails.Store(&fails)
}

// consequence is what a failed disk means under the policy.
func (s *Store) consequence() string {
	if s.o.Policy == Always {
		return "limits are not decided until it can be written again"
	}
	return "limits are decided in memory only until it can be written again"
}
