// Package usage parses the usage of a command, such as key [n] [PARTIAL|SHADOW], into its
// arguments. It imports nothing of ours.
package usage

import (
	"slices"
	"strings"
)

// Unlimited is the maximum of a command that takes any number of arguments.
const Unlimited = 1 << 30

// An Arg is an argument of a command, in the terms of COMMAND DOCS: a word, a token without
// a word, a choice (OneOf) or a sequence (Block) of args.
type Arg struct {
	Kind     Kind
	Name     string // of a word or token, in lower case
	Token    string // of a token, or the token that precedes the rest
	Optional bool
	Multiple bool
	Args     []Arg // of a choice or sequence
}

// A Kind of Arg.
type Kind uint8

const (
	Word Kind = iota
	PureToken
	OneOf
	Block
)

// Parse parses the Args of a Command. It panics if brackets don't match: usages are
// literals.
func Parse(usage string) []Arg {
	for _, sign := range []string{"[", "]", "<", ">"} {
		usage = strings.ReplaceAll(usage, sign, " "+sign+" ")
	}
	p := parser{words: strings.Fields(usage)}
	args, _ := p.group("")
	return args
}

type parser struct{ words []string }

// group parses up to and including the closing word. repeats reports that it ended in
// "...".
func (p *parser) group(closing string) (args []Arg, repeats bool) {
	var choices [][]Arg
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
				a.Multiple = true
				inner = []Arg{a}
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
	choice := Arg{Kind: OneOf}
	for _, c := range append(choices, args) {
		choice.Args = append(choice.Args, one(c))
	}
	choice.Name = choice.Args[0].Name
	return []Arg{choice}, repeats
}

// wordArg makes a word, a token or a choice of these (a|b).
func wordArg(w string) Arg {
	if choices := strings.Split(w, "|"); len(choices) > 1 {
		a := Arg{Kind: OneOf}
		for _, c := range choices {
			a.Args = append(a.Args, wordArg(c))
		}
		a.Name = a.Args[0].Name
		return a
	}
	if w == strings.ToUpper(w) && w != strings.ToLower(w) {
		return Arg{Kind: PureToken, Name: strings.ToLower(w), Token: w}
	}
	return Arg{Kind: Word, Name: w}
}

// joinTokens merges a token with the args that follow it: with all of them if the sequence
// begins with the token, otherwise with the next arg.
func joinTokens(args []Arg) []Arg {
	if len(args) > 2 && args[0].Kind == PureToken && !args[1].Optional {
		rest := sequence(joinTokens(args[1:]))
		rest.Token, rest.Name = args[0].Token, args[0].Name
		return []Arg{rest}
	}
	var joined []Arg
	for _, a := range args {
		last := len(joined) - 1
		if last >= 0 && joined[last].Kind == PureToken && !joined[last].Optional && !a.Optional && a.Token == "" {
			a.Token = joined[last].Token
			joined[last] = a
			continue
		}
		joined = append(joined, a)
	}
	return joined
}

// appendOptional appends the contents of [ ]. "x [x ...]" becomes one x that repeats.
func appendOptional(args, inner []Arg, again bool) []Arg {
	if n := len(inner); again && n <= len(args) && slices.EqualFunc(args[len(args)-n:], inner, equalArgs) {
		a := one(inner)
		a.Multiple = true
		return append(args[:len(args)-n], a)
	}
	a := one(inner)
	a.Optional, a.Multiple = true, again
	return append(args, a)
}

// one makes a single arg of a sequence.
func one(args []Arg) Arg {
	if len(args) == 1 {
		return args[0]
	}
	return sequence(args)
}

func sequence(args []Arg) Arg { return Arg{Kind: Block, Name: args[0].Name, Args: args} }

func equalArgs(a, b Arg) bool {
	return a.Kind == b.Kind && a.Name == b.Name && a.Token == b.Token && a.Optional == b.Optional &&
		a.Multiple == b.Multiple && slices.EqualFunc(a.Args, b.Args, equalArgs)
}

// Counts returns the minimum and maximum number of words; most is at most Unlimited.
func Counts(args []Arg) (least, most int) {
	for _, a := range args {
		l, m := a.counts()
		least, most = least+l, min(most+m, Unlimited)
	}
	return least, most
}

func (a Arg) counts() (least, most int) {
	switch a.Kind {
	case Word, PureToken:
		least, most = 1, 1
		if a.Kind == Word && a.Token != "" {
			least, most = 2, 2
		}
	case OneOf:
		least = Unlimited
		for _, c := range a.Args {
			l, m := c.counts()
			least, most = min(least, l), max(most, m)
		}
		if a.Token != "" {
			least, most = least+1, most+1
		}
	case Block:
		least, most = Counts(a.Args)
		if a.Token != "" {
			least, most = least+1, most+1
		}
	}
	if a.Optional {
		least = 0
	}
	if a.Multiple {
		most = Unlimited
	}
	return least, most
}
