package session

import (
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"limitsrv/commands/backend"
	"limitsrv/commands/rules"
	"limitsrv/commands/rules/checks"
	"limitsrv/internal/loglimit"
)

// auditLines bounds the lines about events of a kind in auditInterval.
const (
	auditLines    = 100
	auditInterval = 10 * time.Second
)

// hashDigits is the number of digits of the hash of a value in the log.
const hashDigits = 8

// An audit writes a log line for each change of rules or overrides, each box that closes, and each
// address that can't be parsed. It writes at most auditLines lines of each kind in auditInterval;
// the next line then reports the number of lines left out as unlogged. Concurrency: any number of
// goroutines may use it.
type audit struct {
	log    *slog.Logger
	clock  backend.Clock
	values bool // log values of attributes as they are
	kinds  [auditKinds]auditKind
}

// The kinds of events.
const (
	auditRules = iota
	auditOverrides
	auditBoxes
	auditAddresses
	auditKinds
)

type auditKind struct {
	lines    *loglimit.Limiter[int64] // by number
	number   atomic.Int64             // of the last event
	unlogged atomic.Int64             // since the last line
}

func newAudit(log *slog.Logger, clock backend.Clock, values bool) *audit {
	a := &audit{log: log, clock: clock, values: values}
	for i := range a.kinds {
		a.kinds[i].lines = loglimit.New[int64](auditInterval, auditLines, loglimit.Suppress)
	}
	return a
}

// write logs an event of a kind.
func (a *audit) write(kind int, event string, args ...any) {
	k := &a.kinds[kind]
	if !k.lines.Allow(k.number.Add(1)) {
		k.unlogged.Add(1)
		return
	}
	if n := k.unlogged.Swap(0); n > 0 {
		args = append(args, "unlogged", n)
	}
	a.log.Info(event, args...)
}

// HashOfValue returns the text that the log has instead of the value of an attribute: # and the first
// digits of its SHA-256.
func HashOfValue(value string) string {
	h := sha256.Sum256([]byte(value))
	return "#" + hex.EncodeToString(h[:hashDigits/2])
}

// path returns attributes in the form KEY=VALUE/KEY=VALUE. Unless values are logged, each is
// the start of its SHA-256, after #.
func (a *audit) path(all []rules.Attribute) string {
	var b strings.Builder
	for i, one := range all {
		if i > 0 {
			b.WriteByte('/')
		}
		value := one.Value
		if !a.values {
			value = HashOfValue(value)
		}
		b.WriteString(one.Key + "=" + value)
	}
	return b.String()
}

// override logs a change of an override by a user from an address.
func (a *audit) override(event string, v *rules.Override, user, addr string, more []any) {
	args := []any{"domain", v.Domain, "path", a.path(v.Path), "rule", v.Rule, "user", user, "addr", addr}
	a.write(auditOverrides, event, slices.Concat(args, more)...)
}

// closed logs the penalty boxes that a request of a user from an address closed just now. Cost:
// nothing if there are no closed boxes.
func (a *audit) closed(q *checks.Request, closed []checks.Closing, user, addr string) {
	for i := range closed {
		c := &closed[i]
		lasts := time.Duration(c.Millis) * time.Millisecond
		a.write(auditBoxes, "penalty box closed", "domain", c.Rule.Domain.Name, "rule", c.Rule.Name, "path",
			a.path(c.Rule.Attributes(&q.Request, c.Descriptor)),
			"level", c.Level, "for", lasts, "until", time.UnixMilli(a.clock.Now().Millis()+c.Millis).UTC().Format(time.RFC3339),
			"user", user, "addr", addr)
	}
}

// badAddresses logs each attribute of a request that the rules of d compare as an address and that
// can't be parsed.
func (a *audit) badAddresses(d *rules.Domain, q *checks.Request) {
	if d == nil {
		return // the rules have changed meanwhile
	}
	a.write(auditAddresses, "address can't be parsed", "domain", d.Name, "path", a.path(d.BadAddresses(&q.Request)))
}
