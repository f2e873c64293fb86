package rules

import (
	"fmt"
	"strings"
	"time"

	"limitsrv/commands/rules/source"
	"limitsrv/engine"
)

// A Policy is a limit as RL.POLICY and the headers show it.
type Policy struct {
	Quota        int64
	WindowMillis int64  // rounded up
	Unit         string // requests, amounts or concurrent-requests
	Algorithm    string // in lower case
}

// Policy returns the limit without a counter's state; Quota is -1 without a limit.
func (l *Limit) Policy() Policy {
	p := Policy{Quota: l.Count, WindowMillis: (l.Window + int64(time.Millisecond) - 1) / int64(time.Millisecond),
		Unit: "requests", Algorithm: strings.ToLower(l.Params.Alg.String())}
	switch {
	case l.unlimited:
		return Policy{Quota: -1, Unit: p.Unit, Algorithm: "unlimited"}
	case l.HasLeases():
		p.Unit = "concurrent-requests"
	case len(l.weights) > 0:
		p.Unit = amounts
	}
	return p
}

// amounts is the unit of limits with weights.
const amounts = "amounts"

// Policy returns the policy of the limit, which may have the weights of the limit that it replaces.
func (m *Met) Policy() Policy {
	p := m.Limit.Policy()
	if m.IsWeighed() {
		p.Unit = amounts
	}
	return p
}

// String returns the limit in the form of a rule file, such as 5/1m slide.
func (l *Limit) String() string {
	if l.unlimited {
		return "unlimited"
	}
	if l.None {
		return "none"
	}
	var b strings.Builder
	switch {
	case l.HasLeases():
		fmt.Fprintf(&b, "%d at once ttl %s", l.Count, window(engine.NoCalendar, l.Window))
	default:
		fmt.Fprintf(&b, "%d/%s %s", l.Count, window(l.Params.Calendar, l.Window), strings.ToLower(l.Params.Alg.String()))
	}
	if l.Quota != l.Count {
		fmt.Fprintf(&b, " burst %d", l.Quota)
	}
	for _, option := range []struct {
		name string
		n    int64
		show bool
	}{{"grace", l.Grace, l.Grace > 0}, {"warn_at", l.warnAt, l.warnAt != source.DefaultWarnAt}} {
		if option.show {
			fmt.Fprintf(&b, " %s %d", option.name, option.n)
		}
	}
	if l.Given != "" {
		b.WriteString(" name " + l.Given)
	}
	if l.Events {
		b.WriteString(" events")
	}
	if l.requests {
		b.WriteString(" hits 1")
	}
	if len(l.weights) > 0 {
		b.Write(source.AppendWeights([]byte(" weights "), l.weights))
	}
	return b.String()
}
