package main

import (
	"context"
	"fmt"
	"maps"
	"strings"
)

// A ruleCost is a request by rules, and RL.ALL with the limits that it meets.
type ruleCost struct {
	name   string // in the table
	others int    // rules for other paths; with 0, no rule asks for a path
	limits int    // that the request meets, each with a counter of its own
}

// ruleCosts are the requests that are compared.
var ruleCosts = []ruleCost{
	{"one limit", 0, 1},
	{"one limit, one of 100 rules", 99, 1},
	{"three limits", 0, 3},
}

// text returns the rules.
func (c ruleCost) text() string {
	var b strings.Builder
	b.WriteString("domain: bench\nrules:\n")
	for i := range c.others {
		fmt.Fprintf(&b, "  - {name: other%d, match: {path: /other%d}, per: [client], limits: [1000000/h token]}\n", i, i)
	}
	for i := range c.limits {
		match := ""
		if c.others > 0 {
			match = "match: {path: /p}, "
		}
		fmt.Fprintf(&b, "  - {name: limit%d, %sper: [client], limits: [1000000/h token]}\n", i, match)
	}
	return b.String()
}

// check returns the command that asks by the rules.
func (c ruleCost) check() []string {
	command := []string{"RL.CHECK", "bench", "client", keyPlace}
	if c.others > 0 {
		command = append(command, "path", "/p")
	}
	return command
}

// all returns the command that names the limits. redis-benchmark gives each a key of its own.
func (c ruleCost) all() []string {
	command := []string{"RL.ALL"}
	for i := range c.limits {
		command = append(command, "TOKEN", fmt.Sprintf("limit%d:%s", i, keyPlace), "1000000", "1000000/h", "1")
	}
	return command
}

// limitsByName is the algorithm of RL.ALL.
const limitsByName algorithm = "all"

// costOfRules measures requests by rules beside RL.ALL with the same limits, on a server.
func costOfRules(ctx context.Context, e *env) error {
	s, err := e.start(ctx, limitsrv, "")
	if err != nil {
		return err
	}
	s.commands = maps.Clone(s.commands)
	for _, c := range ruleCosts {
		if err := s.offerLimits(c); err != nil {
			return err
		}
		for _, pipeline := range e.pipelines {
			l := usualLoad(byRules, pipeline, ruleKeys)
			named := l
			named.algorithm = limitsByName
			runs, err := e.alternate(ctx, e.duration, contender{s, l}, contender{s, named})
			if err != nil {
				return err
			}
			e.addRuleCost(c, pipeline, runs[0], runs[1])
		}
	}
	return nil
}

// offerLimits loads the rules, and sets both commands after each has been allowed once.
func (s *side) offerLimits(c ruleCost) error {
	if err := s.loadRules(c.others+c.limits, []string{"RL.RULES", "LOAD", c.text()}); err != nil {
		return err
	}
	s.commands[byRules], s.commands[limitsByName] = c.check(), c.all()
	for _, a := range []algorithm{byRules, limitsByName} {
		if _, err := s.askAllowed(s.commands[a]); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	return nil
}

// addRuleCost adds a row, and its figure of a goal.
func (e *env) addRuleCost(c ruleCost, pipeline int, check, all []sample) {
	e.add(ruleTable, pairRow(fmt.Sprintf("%s, pipeline %d", c.name, pipeline), check, all)...)
	e.recordRatio(fmt.Sprintf("server CPU of RL.CHECK over RL.ALL, %s, pipeline %d", c.name, pipeline),
		ratioOf(check, all, cpuMicros))
}
