package commands

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"limitsrv/commands/limiters"
	"limitsrv/commands/resp"
	"limitsrv/commands/rules"
	"limitsrv/commands/rules/live"
	"limitsrv/commands/rules/stored"
	"limitsrv/commands/session"
	"limitsrv/commands/spec"
	"limitsrv/commands/word"
	"limitsrv/engine"
	"limitsrv/engine/answer"
)

var rlOverride = spec.Command{
	Name: "RL.OVERRIDE", Summary: "Commands about overrides, exceptions from the rules for one customer.",
	Complexity: "See its subcommands", Since: rulesSince, Group: rulesGroup,
	Body: &spec.Container{Sub: []spec.Command{
		{
			Name: "SET", Args: "domain [key value ...] <ALLOW | DENY | LIMIT limit> [RULE name] [EX seconds | PX " +
				"milliseconds] [NOTE text] [TOUCHED]",
			Summary: "Sets an override on all nodes. ALLOW and DENY hold for everything below the attributes, in a domain " +
				"with rules for each request with the attributes in any order, and without any for the whole domain; a value " +
				"may be a range of addresses or a pattern with *. " +
				"LIMIT, such as 100/minute, holds for exactly these, or for a rule with its per attributes. Without EX it is for " +
				"ever. An override that no request can meet by the rules in use is an error. TOUCHED returns the number of " +
				"limits that it changes, instead of OK.",
			Complexity: "O(N), N being the overrides and the rules of the domain", Since: rulesSince, Group: rulesGroup,
			Flags: spec.Write | spec.Rules | spec.NoScript | spec.NoMulti, Domain: 2, Fresh: session.Always,
			Body: session.Run(runOverrideSet),
		},
		{
			Name: "GET", Args: "domain [key value ...] [RULE name]",
			Summary: "Returns an override, or nil: [domain, [key, value, ...], ALLOW DENY or LIMIT, limit, rule, ms to " +
				"live or -1, note, user, time of its setting in ms since 1970].",
			Complexity: "O(1)", Since: rulesSince, Group: rulesGroup, Flags: spec.ReadOnly | spec.Rules | spec.NoScript,
			Domain: 2,
			Body: &spec.Ops{Parse: func(b *engine.Batch, args [][]byte) error {
				path, err := parseOverridePath(args)
				if err != nil {
					return err
				}
				v, err := spelled(&noRules, nil, path)
				if err == nil {
					stored.SetGetOverride(b.AddCall(0), v)
				}
				return err
			}},
		},
		{
			Name: "DEL", Args: "domain [key value ...] [RULE name]",
			Summary:    "Removes an override on all nodes. Returns 1 if there was one, otherwise 0.",
			Complexity: "O(N), N being the overrides", Since: rulesSince, Group: rulesGroup,
			Flags: spec.Write | spec.Rules | spec.NoScript | spec.NoMulti, Domain: 2, Fresh: session.Always,
			Body: session.Run(runOverrideDel),
		},
		{
			Name: "LIST", Args: "domain [CURSOR n] [COUNT n]",
			Summary: fmt.Sprintf("Returns [next cursor, rows] of the overrides of a domain, as GET does, %d unless COUNT "+
				"says otherwise. The next cursor is 0 at the end.", overridesPage),
			Complexity: "O(N), N being the returned rows", Since: rulesSince, Group: rulesGroup,
			Flags: spec.ReadOnly | spec.Rules | spec.NoScript, Domain: 2,
			Body: &spec.Ops{Parse: opOverrideList}, Long: 3,
		},
	}},
}

// overridesPage is the default COUNT of RL.OVERRIDE LIST.
const overridesPage = 100

// The words of RL.OVERRIDE.
const (
	wordLimit   = "LIMIT"
	wordRule    = "RULE"
	wordEX      = "EX"
	wordPX      = "PX"
	wordCount   = "COUNT"
	wordTouched = "TOUCHED"
)

// maxTTL bounds the time to live of an override.
const maxTTL = 10 * 365 * 24 * time.Hour

// parsePath parses the domain and the attributes of a line up to one of some words.
func parsePath(args [][]byte, words ...string) (v rules.Override, rest [][]byte, err error) {
	v.Domain = string(args[2])
	for rest = args[3:]; len(rest) > 0 && !isAny(rest[0], words); rest = rest[2:] {
		if len(rest) == 1 {
			return v, nil, noValue(rest[0], words...)
		}
		v.Path = append(v.Path, rules.Attribute{Key: string(rest[0]), Value: string(rest[1])})
	}
	return v, rest, nil
}

// An overrideLine is a line of RL.OVERRIDE SET.
type overrideLine struct {
	rules.Override
	ttl     int64 // in milliseconds; 0: no end
	touched bool
}

// effects are the words of the effects, in the order of their numbers.
var effects = []string{rules.Allow.String(), rules.Deny.String(), rules.Replace.String()}

// noEffect is the error for a line without an effect after the attributes. parsePath has read a
// mistyped effect as the key of an attribute.
func noEffect(path []rules.Attribute) error {
	text := "ALLOW, DENY or LIMIT limit must follow the attributes"
	for _, a := range path {
		if nearest := word.Nearest(a.Key, effects); nearest != "" {
			text += ", got " + word.Excerpt([]byte(a.Key)) + "; did you mean " + nearest + "?"
			break
		}
	}
	return resp.NewError("ERR", text)
}

// parseOverride parses RL.OVERRIDE SET.
func parseOverride(args [][]byte) (v overrideLine, err error) {
	var rest [][]byte
	if v.Override, rest, err = parsePath(args, effects...); err != nil {
		return v, err
	}
	if len(rest) == 0 {
		return v, noEffect(v.Path)
	}
	for v.Effect = rules.Allow; !word.Is(rest[0], v.Effect.String()); {
		v.Effect++
	}
	if rest = rest[1:]; v.Effect == rules.Replace {
		if len(rest) == 0 {
			return v, resp.NewError("ERR", "no limit follows LIMIT")
		}
		v.Limit, rest = string(rest[0]), rest[1:]
	}
	err = v.parseOptions(rest)
	return v, err
}

// overrideOptions are the options of RL.OVERRIDE SET.
var overrideOptions = []string{wordRule, wordEX, wordPX, wordNote, wordTouched}

// parseOptions parses the options at the end of RL.OVERRIDE SET, each at most once, and one of EX and
// PX.
func (v *overrideLine) parseOptions(rest [][]byte) (err error) {
	seen := map[string]bool{}
	for first := true; len(rest) > 0 && err == nil; first = false {
		at := slices.IndexFunc(overrideOptions, func(w string) bool { return word.Is(rest[0], w) })
		switch {
		case at < 0 && first && v.Effect == rules.Replace:
			return resp.NewError("ERR", fmt.Sprintf("unknown option %s after the limit; allowed are %s, and a limit of several "+
				"words must be one argument, for example in quotes", word.Excerpt(rest[0]), strings.Join(overrideOptions, ", ")))
		case at < 0:
			return unknownOption(rest[0], overrideOptions...)
		}
		option := overrideOptions[at]
		switch {
		case seen[option]:
			return resp.NewError("ERR", option+" is allowed once, got it twice")
		case option == wordEX && seen[wordPX] || option == wordPX && seen[wordEX]:
			return resp.NewError("ERR", "EX or PX is allowed, got both")
		}
		if seen[option] = true; option == wordTouched {
			v.touched, rest = true, rest[1:]
			continue
		}
		if len(rest) == 1 {
			return limiters.NoValue(rest[0])
		}
		switch value := rest[1]; option {
		case wordRule:
			v.Rule = string(value)
		case wordNote:
			v.Note = string(value)
		case wordEX:
			v.ttl, err = wholeFrom(wordEX, value, 1, int64(maxTTL/time.Second))
			v.ttl *= 1000
		default:
			v.ttl, err = wholeFrom(wordPX, value, 1, int64(maxTTL/time.Millisecond))
		}
		rest = rest[2:]
	}
	return err
}

// makeOverride makes an override with values as the rules of a state require. It also returns the
// number of limits that it changes.
func makeOverride(st *live.State, v rules.Override) (o *rules.Override, limits int, err error) {
	if v, err = st.Set.Spell(v); err == nil {
		o, err = rules.NewOverride(v)
	}
	if err == nil {
		limits, err = st.Set.Reach(o)
	}
	if err == nil && o.IsWide() && st.Overrides.NumWide(o) >= rules.MaxWideOverrides {
		err = fmt.Errorf("overrides with ranges or patterns: at most %d in a domain, and so many are there; a list of the "+
			"rules takes more", rules.MaxWideOverrides)
	}
	if err == nil && !st.Overrides.HasShapeFor(o) {
		err = fmt.Errorf("ALLOW and DENY with several attributes: at most %d sets of keys in a domain, and so many are there",
			rules.MaxShapes)
	}
	return o, limits, resp.Expose(err)
}

// noRules is an empty rule set.
var noRules rules.Set

// parseOverridePath parses RL.OVERRIDE GET and DEL. It returns a placeholder override with the
// domain, the path and the rule as the client wrote them.
func parseOverridePath(args [][]byte) (rules.Override, error) {
	v, rest, err := parsePath(args, wordRule)
	switch {
	case err != nil:
		return v, err
	case len(rest) == 1:
		return v, resp.NewError("ERR", "no value follows RULE")
	case len(rest) > 2:
		return v, errSyntax
	case len(rest) == 2:
		v.Rule, v.Effect, v.Limit = string(rest[1]), rules.Replace, "none"
	default:
		v.Effect = rules.Deny
	}
	return v, nil
}

// spelled returns the override that DEL or GET addresses. If there has an override with the
// client's spelling, it is that override, because an earlier version may have stored other
// spellings. Otherwise the path is spelled as the rules of set require.
func spelled(set *rules.Set, there *rules.Overrides, v rules.Override) (*rules.Override, error) {
	o, err := rules.NewOverride(v)
	if err == nil && there.Get(o) == nil {
		if v, err = set.Spell(v); err == nil {
			o, err = rules.NewOverride(v)
		}
	}
	return o, resp.Expose(err)
}

func runOverrideSet(s *session.Session, w *resp.Writer, args [][]byte) {
	line, err := parseOverride(args)
	var v *rules.Override
	limits := 0
	if err == nil {
		v, limits, err = makeOverride(s.Handler().Config().Rules.Current(), line.Override)
	}
	if err != nil {
		w.Error(err)
		return
	}
	var b engine.Batch
	stored.SetOverride(b.AddCall(0), v, line.ttl, s.User())
	s.Perform(&b, func(w *resp.Writer) {
		first, _, _ := answer.Next(b.Calls[0].Answer)
		if first.Kind != answer.Error {
			s.LogOverride("override set", v, "effect", v.Effect.String(), "limit", v.Limit, "ttl",
				time.Duration(line.ttl)*time.Millisecond, "limits", limits)
		}
		if first.Kind != answer.Error && line.touched {
			w.Int(int64(limits))
			return
		}
		w.Answer(b.Calls[0].Answer)
	})
}

func runOverrideDel(s *session.Session, w *resp.Writer, args [][]byte) {
	path, err := parseOverridePath(args)
	if err != nil {
		w.Error(err)
		return
	}
	state := s.Handler().Config().Rules.Current()
	v, err := spelled(state.Set, state.Overrides, path)
	if err != nil {
		w.Error(err)
		return
	}
	var b engine.Batch
	stored.SetDropOverride(b.AddCall(0), v)
	s.Perform(&b, func(w *resp.Writer) {
		w.Answer(b.Calls[0].Answer)
		if first, _, _ := answer.Next(b.Calls[0].Answer); first.Int == 1 {
			s.LogOverride("override removed", v)
		}
	})
}

func opOverrideList(b *engine.Batch, args [][]byte) (err error) {
	cursor, count := int64(0), int64(overridesPage)
	for rest := args[3:]; len(rest) > 0 && err == nil; rest = rest[2:] {
		switch {
		case len(rest) == 1:
			return errSyntax
		case word.Is(rest[0], wordCursor):
			cursor, err = wholeFrom("cursor", rest[1], 0, math.MaxInt64)
		case word.Is(rest[0], wordCount):
			count, err = wholeFrom(wordCount, rest[1], 1, stored.MaxOverrides)
		default:
			return errSyntax
		}
	}
	if err == nil {
		_, err = rules.NewOverride(rules.Override{Domain: string(args[2]), Effect: rules.Deny})
	}
	if err == nil {
		stored.SetListOverrides(b.AddCall(0), args[2], uint64(cursor), uint64(count))
	}
	return resp.Expose(err)
}
