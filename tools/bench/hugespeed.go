package main

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"time"
)

// hugeSpeedGoal is the goal of the decisions per second over hugeGoalKeys keys.
var hugeSpeedGoal = goal{order: atLeast, bound: 8, unit: "x"}

// The memory that hugeSpeed requires, in bytes: for each key, more than either server was
// seen to hold resident, and for the rest of the machine.
const (
	hugeOurBytes   = 60
	hugeTheirBytes = 150
	hugeSpareBytes = 1_000_000_000
)

const (
	// hugePipeline is the pipeline of hugeSpeed and of its fills.
	hugePipeline = 64
	// hugeFillWait bounds the time to fill one server.
	hugeFillWait = 20 * time.Minute
	// plainSet is the algorithm of Redis' fill: the command that stores the state of a new key
	// in the script of lastingGCRA.
	plainSet algorithm = "SET"
)

// A hugeSpeedResult is the measurements of a side.
type hugeSpeedResult struct {
	filled  stage
	samples []sample
}

// hugeMemory checks that there is enough free memory for hugeSpeed.
func hugeMemory(_ context.Context, e *env) error {
	_, err := e.hugeTogether()
	return err
}

// hugeTogether reports whether both servers of hugeSpeed can run at the same time. It returns
// an error if there is not enough free memory even for one at a time.
func (e *env) hugeTogether() (bool, error) {
	available, err := memoryIn("/proc/meminfo", "MemAvailable:")
	if err != nil {
		return false, err
	}
	return hugeFits(available, int64(e.hugeKeys))
}

// hugeFits is hugeTogether for the bytes that are available.
func hugeFits(available, keys int64) (together bool, err error) {
	alone := hugeSpareBytes + keys*hugeTheirBytes
	both := alone + keys*hugeOurBytes
	if available < alone {
		return false,
			fmt.Errorf("%s keys need %s of free memory, or %s for both servers at a time, and %s are available; see -huge-keys",
				countText(float64(keys)), bytesText(alone), bytesText(both), bytesText(available))
	}
	return available >= both, nil
}

// hugeSpeed compares limitsrv with Redis over many keys that stay live, both in memory: in
// alternating rounds, or each server in turn if both do not fit.
func hugeSpeed(ctx context.Context, e *env) error {
	together, err := e.hugeTogether()
	if err != nil {
		return err
	}
	l := usualLoad(lastingGCRA, hugePipeline, e.hugeKeys)
	if !together {
		ours, theirs, err := inTurn(e, func(p product) (hugeSpeedResult, error) {
			all, err := e.measureHuge(ctx, l, p)
			if err != nil {
				return hugeSpeedResult{}, err
			}
			return all[0], nil
		})
		if err == nil {
			e.addHugeSpeed(l, "one server after the other", ours, theirs)
		}
		return err
	}
	all, err := e.measureHuge(ctx, l, limitsrv, redisLua)
	if err == nil {
		e.addHugeSpeed(l, "in alternating rounds", all[0], all[1])
	}
	return err
}

// measureHuge fills servers and measures a load on them, once per round each.
func (e *env) measureHuge(ctx context.Context, l load, products ...product) ([]hugeSpeedResult, error) {
	var (
		all        []hugeSpeedResult
		contenders []contender
	)
	for _, p := range products {
		e.say("%s keys: fill %s in memory", countText(float64(l.keys)), p)
		s, err := e.start(ctx, p, "")
		if err != nil {
			return nil, err
		}
		filled, err := s.fillHuge(ctx, l, p)
		if err != nil {
			return nil, fmt.Errorf("fill: %w", err)
		}
		all = append(all, hugeSpeedResult{filled: filled})
		contenders = append(contenders, contender{s, l})
	}
	e.say("%s keys: %s", countText(float64(l.keys)), l)
	runs, err := e.alternate(ctx, e.duration, contenders...)
	if err != nil {
		return nil, err
	}
	for i, samples := range runs {
		all[i].samples = samples
	}
	return all, nil
}

// fillHuge makes every key, as after a decision, and measures the memory. Redis stores the
// states by plain SET, because its script would take a quarter of an hour for them.
func (s *side) fillHuge(ctx context.Context, l load, p product) (stage, error) {
	empty, err := s.residentBytes()
	if err != nil {
		return stage{}, err
	}
	l.connections = fillConnections
	decided := l.algorithm
	if p == redisLua {
		l.algorithm = plainSet
		s.commands = maps.Clone(s.commands)
		full := time.Now().Add(lastingInterval)
		s.commands[plainSet] = []string{"SET", keyPlace, fmt.Sprint(full.UnixMicro()), "PX",
			fmt.Sprint(lastingInterval.Milliseconds())}
		s.replyLines[plainSet] = 1
	}
	o, err := s.fillBy(ctx, l, hugeFillWait)
	if err != nil {
		return stage{}, err
	}
	if err := s.verifySecond(s.commands[decided]); err != nil {
		return stage{}, err
	}
	filled, err := readMemory(s, empty)
	filled.keys, filled.growthPerSec = l.keys, o.perSecond
	return filled, err
}

// verifySecond requests a decision of the first key, and returns an error if that is not
// its second token.
func (s *side) verifySecond(command []string) error {
	first := keyPrefix + strings.Repeat("0", keyDigits)
	var args []string
	for _, arg := range command {
		args = append(args, strings.ReplaceAll(arg, keyPlace, first))
	}
	fields, err := s.askAllowed(args)
	if err != nil {
		return err
	}
	// Redis replies allowed and remaining, limitsrv has the limit between them.
	if remaining := fields[min(2, len(fields)-1)]; remaining != int64(lastingCapacity-2) {
		return fmt.Errorf("%s: a filled key was answered %v, not %d remaining", s.name, fields, lastingCapacity-2)
	}
	return nil
}

// addHugeSpeed adds the rows of speed and memory. Rows with fewer keys than the goal have
// no verdict.
func (e *env) addHugeSpeed(l load, how string, ours, theirs hugeSpeedResult) {
	keys := countText(float64(l.keys)) + " keys"
	speed := speedup(ours.samples, theirs.samples)
	c := hugeSpeedGoal.check(speed.median)
	verdict := c.verdict()
	if l.keys < hugeGoalKeys {
		verdict = ""
	}
	e.add(hugePairTable, append(pairRow(fmt.Sprintf("%s, %s, %s", l, keys, how), ours.samples, theirs.samples), c.asked,
		verdict)...)
	a, b := ours.filled, theirs.filled
	e.add(hugePairTable, "resident bytes per key, "+keys, quotientText(a.growthPerSec, b.growthPerSec),
		quotientText(a.bytesPerKey, b.bytesPerKey),
		a.text()+" by the load's command", b.text()+" by SET", "", "")
}
