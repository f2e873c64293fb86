package commands

import (
	"slices"
	"strings"
)

// unlimited is the max of a command that takes any number of arguments.
const unlimited = 1 << 30

// An arg is one argument of a command, in the terms of COMMAND DOCS: a word, a token
// without a word, a choice (oneof) or a sequence (block) of args.
type arg struct {
	kind     argKind
	name     string // of a word or token, in lower case
	token    string // of a token, or the token that precedes the rest
	optional bool
	multiple bool
	args     []arg // of a choice or sequence
}

type argKind uint8

const (
	word argKind = iota
	pureToken
	oneOf
	block
)

// parseUsage parses the Args of a Command. It panics if brackets don't match: usages are
// literals.
func parseUsage(usage string) []arg {
	for _, sign := range []string{"[", "]", "<", ">"} {
		usage = strings.ReplaceAll(usage, sign, " "+sign+" ")
	}
	p := usageParser{words: strings.Fields(usage)}
	args, _ := p.group("")
	return args
}

type usageParser struct{ words []string }

// group parses up to and including the closing word. repeats reports that it ended in
// "...".
func (p *usageParser) group(closing string) (args []arg, repeats bool) {
	var choices [][]arg
	for {
		if len(p.words) == 0 {
			if closing != "" {
				panic("usage: missing " + closing)
			}
			break
		}
		w := p.words[0]
		p.words = p.words[1:]
		if w == closing {
			break
		}
		switch w {
		case "[":
			inner, again := p.group("]")
			args = appendOptional(args, inner, again)
		case "<":
			inner, again := p.group(">")
			if again {
				a := one(inner)
				a.multiple = true
				inner = []arg{a}
			}
			args = append(args, inner...)
		case "|":
			choices = append(choices, joinTokens(args))
			args = nil
		case "...":
			repeats = true
		default:
			args = append(args, wordArg(w))
		}
	}
	args = joinTokens(args)
	if choices == nil {
		return args, repeats
	}
	choice := arg{kind: oneOf}
	for _, c := range append(choices, args) {
		choice.args = append(choice.args, one(c))
	}
	choice.name = choice.args[0].name
	return []arg{choice}, repeats
}

// wordArg makes a word, a token or a choice of these (a|b).
func wordArg(w string) arg {
	if choices := strings.Split(w, "|"); len(choices) > 1 {
		a := arg{kind: oneOf}
		for _, c := range choices {
			a.args = append(a.args, wordArg(c))
		}
		a.name = a.args[0].name
		return a
	}
	if w == strings.ToUpper(w) && w != strings.ToLower(w) {
		return arg{kind: pureToken, name: strings.ToLower(w), token: w}
	}
	return arg{kind: word, name: w}
}

// joinTokens merges a token with the args that follow it: with all of them if the
// sequence begins with the token, otherwise with the next one.
func joinTokens(args []arg) []arg {
	if len(args) > 2 && args[0].kind == pureToken && !args[1].optional {
		rest := sequence(joinTokens(args[1:]))
		rest.token, rest.name = args[0].token, args[0].name
		return []arg{rest}
	}
	var joined []arg
	for _, a := range args {
		last := len(joined) - 1
		if last >= 0 && joined[last].kind == pureToken && !joined[last].optional && !a.optional && a.token == "" {
			a.token = joined[last].token
			joined[last] = a
			continue
		}
		joined = append(joined, a)
	}
	return joined
}

// appendOptional appends the contents of [ ]. "x [x ...]" becomes one x that repeats.
func appendOptional(args, inner []arg, again bool) []arg {
	if n := len(inner); again && n <= len(args) && slices.EqualFunc(args[len(args)-n:], inner, equalArgs) {
		a := one(inner)
		a.multiple = true
		return append(args[:len(args)-n], a)
	}
	a := one(inner)
	a.optional, a.multiple = true, again
	return append(args, a)
}

// one makes one arg of a sequence.
func one(args []arg) arg {
	if len(args) == 1 {
		return args[0]
	}
	return sequence(args)
}

func sequence(args []arg) arg { return arg{kind: block, name: args[0].name, args: args} }

func equalArgs(a, b arg) bool {
	return a.kind == b.kind && a.name == b.name && a.token == b.token && a.optional == b.optional &&
		a.multiple == b.multiple && slices.EqualFunc(a.args, b.args, equalArgs)
}

// counts returns the minimum and maximum number of words; most is at most unlimited.
func counts(args []arg) (least, most int) {
	for _, a := range args {
		l, m := a.counts()
		least, most = least+l, min(most+m, unlimited)
	}
	return least, most
}

func (a arg) counts() (least, most int) {
	switch a.kind {
	case word, pureToken:
		least, most = 1, 1
		if a.kind == word && a.token != "" {
			least, most = 2, 2
		}
	case oneOf:
		least = unlimited
		for _, c := range a.args {
			l, m := c.counts()
			least, most = min(least, l), max(most, m)
		}
		if a.token != "" {
			least, most = least+1, most+1
		}
	case block:
		least, most = counts(a.args)
		if a.token != "" {
			least, most = least+1, most+1
		}
	}
	if a.optional {
		least = 0
	}
	if a.multiple {
		most = unlimited
	}
	return least, most
}
