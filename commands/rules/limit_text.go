package rules

import (
	"strconv"
	"strings"
	"time"

	"limitsrv/commands/rules/source"
	"limitsrv/engine"
)

// fill sets the fields of l that follow from its text alone. Requires: it is not unlimited.
// label is label(from).
func (l *Limit) fill(from *source.Limit, label string) {
	l.at, l.Given, l.Label = from.At, from.Name, label
	l.Window = from.Window
	if from.Calendar != engine.NoCalendar {
		l.Window = calendars[from.Calendar].nanos
	}
	l.warnAt, l.Events, l.requests, l.weights = from.WarnAt, from.Events, from.Requests, from.Weights
	l.Quota, l.Count, l.Grace = from.Count, from.Count, from.Grace
	if from.Burst > 0 {
		l.Quota = from.Burst
	}
	l.NearAbove = l.Quota/100*from.WarnAt + l.Quota%100*from.WarnAt/100
	l.Params = params(from)
	if from.Count == 0 {
		l.None = true
		l.Params = engine.Params{Alg: deniedAlg, Limit: 1, Period: int64(time.Second)}
		if from.Window > 0 && from.Alg == engine.Fixed {
			l.Params.Period = from.Window
		}
	}
}

// deniedAlg is the algorithm of a limit of 0.
const deniedAlg = engine.Fixed

// params returns the parameters of a limit above 0, in lowest terms.
func params(from *source.Limit) engine.Params {
	p := engine.Params{Alg: from.Alg, Limit: from.Count + from.Grace, Period: from.Window, Calendar: from.Calendar}
	if from.Alg.Usage().Period == engine.Rate {
		p.Limit, p.Count = from.Burst+from.Grace, from.Count
		p.Reduce()
	}
	return p
}

// calendars are the periods of the calendar, with the length that clients are told.
var calendars = [...]struct {
	name  string
	nanos int64
}{
	engine.Day:   {"day", int64(24 * time.Hour)},
	engine.Week:  {"week", int64(7 * 24 * time.Hour)},
	engine.Month: {"month", int64(30 * 24 * time.Hour)},
	engine.Year:  {"year", int64(365 * 24 * time.Hour)},
}

// label returns the name of a limit; or if it has no name, its algorithm and window.
func label(l *source.Limit) string {
	switch {
	case l.Name != "":
		return l.Name
	case l.Count == 0 && l.Window == 0 && l.Calendar == engine.NoCalendar:
		return "none"
	}
	return strings.ToLower(l.Alg.String()) + "-" + window(l.Calendar, l.Window)
}

// window returns a window as rule files have it: 90s, 1m, 7d, month.
func window(calendar engine.Calendar, nanos int64) string {
	return string(appendWindow(nil, calendar, nanos))
}

// appendWindow appends a window as rule files have it.
func appendWindow(dst []byte, calendar engine.Calendar, nanos int64) []byte {
	if calendar != engine.NoCalendar {
		return append(dst, calendars[calendar].name...)
	}
	for _, unit := range [...]struct {
		name  string
		nanos int64
	}{{"d", 24 * 3600e9}, {"h", 3600e9}, {"m", 60e9}, {"s", 1e9}, {"ms", 1e6}, {"us", 1e3}} {
		if nanos%unit.nanos == 0 {
			return append(strconv.AppendInt(dst, nanos/unit.nanos, 10), unit.name...)
		}
	}
	return append(strconv.AppendInt(dst, nanos, 10), "ns"...)
}
