package source

import (
	"fmt"
	"time"

	"go.yaml.in/yaml/v3"

	"limitsrv/engine"
	"limitsrv/internal/yamlfile"
)

var penaltyWords = []string{"after", "within", "block", "growth", "max", "forgive", "extend", "events"}

// day is the default of max and forgive, in nanoseconds.
const day = 24 * 3600 * 1e9

// penalty reads a penalty box.
func (r *reader) penalty(n *yaml.Node) *Penalty {
	if yamlfile.IsNull(n) {
		return nil
	}
	fields, mark, ok := r.words(n, "penalty")
	defer r.release(mark)
	if !ok {
		return nil
	}
	before := len(r.mistakes)
	p := Penalty{At: r.at(n), Penalty: engine.Penalty{Growth: 100, Forgive: day}}
	for _, f := range fields {
		switch f.word {
		case "after":
			p.After, _ = r.whole(f.value, f.word, 1, MaxPenaltyAfter)
		case "within":
			p.Within, _ = r.seconds(f.value, f.word)
		case "block":
			p.Block, _ = r.seconds(f.value, f.word)
		case "growth":
			p.Growth, _ = r.hundredths(f.value, f.word, 100, 1000)
		case "max":
			p.Max, _ = r.seconds(f.value, f.word)
		case "forgive":
			p.Forgive, _ = r.seconds(f.value, f.word)
		case "extend":
			p.Extend = r.boolean(f.value, f.word)
		case "events":
			p.Events = r.boolean(f.value, f.word)
		default:
			r.unknown(f, "a penalty", penaltyWords)
		}
	}
	if p.Max == 0 {
		p.Max = max(p.Block, day)
	}
	switch {
	case len(r.mistakes) > before:
	case p.After == 0 || p.Within == 0 || p.Block == 0:
		r.mistake(n, "penalty must have after, within and block, got "+wordsOf(fields))
	case p.Max < p.Block:
		r.mistake(n, fmt.Sprintf("max must be at least block, %v, got %v", time.Duration(p.Block), time.Duration(p.Max)))
	}
	return &p
}

// seconds reads a duration in whole seconds, as penalty boxes have them.
func (r *reader) seconds(n *yaml.Node, word string) (nanos int64, ok bool) {
	nanos, ok = r.duration(n, word)
	if ok && nanos%int64(time.Second) != 0 {
		r.mistake(n, fmt.Sprintf("%s must be in whole seconds, got %v", word, time.Duration(nanos)))
		return 0, false
	}
	return nanos, ok
}
