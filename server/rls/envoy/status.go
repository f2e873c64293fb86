package envoy

import (
	"math"
	"slices"
	"strconv"
	"time"

	"limitsrv/commands/rules"
	"limitsrv/commands/rules/checks"
	"limitsrv/engine"
)

// Codes of a response and of a status.
const (
	codeOK        = 1
	codeOverLimit = 2
)

var codeNames = [...]string{codeOK: "OK", codeOverLimit: "OVER_LIMIT"}

// A status is a DescriptorStatus.
type status struct {
	code      int
	limit     *rules.Limit // current_limit; nil: no limit
	count     uint32       // its requests_per_unit
	unit      int          // its unit; 0: UNKNOWN
	units     uint32       // its unit_multiplier; 0: no multiplier
	remaining uint32
	reset     int64 // duration_until_reset in seconds; 0: no duration
}

func codeOf(passed bool) int {
	if passed {
		return codeOK
	}
	return codeOverLimit
}

// statuses appends the status of each descriptor. now returns the server's time. Cost:
// O(descriptors + limits).
func statuses(dst []status, a *checks.Answer, now func() engine.Instant) []status {
	for _, v := range a.Descriptors {
		s := status{code: codeOf(v.Passes() && a.Reason != checks.Unmatched)}
		if v == rules.Unlimited {
			s.remaining = math.MaxUint32
		}
		dst = append(dst, s)
	}
	if a.Reason == checks.Blocked {
		blocked(dst, a)
		return dst
	}
	var bound [rules.MaxDescriptors]int // 1 + the index in Rows of the limit that a status shows
	meets := func(descriptor, i int) {
		if at := &bound[descriptor]; *at == 0 || precedes(a, i, *at-1) {
			*at = i + 1
		}
	}
	for i := range a.Rows {
		meets(int(a.Met[i].Descriptor), i)
	}
	for _, s := range a.Shared {
		meets(s.Descriptor, s.Limit)
	}
	for i := range dst {
		if bound[i] > 0 {
			dst[i].show(a, bound[i]-1, now)
		}
	}
	return dst
}

// precedes reports whether a status shows the limit i rather than an earlier j: limits that
// may deny go before shadow limits. Among these the denying limit with the longest wait
// goes first, then the limit with the least remaining.
func precedes(a *checks.Answer, i, j int) bool {
	x, y := &a.Rows[i], &a.Rows[j]
	shadowed := a.Met[j].IsShadow()
	switch {
	case a.Met[i].IsShadow() != shadowed:
		return shadowed
	case x.Allowed != y.Allowed:
		return !x.Allowed
	case !x.Allowed:
		return y.WaitMillis >= 0 && (x.WaitMillis < 0 || x.WaitMillis > y.WaitMillis)
	}
	return x.Remaining < y.Remaining
}

// show sets a status to the state of a limit. A shadow limit that would deny has nothing
// remaining.
func (s *status) show(a *checks.Answer, i int, now func() engine.Instant) {
	row, l := &a.Rows[i], a.Met[i].Limit
	shadow := a.Met[i].IsShadow()
	s.code = codeOf(row.Allowed || shadow)
	s.limit, s.count = l, cut(row.Limit)
	s.remaining = cut(row.Remaining)
	if shadow && !row.Allowed {
		s.remaining = 0
	}
	if !l.HasLeases() {
		if s.unit = unitOf(l.Window); s.unit == 0 && a.Met[i].Rule.Sent {
			s.unit, s.units = unitsOf(l.Window)
		}
	}
	s.reset = checks.Seconds(row.ResetMillis)
	if s.reset == 0 && isAligned(l) {
		s.reset = windowLeft(l.Window, now())
	}
}

// isAligned reports whether the windows of a limit begin at whole multiples since the epoch.
func isAligned(l *rules.Limit) bool {
	return l.Params.Alg == engine.Fixed && l.Params.Calendar == engine.NoCalendar && l.Window > 0
}

// windowLeft returns the seconds until the end of a window, rounded up.
func windowLeft(window int64, now engine.Instant) int64 {
	return (window - int64(now)%window + int64(time.Second) - 1) / int64(time.Second)
}

// blocked marks the descriptors that a closed penalty box or a blocked key denies, until the block
// ends.
func blocked(dst []status, a *checks.Answer) {
	for i := range a.Boxes {
		box := status{code: codeOverLimit, reset: checks.Seconds(a.Boxes[i].WaitMillis)}
		block := func(descriptor int) {
			if s := &dst[descriptor]; s.code == codeOK || s.reset < box.reset {
				*s = box
			}
		}
		for j := range a.Met {
			if a.Boxes[i].Holds(j, &a.Met[j]) {
				block(int(a.Met[j].Descriptor))
			}
		}
		for _, s := range a.Shared {
			if a.Boxes[i].Holds(s.Limit, &a.Met[s.Limit]) {
				block(s.Descriptor)
			}
		}
	}
}

// cut returns n as the 32 bits of the protocol have it.
func cut(n int64) uint32 { return uint32(min(max(n, 0), math.MaxUint32)) }

// A span is a unit of windows in names.
type span struct {
	name  string
	nanos int64
}

// spans are the units of windows in names, the longest first.
var spans = [...]span{
	{"d", int64(24 * time.Hour)}, {"h", int64(time.Hour)}, {"m", int64(time.Minute)}, {"s", int64(time.Second)},
	{"ms", int64(time.Millisecond)}, {"us", int64(time.Microsecond)}, {"ns", 1},
}

// appendName appends the name of current_limit: the name given in the rules. For a window
// without a unit in the protocol it is 100/15m, for leases their number, 5 at once.
func (s *status) appendName(b []byte) []byte {
	if s.unit > 0 {
		return append(b, s.limit.Given...)
	}
	b = strconv.AppendInt(b, s.limit.Quota, 10)
	window := s.limit.Window
	switch {
	case s.limit.HasLeases():
		return append(b, " at once"...)
	case window <= 0:
		return b
	}
	i := slices.IndexFunc(spans[:], func(one span) bool { return window%one.nanos == 0 })
	b = strconv.AppendInt(append(b, '/'), window/spans[i].nanos, 10)
	return append(b, spans[i].name...)
}
