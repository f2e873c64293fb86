package commands

import (
	"limitsrv/commands/limiters"
	"limitsrv/commands/spec"
	"limitsrv/commands/word"
)

// idOfCheck returns the index of the id of ONCE or RESERVE in a line of RL.CHECK, or 0.
func idOfCheck(line [][]byte) int { return idOf(line, checkWords) }

// idOfSettle returns the index of the id of ONCE in a line of RL.SETTLE, or 0.
func idOfSettle(line [][]byte) int { return idOf(line, settleWords) }

// idOf finds the id where the parsers of RL.CHECK and RL.SETTLE find it: after the attributes, which words
// end, and after other options. So a value of an attribute is never taken for an option.
func idOf(line [][]byte, words []string) int {
	if spec.OnceAt(line) < 0 && spec.ReserveAt(line) < 0 {
		return 0
	}
	for i := attributesEnd(line, words); i < len(line)-1; i++ {
		switch option := line[i]; {
		case word.Is(option, wordOnce), word.Is(option, wordHold):
			return i + 1
		case word.Is(option, wordID):
			i++
		case !word.Is(option, wordHits) && !word.Is(option, wordBy):
		case !limiters.IsAmount(line[i+1]):
			i++
		default:
			for i < len(line)-1 && limiters.IsAmount(line[i+1]) {
				i++
			}
		}
	}
	return 0
}

// attributesEnd returns the index of the word that ends the attributes of a line.
func attributesEnd(line [][]byte, words []string) int {
	i := 2
	for ; i < len(line); i += 2 {
		if key := line[i]; !mayEnd(key) {
			continue
		} else if word.Is(key, wordAnd) && len(line)-i > 2 {
			i++
		} else if isAny(key, words) {
			break
		}
	}
	return i
}
