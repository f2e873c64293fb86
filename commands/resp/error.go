package resp

import (
	"errors"
	"maps"
	"sync"
)

// An Error is an error that a client may act on. Code is the first word of the error
// reply and keeps its meaning for ever.
type Error struct{ Code, Text string }

// NewError makes an Error.
func NewError(code, text string) *Error { return &Error{code, text} }

// Error returns the code and the text, as in the reply.
func (e *Error) Error() string {
	if e.Text == "" {
		return e.Code
	}
	return e.Code + " " + e.Text
}

var errInternal = &Error{"ERR", "internal error"}

// A coded error comes from a package that does not import this package, for example persist.
// Its Code is used as the Code, its text as the Text.
type coded interface {
	error
	Code() string
}

// ErrorOf returns the part of err, wrapped or not, that clients may see: an *Error, or an
// error with a method Code() string; nil: nothing.
func ErrorOf(err error) *Error {
	if e, plain := err.(*Error); plain { // the common case; errors.As allocates
		return e
	}
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	var c coded
	if errors.As(err, &c) {
		return &Error{c.Code(), c.Error()}
	}
	return nil
}

// Expose returns err in a form that shows its text to the client; nil for nil.
func Expose(err error) error {
	if err == nil || ErrorOf(err) != nil {
		return err
	}
	return &Error{"ERR", err.Error()}
}

// CodeCounts counts error replies by code word. Its zero value counts from zero.
// Concurrency: any number of goroutines may use it.
type CodeCounts struct {
	mu     sync.Mutex
	counts map[string]int64
}

func (c *CodeCounts) add(code string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts == nil {
		c.counts = make(map[string]int64)
	}
	c.counts[code]++
}

// Get returns a copy of the counts; nil: no error was counted.
func (c *CodeCounts) Get() map[string]int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.counts)
}

// Reset sets all counts to zero.
func (c *CodeCounts) Reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.counts)
}
