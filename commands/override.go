package commands

import (
	"fmt"
	"math"
	"time"

	"limitsrv/commands/resp"
	"limitsrv/commands/rules"
	"limitsrv/commands/rules/stored"
	"limitsrv/commands/session"
	"limitsrv/commands/word"
	"limitsrv/engine"
	"limitsrv/engine/answer"
)

var rlOverride = session.Command{
	Name: "RL.OVERRIDE", Summary: "Commands about overrides, exceptions from the rules for one customer.",
	Complexity: "See its subcommands", Since: rulesSince, Group: rulesGroup,
	Sub: []session.Command{
		{
			Name: "SET", Args: "domain [key value ...] <ALLOW | DENY | LIMIT limit> [RULE name] [EX seconds | PX milliseconds] [NOTE text]",
			Summary: "Sets an override on all nodes. ALLOW and DENY hold for everything below the attributes, and without any for the whole domain; " +
				"LIMIT, such as 100/minute, holds for exactly these, or for a rule with its per attributes. Without EX it is for ever.",
			Complexity: "O(N), N being the overrides", Since: rulesSince, Group: rulesGroup,
			Flags: session.Write | session.Rules | session.NoScript | session.NoMulti, Domain: 2, Fresh: session.Always, Run: runOverrideSet,
		},
		{
			Name: "GET", Args: "domain [key value ...] [RULE name]",
			Summary:    "Returns an override, or nil: [domain, [key, value, ...], ALLOW DENY or LIMIT, limit, rule, ms to live or -1, note, user, time of its setting in ms since 1970].",
			Complexity: "O(1)", Since: rulesSince, Group: rulesGroup, Flags: session.ReadOnly | session.Rules | session.NoScript, Domain: 2,
			Op: func(b *engine.Batch, args [][]byte) error {
				path, err := parseOverridePath(args)
				if err != nil {
					return err
				}
				v, err := spelled(&noRules, nil, path)
				if err == nil {
					stored.SetGetOverride(b.AddCall(0), v)
				}
				return err
			},
		},
		{
			Name: "DEL", Args: "domain [key value ...] [RULE name]", Summary: "Removes an override on all nodes. Returns 1 if there was one, otherwise 0.",
			Complexity: "O(N), N being the overrides", Since: rulesSince, Group: rulesGroup,
			Flags: session.Write | session.Rules | session.NoScript | session.NoMulti, Domain: 2, Fresh: session.Always, Run: runOverrideDel,
		},
		{
			Name: "LIST", Args: "domain [CURSOR n] [COUNT n]",
			Summary:    fmt.Sprintf("Returns [next cursor, rows] of the overrides of a domain, as GET does, %d unless COUNT says otherwise. The next cursor is 0 at the end.", overridesPage),
			Complexity: "O(N), N being the returned rows", Since: rulesSince, Group: rulesGroup, Flags: session.ReadOnly | session.Rules | session.NoScript, Domain: 2,
			Op: opOverrideList, Long: 3,
		},
	},
}

// overridesPage is the default COUNT of RL.OVERRIDE LIST.
const overridesPage = 100

// The words of RL.OVERRIDE.
const (
	wordLimit = "LIMIT"
	wordRule  = "RULE"
	wordEX    = "EX"
	wordPX    = "PX"
	wordCount = "COUNT"
)

// maxTTL bounds the time to live of an override.
const maxTTL = 10 * 365 * 24 * time.Hour

// parsePath parses the domain and the attributes of a line up to one of some words.
func parsePath(args [][]byte, words ...string) (v rules.Override, rest [][]byte, err error) {
	v.Domain = string(args[2])
	for rest = args[3:]; len(rest) > 0 && !isAny(rest[0], words); rest = rest[2:] {
		if len(rest) == 1 {
			return v, nil, resp.NewError("ERR", fmt.Sprintf("key without a value at argument %d", len(args)-1))
		}
		v.Path = append(v.Path, rules.Attribute{Key: string(rest[0]), Value: string(rest[1])})
	}
	return v, rest, nil
}

// parseOverride parses RL.OVERRIDE SET. It spells the attribute values as the rules of set require.
func parseOverride(set *rules.Set, args [][]byte) (*rules.Override, int64, error) {
	v, rest, err := parsePath(args, rules.Allow.String(), rules.Deny.String(), rules.Replace.String())
	if err != nil {
		return nil, 0, err
	}
	if len(rest) == 0 {
		return nil, 0, resp.NewError("ERR", "ALLOW, DENY or LIMIT limit must follow the attributes")
	}
	for v.Effect = rules.Allow; !word.Is(rest[0], v.Effect.String()); {
		v.Effect++
	}
	if rest = rest[1:]; v.Effect == rules.Replace {
		if len(rest) == 0 {
			return nil, 0, resp.NewError("ERR", "no limit follows LIMIT")
		}
		v.Limit, rest = string(rest[0]), rest[1:]
	}
	ttl := int64(0)
	for ; len(rest) > 0 && err == nil; rest = rest[2:] {
		switch option := rest[0]; {
		case !isAny(option, []string{wordRule, wordEX, wordPX, wordNote}):
			return nil, 0, unknownOption(option, wordRule, wordEX, wordPX, wordNote)
		case len(rest) == 1:
			return nil, 0, resp.NewError("ERR", "no value follows "+word.Excerpt(option))
		case word.Is(option, wordRule):
			v.Rule = string(rest[1])
		case word.Is(option, wordNote):
			v.Note = string(rest[1])
		case word.Is(option, wordEX):
			ttl, err = wholeFrom(wordEX, rest[1], 1, int64(maxTTL/time.Second))
			ttl *= 1000
		default:
			ttl, err = wholeFrom(wordPX, rest[1], 1, int64(maxTTL/time.Millisecond))
		}
	}
	if err != nil {
		return nil, 0, err
	}
	if v, err = set.Spell(v); err != nil {
		return nil, 0, resp.Expose(err)
	}
	o, err := rules.NewOverride(v)
	return o, ttl, resp.Expose(err)
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
// client's spelling, it is that one, because an earlier version may have stored other spellings.
// Otherwise the path is spelled as the rules of set require.
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
	v, ttl, err := parseOverride(s.Handler().Config().Rules.Current().Set, args)
	if err != nil {
		w.Error(err)
		return
	}
	var b engine.Batch
	stored.SetOverride(b.AddCall(0), v, ttl, s.User())
	s.Perform(&b, func(w *resp.Writer) {
		w.Answer(b.Calls[0].Answer)
		if first, _, _ := answer.Next(b.Calls[0].Answer); first.Kind != answer.Error {
			s.LogOverride("override set", v, "effect", v.Effect.String(), "limit", v.Limit, "ttl", time.Duration(ttl)*time.Millisecond)
		}
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
