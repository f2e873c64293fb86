package source

import (
	"go.yaml.in/yaml/v3"

	"limitsrv/engine"
)

// limitWords are the words of a limit that is a mapping.
var limitWords = []string{"count", "window", "algorithm", "burst", "name", "grace", "warn_at", "events", "hits",
	"weights", "at_once", "ttl", "unlimited", "none"}

// limit reads a limit: a line or a mapping.
func (r *reader) limit(n *yaml.Node) (l Limit, ok bool) {
	if n.Kind == yaml.MappingNode {
		return r.limitMapping(n)
	}
	text, ok := r.text(n, "a limit")
	if !ok {
		return l, false
	}
	l, known := r.limitLines[text]
	if !known {
		var err error
		if l, err = ParseLimit(text); err != nil {
			r.mistake(n, err.Error())
			return l, false
		}
		if len(r.limitLines) == maxLimitLines {
			clear(r.limitLines)
		}
		r.limitLines[text] = l
	}
	l.At = r.at(n)
	return l, true
}

// maxLimitLines bounds the limits in a line that a reader remembers: most rules have one of a
// few.
const maxLimitLines = 1000

// limitMapping reads a limit that is a mapping.
func (r *reader) limitMapping(n *yaml.Node) (l Limit, ok bool) {
	fields, mark, ok := r.words(n, "a limit")
	defer r.release(mark)
	if !ok {
		return l, false
	}
	before := len(r.mistakes)
	l.At = r.at(n)
	var (
		d                            = draft{warnAt: DefaultWarnAt}
		counted, windowed, none, ttl bool
		leases                       bool
	)
	for _, f := range fields {
		switch f.word {
		case "count":
			d.count, counted = r.whole(f.value, f.word, 0, engine.MaxLimit)
		case "window":
			text, _ := r.text(f.value, f.word)
			if err := d.setWindow(text); err != nil {
				r.mistake(f.value, err.Error())
			}
			windowed = true
		case "at_once":
			d.count, leases = r.whole(f.value, f.word, 0, engine.MaxListed)
		case "ttl":
			d.window, ttl = r.duration(f.value, f.word)
		case "name":
			d.name, _ = r.label(f.value, f.word)
		case "unlimited":
			l.Unlimited = r.boolean(f.value, f.word)
		case "none":
			none = r.boolean(f.value, f.word)
		default:
			if !r.limitWord(&d, f) {
				r.unknown(f, "a limit", limitWords)
			}
		}
	}
	switch {
	case len(r.mistakes) > before:
		return l, false
	case l.Unlimited && len(fields) == 1:
		return l, true
	case leases && ttl && !counted && !windowed && !d.algGiven && !none && !l.Unlimited:
		d.alg, d.algGiven = engine.Lease, true
	case none && !counted && !windowed && !leases && !ttl && !l.Unlimited:
	case !counted || !windowed || leases || ttl || none || l.Unlimited:
		r.mistake(n, "a limit must have count and window, at_once and ttl, unlimited: true alone, or none: true, got "+
			wordsOf(fields))
		return l, false
	}
	if err := d.check(&l); err != nil {
		r.mistake(n, err.Error())
		return l, false
	}
	return l, true
}

// limitWord reads a word that all mappings of a limit have, and reports whether f is such a
// word.
func (r *reader) limitWord(d *draft, f field) bool {
	switch f.word {
	case "algorithm":
		if f.value.Kind != yaml.ScalarNode || !d.algorithm(f.value.Value) {
			r.bad(f.value, f.word, anyOf(algorithmNames))
		}
	case "burst":
		d.burst, _ = r.whole(f.value, f.word, 1, engine.MaxLimit)
	case "grace":
		d.grace, _ = r.whole(f.value, f.word, 0, engine.MaxLimit)
	case "warn_at":
		d.warnAt, _ = r.whole(f.value, f.word, 1, 100)
	case "events":
		d.events = r.boolean(f.value, f.word)
	case "hits":
		if d.requests = f.value.Kind == yaml.ScalarNode && f.value.Value == "1"; !d.requests {
			r.bad(f.value, f.word, "1")
		}
	case "weights":
		r.weights(d, f.value)
	default:
		return false
	}
	return true
}
