package scripts

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"limitsrv/commands/glob"
	"limitsrv/commands/spec"
	"limitsrv/engine"
	"limitsrv/engine/answer"
	"limitsrv/engine/values/numbers"
)

// The commands on all keys of the database. Nodes have different tables, so the answers depend only
// on the live keys, in the order of their names. A run that calls such a command enters all shards.

const (
	// maxKeys bounds the number of keys that KEYS and SCAN answer, as for clients.
	maxKeys = 100_000
	// keyBytes is the memory that is counted for a key besides its name. matchedPerStep is the
	// number of steps of glob.Pattern.Work in a step of the run.
	keyBytes       = 48
	matchedPerStep = 16
)

// A keySearch is the state of a pass over all keys.
type keySearch struct {
	match *glob.Matcher // nil: any name
	kind  []byte        // a type, in any case; nil: any type
	found [][]byte
	n     int // number of keys that match
	bytes int // total length of their names
}

// eachKey calls visit for each key of the selected database with a matching name, in no fixed order.
// A nil match matches any name. Keys of other databases cost a step too. eachKey ends the run once
// the keys so far cost more steps than are left; the result does not depend on the order of the keys.
func (m *machine) eachKey(match *glob.Matcher, visit func(key []byte, alg engine.Alg)) {
	steps, left, selected := int64(0), m.st.StepsLeft(), m.tx.DB()
	m.tx.EachKey(func(db uint8, key []byte, alg engine.Alg, _ bool) bool {
		if steps++; db != selected {
			return steps <= left
		}
		steps += int64(len(key) / bytesPerStep)
		if match != nil {
			steps += int64(match.Work(len(key)) / matchedPerStep)
		}
		if steps > left {
			return false
		}
		if match == nil || match.Match(key) {
			visit(key, alg)
		}
		return true
	})
	m.st.Charge(int(steps))
}

// all finds the keys of a search. With keep it keeps them, unless they are too many.
func (m *machine) all(s *keySearch, keep bool) {
	m.eachKey(s.match, func(key []byte, alg engine.Alg) {
		if s.kind != nil && !strings.EqualFold(string(s.kind), alg.String()) {
			return
		}
		s.n++
		s.bytes += len(key)
		if keep && s.n <= maxKeys && int64(s.bytes+s.n*keyBytes) <= m.st.Heap.Left() {
			s.found = append(s.found, bytes.Clone(key))
		}
	})
}

// answerKeys appends the keys that a search finds, sorted by name.
func (m *machine) answerKeys(s *keySearch, out []byte) []byte {
	from := len(out)
	m.all(s, true)
	if s.n > maxKeys {
		return answer.AppendError(out[:from],
			fmt.Sprintf("ERR a script gets at most %d keys at a time, %d match: use a longer pattern", maxKeys, s.n))
	}
	m.st.PrepayMemory(s.bytes + s.n*keyBytes)
	m.st.Charge(s.n) // to sort the keys
	slices.SortFunc(s.found, bytes.Compare)
	out = answer.AppendArray(out, len(s.found))
	for _, key := range s.found {
		out = answer.AppendBulk(out, key)
	}
	return out
}

// pattern sets the pattern of the search.
func (s *keySearch) pattern(m *machine, pattern []byte) (wrong string) {
	if len(pattern) > glob.MaxBytes {
		return fmt.Sprintf("ERR a pattern is at most %d bytes long", glob.MaxBytes)
	}
	m.st.Charge(len(pattern))
	s.match = glob.NewMatcher(pattern, glob.SameCase)
	return ""
}

// onAllKeys returns the function of a command on all keys.
func onAllKeys(do func(m *machine, out []byte) []byte) func(*machine, []byte) []byte {
	return func(m *machine, out []byte) []byte {
		if m.declared {
			return answer.AppendError(out, "ERR Script attempted to access a key that it has not declared")
		}
		return do(m, out)
	}
}

func keysCommand(m *machine, out []byte) []byte {
	var s keySearch
	if wrong := s.pattern(m, m.words[1]); wrong != "" {
		return answer.AppendError(out, wrong)
	}
	return m.answerKeys(&s, out)
}

// scanCommand answers all matching keys at once, with the cursor 0, for any cursor and COUNT.
func scanCommand(m *machine, out []byte) []byte {
	var s keySearch
	if cursor, ok := numbers.ParseInt(m.words[1]); !ok || cursor < 0 {
		return answer.AppendError(out, "ERR invalid cursor")
	}
	for options := m.words[2:]; len(options) > 0; options = options[2:] {
		wrong := ""
		switch name := strings.ToUpper(string(options[0][:min(len(options[0]), spec.MaxName)])); {
		case len(options) == 1:
			wrong = syntaxError
		case name == "MATCH":
			wrong = s.pattern(m, options[1])
		case name == "TYPE":
			s.kind = options[1]
		case name == "COUNT":
			if n, ok := numbers.ParseInt(options[1]); !ok {
				wrong = notInt
			} else if n < 1 {
				wrong = syntaxError
			}
		default:
			wrong = syntaxError
		}
		if wrong != "" {
			return answer.AppendError(out, wrong)
		}
	}
	from := len(out)
	out = answer.AppendBulk(answer.AppendArray(out, 2), []byte("0"))
	keys := len(out)
	if out = m.answerKeys(&s, out); s.n > maxKeys {
		return append(out[:from], out[keys:]...)
	}
	return out
}

func dbSizeCommand(m *machine, out []byte) []byte {
	var s keySearch
	m.all(&s, false)
	return answer.AppendInt(out, int64(s.n))
}

// randomKeyCommand answers the key with the lowest engine.Tx.Rank for a random number.
func randomKeyCommand(m *machine, out []byte) []byte {
	var (
		draw   = m.tx.Random().Uint64()
		lowest []byte
		least  uint64
	)
	m.eachKey(nil, func(key []byte, _ engine.Alg) {
		rank := m.tx.Rank(key, draw)
		if lowest == nil || rank < least || rank == least && bytes.Compare(key, lowest) < 0 {
			lowest, least = append(lowest[:0], key...), rank
		}
	})
	if lowest == nil {
		return answer.AppendNil(out)
	}
	return answer.AppendBulk(out, lowest)
}
