package main

import (
	"context"
	"maps"
)

// resettingBucket is a token bucket that is full again a tenth of a second after a request, so
// that each of its keys has reset when it is asked again: the usual case of a rate limiter.
const resettingBucket algorithm = "resetting token"

// resettingCommand has keys of its own, which no other bucket uses.
var resettingCommand = []string{"RL.TOKEN", "resets:" + keyPlace, "100", "10"}

// resetGoal is the name of the goal of resets.
const resetGoal = "server CPU per decision, keys that have reset over others, pipeline 64"

// resets measures decisions on keys that have reset since their last request, beside those on
// keys that have not, on a server.
func resets(ctx context.Context, e *env) error {
	s, err := e.start(ctx, limitsrv, "")
	if err != nil {
		return err
	}
	s.commands = maps.Clone(s.commands)
	s.commands[resettingBucket] = resettingCommand
	others := usualLoad(tokenBucket, 64, e.keys)
	if err := s.prepare(ctx, others); err != nil {
		return err
	}
	resetting := others
	resetting.algorithm = resettingBucket
	// else the first rounds would measure new keys
	if _, err := redisBenchmark(ctx, s, resetting, 2*resetting.keys); err != nil {
		return err
	}
	runs, err := e.alternate(ctx, e.duration, contender{s, resetting}, contender{s, others})
	if err != nil {
		return err
	}
	if e.keys == goalKeys {
		e.addResets(runs[0], runs[1])
	}
	return nil
}

// addResets records the figure of the goal.
func (e *env) addResets(resetting, others []sample) {
	e.recordRatio(resetGoal, ratioOf(resetting, others, cpuMicros))
}
