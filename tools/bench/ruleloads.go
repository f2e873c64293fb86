package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"limitsrv/internal/respclient"
)

// Requests by rules while rules are loaded: eight connections with pipelines of 16 at a
// fixed rate, as a rules file is written anew again and again.
const (
	byRules          algorithm = "rules"
	ruleConnections            = 8
	rulePipeline               = 16
	ruleKeys                   = 100_000
	ruleLoadEvery              = 200 * time.Millisecond
	ruleDecisions              = 100_000 // per second
	ruleReplyLines             = 10      // of RL.CHECK
	ruleMeasuredLoad           = 10_000  // rules of the largest text
	rulePartBytes              = 32 << 10
)

// checkCommand asks by two rules: the first of ruleText, and the rule for all requests.
var checkCommand = []string{"RL.CHECK", "bench", "client", keyPlace, "path", "/p0"}

// ruleText returns rules, each for a path, and a rule for all requests, with a limit that
// is never reached. Two texts with an even and an odd number differ in the limit of each
// path.
func ruleText(rules, number int) string {
	var b strings.Builder
	b.WriteString("domain: bench\nrules:\n  - {name: all, per: [], limits: [1000000000000/3650d fixed]}\n")
	for i := range rules {
		fmt.Fprintf(&b, "  - {name: path%d, match: {path: /p%d}, per: [client], limits: [%d/h]}\n", i, i, 1_000_000+number%2)
	}
	return b.String()
}

// ruleLoads measures requests by rules without loads, and with loads of small and of large
// texts. All answers must be counted by the server.
func ruleLoads(ctx context.Context, e *env) error {
	s, err := e.start(ctx, limitsrv, "", "--max-query-bytes", "16mb")
	if err != nil {
		return err
	}
	s.commands, s.replyLines = maps.Clone(s.commands), maps.Clone(s.replyLines)
	s.commands[byRules], s.replyLines[byRules] = checkCommand, ruleReplyLines
	for _, rules := range []int{100, ruleMeasuredLoad} {
		texts := [...][]string{loadCommand(rules, 0), loadCommand(rules, 1)} // built before, because that takes a processor
		if err := s.loadRules(rules, texts[0]); err != nil {
			return err
		}
		calm, _, err := e.askByRules(ctx, s, func(ctx context.Context) (int, error) { return 0, sleep(ctx, e.watch) })
		if err != nil {
			return err
		}
		during, loads, err := e.askByRules(ctx, s, func(ctx context.Context) (loads int, err error) {
			for end := time.Now().Add(e.watch); err == nil && time.Now().Before(end); loads++ {
				if err = sleep(ctx, ruleLoadEvery); err == nil {
					err = s.loadRules(rules, texts[(loads+1)%2])
				}
			}
			return loads, err
		})
		if err != nil {
			return err
		}
		worst := func(l latency) string { return millisTexts(l.p50, l.p99, l.p999, l.worst) }
		e.addStress(fmt.Sprintf("%d loads of %s rules beside %s checks/s: p50 / p99 / p99.9 / worst", loads,
			countText(float64(rules)), countText(e.ruleRate())),
			check{"none lost", true}, fmt.Sprintf("%s; without loads %s", worst(during), worst(calm)), "")
	}
	return nil
}

// ruleRate is the number of checks per second.
func (e *env) ruleRate() float64 {
	if e.quick {
		return float64(e.rate)
	}
	return ruleDecisions
}

// loadCommand is a command that loads a text of so many rules, in parts.
func loadCommand(rules, number int) []string {
	args := []string{"RL.RULES", "LOAD"}
	for part := range slices.Chunk([]byte(ruleText(rules, number)), rulePartBytes) {
		args = append(args, string(part))
	}
	return args
}

// loadRules loads a text of so many rules by a loadCommand.
func (s *side) loadRules(rules int, command []string) error {
	_, err := s.ask(command...)
	var refused respclient.Error
	if errors.As(err, &refused) { // err has the text too
		return fmt.Errorf("the load of %d rules: %w", rules, refused)
	}
	return err
}

// askByRules returns the latency of checks during work, and its result. It is an error if the
// server has not counted each answered check.
func (e *env) askByRules(ctx context.Context, s *side,
	work func(context.Context) (int, error)) (seen latency, n int, err error) {
	before, err := s.counted()
	if err != nil {
		return seen, 0, err
	}
	var (
		w watcher
		l = load{algorithm: byRules, connections: ruleConnections, pipeline: rulePipeline, keys: ruleKeys, rate: e.ruleRate()}
	)
	w.open()
	err = alongside(ctx, func() (err error) { n, err = work(ctx); return err },
		func(ctx context.Context) error { return s.runLoad(ctx, l, &w) })
	if err != nil {
		return seen, n, err
	}
	after, err := s.counted()
	if answered := w.outcome(time.Second).decisions; err == nil && after-before != answered {
		err = fmt.Errorf("%d checks were answered, and %d counted", answered, after-before)
	}
	return w.latency(), n, err
}

// counted returns the number of checks that the rule for all requests has counted.
func (s *side) counted() (int64, error) {
	reply, err := s.ask("RL.CHECK", "bench", "any", "one", "PEEK")
	if err != nil {
		return 0, err
	}
	fields, ok := reply.([]any)
	if !ok || len(fields) < 3 {
		return 0, fmt.Errorf("RL.CHECK answered %v", reply)
	}
	limit, _ := fields[1].(int64)
	left, _ := fields[2].(int64)
	return limit - left, nil
}
