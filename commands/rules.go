package commands

import (
	"bytes"
	"fmt"
	"math"

	"limitsrv/commands/limiters"
	"limitsrv/commands/resp"
	"limitsrv/commands/rules"
	"limitsrv/commands/rules/checks"
	"limitsrv/commands/rules/live"
	"limitsrv/commands/rules/source"
	"limitsrv/commands/rules/stored"
	"limitsrv/commands/session"
	"limitsrv/commands/spec"
	"limitsrv/commands/word"
	"limitsrv/engine"
)

const rulesSince = "0.2.0"

var rlRules = spec.Command{
	Name: "RL.RULES", Summary: "Commands about the rules.",
	Complexity: "See its subcommands", Since: rulesSince, Group: rulesGroup,
	Body: &spec.Container{Sub: []spec.Command{
		{
			Name: "LOAD", Args: "[EXPECT version] [DRYRUN] [NOTE text] yaml [yaml ...]",
			Summary: "Makes a text the rules of all nodes; its parts are joined. Returns [version, added, changed, removed, " +
				"restarted limits]; " +
				"a restarted one counts from 0. DRYRUN only compares. Mistakes in the text, and another version than EXPECT, are " +
				"errors and change nothing.",
			Complexity: "O(N), N being the bytes of the text", Since: rulesSince, Group: rulesGroup,
			Flags: spec.Write | spec.Rules | spec.AllKeys | spec.NoScript | spec.NoMulti | spec.Secret,
			Body:  session.Run(runRulesLoad),
		},
		{
			Name: "VERSION", Summary: "Returns [version, SHA-256 of the text, time of the load in ms since 1970, number of " +
				"rules, number of overrides].",
			Complexity: "O(N), N being the overrides", Since: rulesSince, Group: rulesGroup,
			Flags: spec.ReadOnly | spec.NoScript,
			Body: &spec.Ops{Parse: func(b *engine.Batch, _ [][]byte) error {
				stored.SetVersion(b.AddCall(0))
				return nil
			}},
		},
		{
			Name: "GET", Args: "[version]",
			Summary:    "Returns the text of the rules, or of an earlier version if it is kept; nil without rules.",
			Complexity: "O(N), N being the bytes of the text", Since: rulesSince, Group: rulesGroup,
			Long: 2, Flags: spec.ReadOnly | spec.Rules | spec.AllKeys | spec.NoScript, Body: &spec.Ops{Parse: opRulesGet},
		},
		{
			Name: "HISTORY", Summary: "Returns [version, SHA-256, time of the load in ms since 1970, user, note] of the last " +
				"loads, the newest first.",
			Complexity: "O(N), N being the versions", Since: rulesSince, Group: rulesGroup,
			Long: 2, Flags: spec.ReadOnly | spec.Rules | spec.AllKeys | spec.NoScript,
			Body: &spec.Ops{Parse: func(b *engine.Batch, _ [][]byte) error {
				stored.SetHistory(b.AddCall(0))
				return nil
			}},
		},
		{
			Name: "LIST", Args: "[domain] [CURSOR n]",
			Summary: fmt.Sprintf("Returns [next cursor, rows] of up to %d limits, of a domain or of all: [domain, name, "+
				"limit, mode, then how many requests this node has seen "+
				"allowed, limited, near, grace, shadow_limited, blocked, then its tier if it has one]. The next cursor is 0 at "+
				"the end.", rulesPage),
			Complexity: "O(N), N being the limits", Since: rulesSince, Group: rulesGroup,
			Flags: spec.ReadOnly | spec.AllKeys | spec.NoScript | spec.NoMulti,
			Long:  2, Body: session.Run(runRulesList),
		},
		{
			Name: "MATCH", Args: "domain attribute value [attribute value ...] [AND attribute value [attribute value ...] ...]",
			Summary: "Explains which rules, lists and overrides these attributes match, and why others don't: [descriptor, " +
				"rule, 1 or 0, reason]. Counts nothing.",
			Complexity: "O(N), N being the rules of the domain", Since: rulesSince, Group: rulesGroup,
			Flags: spec.ReadOnly | spec.NoScript | spec.NoMulti, Domain: 2,
			Body: session.Run(runRulesMatch),
		},
		{
			Name: "RESET", Args: "domain attribute value [attribute value ...] [AND attribute value [attribute value ...] ...]",
			Summary: "Resets the counters and opens the penalty boxes of these attributes on all nodes, whatever further " +
				"attributes requests have: of each rule that counts by some of them and by no others, " +
				"and of the descriptor at exactly these. Returns the number of counters and boxes that were reset.",
			Complexity: "O(N), N being the rules of the domain", Since: rulesSince, Group: rulesGroup,
			Flags: spec.Write | spec.Rules | spec.NoScript | spec.NoMulti, Domain: 2, Fresh: session.Always,
			Body: session.Run(runRulesReset),
		},
	}},
}

var rlPolicy = spec.Command{
	Name: "RL.POLICY",
	Args: "domain attribute value [attribute value ...] [AND attribute value [attribute value ...] ...]",
	Summary: "Returns the limits that apply to these attributes, without their counters: [name, quota, window in ms, " +
		"unit, algorithm, mode] of each. The unit is requests, amounts for a limit with weights, or concurrent-requests.",
	Complexity: "O(attributes, and rules that may match)", Since: rulesSince, Group: rulesGroup,
	Flags: spec.ReadOnly | spec.NoScript | spec.NoMulti, Domain: 1,
	Body: session.Run(runPolicy),
}

// The words of RL.RULES.
const (
	wordExpect = "EXPECT"
	wordDryRun = "DRYRUN"
	wordNote   = "NOTE"
	wordCursor = "CURSOR"
)

// parseRulesLoad parses RL.RULES LOAD.
func parseRulesLoad(args [][]byte) (l session.RulesLoad, err error) {
	l.Expect = -1
	rest := args[2:]
	for len(rest) > 1 {
		option := rest[0]
		switch {
		case word.Is(option, wordDryRun):
			l.DryRun, rest = true, rest[1:]
			continue
		case word.Is(option, wordExpect):
			if l.Expect, err = wholeFrom(wordExpect, rest[1], 0, math.MaxInt64); err != nil {
				return l, err
			}
		case word.Is(option, wordNote):
			if l.Note = string(rest[1]); len(l.Note) > stored.MaxNoteBytes {
				return l, resp.NewError("ERR", fmt.Sprintf("NOTE: at most %d bytes, got %d", stored.MaxNoteBytes, len(l.Note)))
			}
		default:
			return withText(l, rest), nil
		}
		if rest = rest[2:]; len(rest) == 0 {
			return l, resp.NewError("ERR", "no yaml follows "+word.Excerpt(option))
		}
	}
	return withText(l, rest), nil
}

// withText returns a load of the text in some parts.
func withText(l session.RulesLoad, parts [][]byte) session.RulesLoad {
	l.Files = []source.File{{Text: bytes.Join(parts, nil)}}
	return l
}

// wholeFrom parses an argument as a whole number within bounds.
func wholeFrom(name string, arg []byte, least, most int64) (int64, error) {
	n, ok := limiters.ParseWhole(arg)
	if !ok || n < least || n > most {
		return 0, resp.NewError("ERR",
			fmt.Sprintf("%s must be a whole number from %d to %d, got %s", name, least, most, word.Excerpt(arg)))
	}
	return n, nil
}

func runRulesLoad(s *session.Session, w *resp.Writer, args [][]byte) {
	l, err := parseRulesLoad(args)
	if err != nil {
		w.Error(err)
		return
	}
	l.User, l.Addr, l.Source = s.User(), s.Addr(), "command"
	h := s.Handler()
	var r session.RulesLoaded
	s.Defer(func(done func(error)) (func(), error) {
		h.Config().Spawn(func() {
			var err error
			r, err = h.LoadRules(h.Serving(), l)
			done(resp.Expose(err))
		})
		return nil, nil
	}, func(w *resp.Writer) {
		w.Array(5)
		for _, n := range []int{int(r.Version), r.Added, r.Changed, r.Removed, r.Restarted} {
			w.Int(int64(n))
		}
	})
}

func opRulesGet(b *engine.Batch, args [][]byte) error {
	version := int64(0)
	if len(args) > 2 {
		var err error
		if version, err = wholeFrom("version", args[2], 1, math.MaxInt64); err != nil {
			return err
		}
	}
	stored.SetText(b.AddCall(0), uint64(version))
	return nil
}

// rulesPage is the number of limits in an answer of RL.RULES LIST.
const rulesPage = 100

func runRulesList(s *session.Session, w *resp.Writer, args [][]byte) {
	domain, from, rest := "", int64(0), args[2:]
	if len(rest)%2 == 1 {
		domain, rest = string(rest[0]), rest[1:]
	}
	if len(rest) > 0 {
		if !word.Is(rest[0], wordCursor) {
			w.Error(errSyntax)
			return
		}
		var err error
		if from, err = wholeFrom("cursor", rest[1], 0, math.MaxInt32); err != nil {
			w.Error(err)
			return
		}
	}
	s.CurrentRules(func(w *resp.Writer, st *live.State) {
		var page []int
		next := 0
		for l := range st.Set.Limits(domain, int(from)) {
			if len(page) == rulesPage {
				next = l.Index
				break
			}
			page = append(page, l.Index)
		}
		w.Array(2)
		w.Int(int64(next))
		w.Array(len(page))
		for _, i := range page {
			tellLimit(w, st, i)
		}
	})
}

// tellLimit writes a row of RL.RULES LIST.
func tellLimit(w *resp.Writer, st *live.State, index int) {
	l, counts := st.Set.Limit(index), st.Counts(index)
	parts := 4 + len(counts)
	if l.Tier != "" {
		parts++
	}
	w.Array(parts)
	w.BulkString(l.Rule.Domain.Name)
	w.BulkString(l.Name)
	w.BulkString(l.String())
	w.BulkString(st.Mode(l.Mode).String())
	for _, n := range counts {
		w.Int(n)
	}
	if l.Tier != "" {
		w.BulkString(l.Tier)
	}
}

func runRulesMatch(s *session.Session, w *resp.Writer, args [][]byte) {
	withAttributes(s, w, args[1:], func(w *resp.Writer, st *live.State, q *checks.Request) error {
		var r rules.Result
		if err := st.Set.Match(&q.Request, st.Overrides, s.Handler().Config().Clock.Now(), &r); err != nil {
			return err
		}
		all := r.Explain(&q.Request)
		w.Array(len(all))
		for i := range all {
			w.Array(4)
			w.Int(int64(all[i].Descriptor))
			w.BulkString(all[i].Rule)
			w.Int(int64(oneIf(all[i].Matches)))
			w.BulkString(all[i].Reason)
		}
		return nil
	})
}

func runRulesReset(s *session.Session, w *resp.Writer, args [][]byte) {
	var q checks.Request
	_, err := attributes(&q, args[1:], nil)
	var b *engine.Batch
	if err == nil {
		config := s.Handler().Config()
		b, err = session.ResetBatch(config.Rules.Current(), config.Clock.Now(), &q.Request)
	}
	if err != nil {
		w.Error(err)
		return
	}
	s.Perform(b, func(w *resp.Writer) { w.Int(s.EndReset(&q.Request, b)) })
}

// withAttributes lets a command reply by the rules of this node to the attributes of a line.
// The domain is the second word of the line. reply writes nothing if it returns an error.
func withAttributes(s *session.Session, w *resp.Writer, line [][]byte,
	reply func(w *resp.Writer, st *live.State, q *checks.Request) error) {
	var q checks.Request
	if _, err := attributes(&q, line, nil); err != nil {
		w.Error(err)
		return
	}
	s.CurrentRules(func(w *resp.Writer, st *live.State) {
		if err := reply(w, st, &q); err != nil {
			w.Error(resp.Expose(err))
		}
	})
}
