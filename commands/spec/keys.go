package spec

import (
	"iter"
	"strconv"

	"limitsrv/commands/word"
	"limitsrv/engine/values/numbers"
)

// Keys is the position of the keys: the first and last word and the step, as in COMMAND: the name is
// word 0, and a Last of -1 is the last word, -2 the word before it. With a Count, that word is the
// number of keys, and they follow it. All zero: no keys.
//
// If Once is above 0, the words ONCE id [FOR duration] may end the line, ONCE at the index Once or
// later. The id is then also a key. A command with Once must have a single other key, or several in
// groups.
//
// If Lead is above 0, the word at this index is a key too, and the other keys are in groups of Step
// words at the end of the line. First-1 is the earliest start of the groups; up to Step-1 option words may
// precede the first group. So the options, KEEP k PARTIAL, must be shorter than a group.
//
// If Word is not empty, and is the word at First of a longer line, the only key is the word after it.
type Keys struct {
	First, Last, Step, Count, Once, Lead int

	Word string
}

// The usual positions of keys.
var (
	OneKey   = Keys{First: 1, Last: 1, Step: 1}
	TwoKeys  = Keys{First: 1, Last: 2, Step: 1}
	ManyKeys = Keys{First: 1, Last: -1, Step: 1}
)

// In returns k for one command line: First and Last are indexes into line. No keys: First is above
// Last. A count beyond the line means the rest of the line.
func (k Keys) In(line [][]byte) Keys {
	if k.Once > 0 {
		k = k.withID(line)
	}
	switch {
	case k.Count > 0:
		n := 0
		if k.Count < len(line) {
			n, _ = strconv.Atoi(string(line[k.Count]))
		}
		k = Keys{First: k.Count + 1, Last: k.Count + max(0, min(n, len(line))), Step: 1}
	case k.Step == 0:
		return Keys{First: 1, Step: 1}
	case k.Word != "" && len(line) > k.First+1 && word.Is(line[k.First], k.Word):
		k.First, k.Last = k.First+1, k.First+1
	case k.Lead > 0:
		k.First += (len(line) - k.First + 1) % k.Step
		k.Last += len(line)
	case k.Last < 0:
		k.Last += len(line)
	}
	k.Last = min(k.Last, len(line)-1)
	return k
}

// All yields the keys of a line. Requires: k is the result of In for the line.
func (k Keys) All(line [][]byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		if k.Lead > 0 && !yield(line[k.Lead]) {
			return
		}
		for i := k.First; i <= k.Last; i += k.Step {
			if !yield(line[i]) {
				return
			}
		}
	}
}

// Fixed returns the keys that are at the same place in all lines, as COMMAND INFO tells them.
func (k Keys) Fixed() Keys {
	if k.Lead > 0 {
		return OneKey
	}
	return k
}

// OnceWords is the number of words of the option ONCE id FOR duration.
const OnceWords = 4

// OnceAt returns the index of the word ONCE if words end in ONCE id or in ONCE id FOR duration, or
// else -1.
func OnceAt(words [][]byte) int {
	n := len(words)
	switch {
	case n >= 2 && word.Is(words[n-2], "ONCE"):
		return n - 2
	case n >= OnceWords && word.Is(words[n-2], "FOR") && word.Is(words[n-OnceWords], "ONCE"):
		return n - OnceWords
	}
	return -1
}

// ReserveAt returns the index of the word RESERVE if words end in RESERVE id ttl [KEEP k|ALL] [PARTIAL], with
// the options in any order, or else -1.
func ReserveAt(words [][]byte) int {
	n := len(words)
	partial := func(i int) bool { return word.Is(words[n-i], "PARTIAL") }
	keep := func(i int) bool { return word.Is(words[n-i], "KEEP") }
	for at := 3; at <= min(n, 6); at++ {
		if !word.Is(words[n-at], "RESERVE") {
			continue
		}
		if at == 3 || at == 4 && partial(1) || at == 5 && keep(2) || at == 6 && partial(1) && keep(3) ||
			at == 6 && partial(3) && keep(2) {
			return n - at
		}
	}
	return -1
}

// withID returns k with the id of the option ONCE as its last key.
func (k Keys) withID(line [][]byte) Keys {
	at := OnceAt(line)
	if at < k.Once {
		return k
	}
	return Keys{First: k.First, Last: at + 1, Step: at + 1 - k.First}
}

// Span returns the indexes of the keys that a call may touch, in args, which do not contain the name:
// from first, below end, in steps. A count that is not valid means no keys.
func (k *Keys) Span(args [][]byte) (first, end, step int) {
	if k.Last == 1 && len(args) > 0 { // the key of most commands, in a function short enough to be inlined
		return 0, 1, 1
	}
	return k.span(args)
}

// span is Span for other keys than a single key in the first place.
func (k *Keys) span(args [][]byte) (first, end, step int) {
	switch {
	case k.Count > 0:
		n, ok := numbers.ParseInt(args[k.Count-1])
		if !ok || n < 1 || n > int64(len(args)-k.Count) {
			return 0, 0, 1
		}
		return k.Count, k.Count + int(n), 1
	case k.Last < 0:
		return k.First - 1, len(args) + k.Last + 1, k.Step
	}
	return k.First - 1, min(k.Last, len(args)), k.Step
}
