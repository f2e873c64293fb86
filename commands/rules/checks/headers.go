package checks

import (
	"strconv"
	"time"

	"limitsrv/commands/rules"
)

// A HeaderSet is a set of headers that tell a client about its limits.
type HeaderSet uint8

const (
	// XHeaders are X-RateLimit-Limit, X-RateLimit-Remaining and X-RateLimit-Reset.
	XHeaders HeaderSet = 1 << iota
	// PlainHeaders are RateLimit-Limit, RateLimit-Remaining and RateLimit-Reset.
	PlainHeaders
	// DraftHeaders are RateLimit-Policy and RateLimit, of draft-ietf-httpapi-ratelimit-headers-10.
	DraftHeaders
)

// Bounds of the draft's headers, because proxies bound the headers of a message.
const (
	maxNameBytes   = 256
	maxPolicyBytes = 4096
	// maxStructured is the greatest integer of a structured field, RFC 9651.
	maxStructured = 999_999_999_999_999
)

// A Header is a header of an answer.
type Header struct {
	Name  string
	Value []byte
}

// Headers are the headers of an answer. They are reused: the zero value is ready.
type Headers struct {
	// List is valid until the next Set.
	List  []Header
	bytes []byte
}

// Set makes the headers of an answer: the headers of the set, and Retry-After if the answer
// denies and a later request may pass. All times are seconds, rounded up. An answer without
// a limit has no headers of the set, and only an answer with a binding limit has the
// draft's headers.
//
// RateLimit-Policy has all limits that may deny, up to 4 KiB, and RateLimit the binding
// limit. A name there is cut to 256 bytes, and bytes that a structured field can not have
// are question marks.
//
// Cost: no allocation once the Headers have grown.
func (h *Headers) Set(a *Answer, set HeaderSet) {
	h.List, h.bytes = h.List[:0], h.bytes[:0]
	if a.Limit >= 0 {
		if set&XHeaders != 0 {
			h.numbers(a, "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset")
		}
		if set&PlainHeaders != 0 {
			h.numbers(a, "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset")
		}
	}
	if set&DraftHeaders != 0 && a.Binding >= 0 {
		h.policies(a)
		h.state(a)
	}
	if !a.Allowed && a.WaitMillis >= 0 {
		h.number("Retry-After", max(1, Seconds(a.WaitMillis)))
	}
}

// Seconds returns milliseconds as whole seconds, rounded up.
func Seconds(millis int64) int64 { return (millis + 999) / 1000 }

func (h *Headers) numbers(a *Answer, limit, remaining, reset string) {
	h.number(limit, a.Limit)
	h.number(remaining, a.Remaining)
	h.number(reset, Seconds(a.ResetMillis))
}

func (h *Headers) number(name string, n int64) {
	from := len(h.bytes)
	h.bytes = strconv.AppendInt(h.bytes, n, 10)
	h.add(name, from)
}

// add adds a header with the bytes since from as its value.
func (h *Headers) add(name string, from int) {
	h.List = append(h.List, Header{name, h.bytes[from:len(h.bytes):len(h.bytes)]})
}

// policies adds RateLimit-Policy. The binding limit is in it, however many other limits
// are.
func (h *Headers) policies(a *Answer) {
	from := len(h.bytes)
	for i := range a.Met {
		m := &a.Met[i]
		if m.Mode == rules.Shadow && i != a.Binding {
			continue
		}
		before := len(h.bytes)
		if before > from {
			h.bytes = append(h.bytes, ", "...)
		}
		h.policy(m)
		if i > a.Binding && len(h.bytes)-from > maxPolicyBytes {
			h.bytes = h.bytes[:before]
			break
		}
		if i < a.Binding && len(h.bytes)-from > maxPolicyBytes/2 {
			h.bytes = h.bytes[:before]
		}
	}
	h.add("RateLimit-Policy", from)
}

// policy appends a limit. A window that is no whole number of seconds is left out, as is
// the ttl of leases, which is no window.
func (h *Headers) policy(m *Met) {
	l := m.Limit
	h.quote(m.Named.Name)
	h.parameter(";q=", l.Quota)
	switch {
	case l.HasLeases():
		h.bytes = append(h.bytes, `;qu="concurrent-requests"`...)
	case l.Window > 0 && l.Window%int64(time.Second) == 0:
		h.parameter(";w=", l.Window/int64(time.Second))
	}
}

// state adds RateLimit. Its t is never after Retry-After.
func (h *Headers) state(a *Answer) {
	from := len(h.bytes)
	h.quote(a.Name)
	h.parameter(";r=", a.Remaining)
	switch {
	case a.Allowed:
		h.parameter(";t=", Seconds(a.ResetMillis))
	case a.WaitMillis >= 0:
		h.parameter(";t=", max(1, Seconds(a.WaitMillis)))
	}
	h.add("RateLimit", from)
}

func (h *Headers) parameter(name string, n int64) {
	h.bytes = append(h.bytes, name...)
	h.bytes = strconv.AppendInt(h.bytes, min(n, maxStructured), 10)
}

// quote appends a name as a String of RFC 9651.
func (h *Headers) quote(name string) {
	h.bytes = append(h.bytes, '"')
	for i := range min(len(name), maxNameBytes) {
		switch c := name[i]; {
		case c < 0x20 || c > 0x7e:
			h.bytes = append(h.bytes, '?')
		case c == '"' || c == '\\':
			h.bytes = append(h.bytes, '\\', c)
		default:
			h.bytes = append(h.bytes, c)
		}
	}
	h.bytes = append(h.bytes, '"')
}
