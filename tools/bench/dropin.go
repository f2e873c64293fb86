package main

import (
	"context"
	"embed"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// A dropin is a command or a script that both sides run unchanged.
type dropin struct {
	name    string // of a script: its file in scripts/dropin
	keys    []string
	args    []string
	counter bool // a script that counts in strings, without a time of its own
}

//go:embed scripts/dropin
var dropinScripts embed.FS

// Two keys of a request have numbers of their own, since redis-benchmark substitutes a
// random number for each place.
const (
	dropinKey   = keyPlace
	dropinOther = "rate:other:__rand_int__"
)

// plainCommands are whole commands. GET finds the keys of SET.
var plainCommands = []dropin{
	{name: "SET", keys: []string{dropinKey}, args: []string{"0123456789abcdef"}},
	{name: "GET", keys: []string{dropinKey}},
	{name: "INCR", keys: []string{dropinOther}},
}

// corpus has scripts in the forms that limiter libraries use. Their limits are wide enough
// that requests are allowed, and their windows outlast the run.
var corpus = []dropin{
	{"fixed_window", []string{dropinKey}, []string{"1000000", "3600000"}, true},
	{"points", []string{dropinKey}, []string{"1", "3600"}, true},
	{"checked_window", []string{dropinKey}, []string{"1000000", "3600"}, true},
	{"sliding_counter", []string{dropinKey, dropinOther}, []string{"1000000", "3600000", "1700000001000"}, true},
	{"penalty", []string{dropinKey, dropinOther}, []string{"1000000", "3600", "60"}, true},
	{"windows", []string{dropinKey, dropinOther, "rate:third:__rand_int__"},
		[]string{"1000000", "60", "1000000", "3600", "1000000", "86400"}, true},
	{"derived_key", []string{dropinKey}, []string{"1000000", "3600"}, true},
	{"bucket_strings", []string{dropinKey, dropinOther}, []string{"1", "1000000", "1700000000"}, false},
	{"gcra", []string{dropinKey}, []string{"1000000", "0.5"}, false},
	{"bucket_hash", []string{dropinKey}, []string{"1000000", "0.001", "1700000000000"}, false},
	{"sliding_log", []string{dropinKey}, []string{"100", "3600000"}, false},
	{"release", []string{dropinKey}, []string{"a token", "3600"}, false},
}

// algorithm is the load's name for it.
func (d dropin) algorithm() algorithm { return algorithm(d.name) }

// isCommand reports whether it is a whole command and no script.
func (d dropin) isCommand() bool {
	return slices.ContainsFunc(plainCommands, func(p dropin) bool { return p.name == d.name })
}

// command returns the command for a side, after loading a script there.
func (d dropin) command(s *side) ([]string, error) {
	if d.isCommand() {
		return slices.Concat([]string{d.name}, d.keys, d.args), nil
	}
	source, err := dropinScripts.ReadFile("scripts/dropin/" + d.name + ".lua")
	if err != nil {
		return nil, err
	}
	sha, err := s.ask("SCRIPT", "LOAD", string(source))
	if err != nil {
		return nil, fmt.Errorf("%s: load %s: %w", s.name, d.name, err)
	}
	return slices.Concat([]string{"EVALSHA", fmt.Sprint(sha), fmt.Sprint(len(d.keys))}, d.keys, d.args), nil
}

// dropins measures commands and scripts on both sides.
func dropins(ctx context.Context, e *env) error {
	var sides [2]*side
	for i, p := range []product{limitsrv, redisLua} {
		s, err := e.start(ctx, p, "")
		if err != nil {
			return err
		}
		s.commands = maps.Clone(s.commands)
		sides[i] = s
	}
	for _, d := range slices.Concat(plainCommands, corpus) {
		if err := d.offer(sides); err != nil {
			return err
		}
	}
	var results []dropinResult
	for _, r := range e.dropinRuns() {
		e.say("%s", r)
		if err := r.measure(ctx, e, sides); err != nil {
			return fmt.Errorf("%s: %w", r, err)
		}
		results = append(results, r)
	}
	e.addDropins(results)
	return nil
}

// A dropinResult is a run of a command or script, and its samples.
type dropinResult struct {
	dropin
	pipeline, keys int
	ours, theirs   []sample
}

// fewKeys is a number of keys that the processor's caches hold.
const fewKeys = 500

// dropinRuns returns the runs of all commands and scripts, without samples: deep pipelines
// over few and over many keys, and the first script without a pipeline.
func (o options) dropinRuns() (all []dropinResult) {
	for _, d := range plainCommands {
		for _, pipeline := range []int{1, 64} {
			all = append(all, dropinResult{dropin: d, pipeline: pipeline, keys: o.keys})
		}
	}
	for _, keys := range []int{fewKeys, o.keys} {
		for _, d := range corpus {
			all = append(all, dropinResult{dropin: d, pipeline: 64, keys: keys})
		}
	}
	return append(all, dropinResult{dropin: corpus[0], pipeline: 1, keys: fewKeys})
}

// String names the run in the table.
func (r dropinResult) String() string {
	return fmt.Sprintf("%s, pipeline %d, %s keys", strings.ReplaceAll(r.name, "_", " "), r.pipeline,
		countText(float64(r.keys)))
}

// measure empties both sides, makes the keys and measures the run.
func (r *dropinResult) measure(ctx context.Context, e *env, sides [2]*side) error {
	l := usualLoad(r.algorithm(), r.pipeline, r.keys)
	fill := l
	if r.name == "GET" {
		fill.algorithm = "SET"
	}
	for _, s := range sides {
		if err := s.refill(ctx, fill); err != nil {
			return err
		}
	}
	runs, err := e.alternate(ctx, e.duration, contender{sides[0], l}, contender{sides[1], l})
	if err == nil {
		r.ours, r.theirs = runs[0], runs[1]
	}
	return err
}

// addDropins adds the rows and the figures of goals.
func (e *env) addDropins(results []dropinResult) {
	costs := map[int][]float64{} // by the number of keys
	dearest := map[int]float64{} // of counters
	for _, r := range results {
		e.add(dropinTable, pairRow(r.String(), r.ours, r.theirs)...)
		speed, cost := speedup(r.ours, r.theirs), ratioOf(r.ours, r.theirs, cpuMicros)
		switch {
		case r.isCommand():
			e.recordRatio(fmt.Sprintf("%s per second, pipeline %d", r.name, r.pipeline), speed)
		case r.pipeline == 1:
			e.recordRatio("scripts per second, pipeline 1", speed)
			e.recordRatio("server CPU per script, pipeline 1", cost)
		default:
			costs[r.keys] = append(costs[r.keys], cost.median)
			if r.counter {
				dearest[r.keys] = max(dearest[r.keys], cost.median)
			}
		}
	}
	for keys, all := range costs {
		over := countText(float64(keys)) + " keys"
		mean := geometricMean(all)
		e.recordFigure("server CPU per script, mean of all, "+over, mean, fmt.Sprintf("%.2fx", mean))
		e.recordFigure("server CPU per script, dearest counter, "+over, dearest[keys], fmt.Sprintf("%.2fx", dearest[keys]))
	}
}

// offer adds the command to both sides, and checks that they answer it alike.
func (d dropin) offer(sides [2]*side) error {
	var replies [2]string
	for i, s := range sides {
		command, err := d.command(s)
		if err != nil {
			return err
		}
		s.commands[d.algorithm()] = command
		if _, err := s.ask("FLUSHALL"); err != nil {
			return err
		}
		reply, err := s.ask(command...)
		if err != nil {
			return fmt.Errorf("%s: %s: %w", s.name, d.name, err)
		}
		replies[i] = fmt.Sprint(reply)
	}
	if replies[0] != replies[1] {
		return fmt.Errorf("%s: %s answered %s, %s %s", d.name, sides[0].name, replies[0], sides[1].name, replies[1])
	}
	return nil
}

// geometricMean is the mean of ratios.
func geometricMean(all []float64) float64 {
	sum := 0.0
	for _, v := range all {
		sum += math.Log(v)
	}
	return math.Exp(sum / float64(len(all)))
}
