package admin

import (
	"context"
	"sync"
	"time"

	"limitsrv/commands/rules"
	"limitsrv/commands/rules/live"
	"limitsrv/internal/beat"
)

// The counters of limits are read every ruleStep, and kept for an hour: ruleSteps readings.
const (
	ruleStep  = 5 * time.Minute
	ruleSteps = 12
	// maxRuleHours bounds the limits with readings: a few megabytes.
	maxRuleHours = 10_000
)

// A ruleCount is the number of requests that a limit let pass, denied, and would have denied if it
// were not a shadow limit.
type ruleCount struct {
	Allowed int64 `json:"allowed"`
	Denied  int64 `json:"denied"`
	Shadow  int64 `json:"shadow_denied"`
}

func ruleCountOf(n [live.Outcomes]int64) ruleCount {
	return ruleCount{
		Allowed: n[live.Allowed] + n[live.Near] + n[live.Grace],
		Denied:  n[live.Limited] + n[live.Blocked],
		Shadow:  n[live.ShadowLimited],
	}
}

// since returns the requests since an earlier count. Counters that began anew count from 0.
func (c ruleCount) since(old ruleCount) ruleCount {
	if c.Allowed < old.Allowed || c.Denied < old.Denied || c.Shadow < old.Shadow {
		return c
	}
	return ruleCount{c.Allowed - old.Allowed, c.Denied - old.Denied, c.Shadow - old.Shadow}
}

// A limitName names a limit over the loads of rules.
type limitName struct{ domain, name, tier string }

func limitNameOf(l *rules.Limit) limitName { return limitName{l.Rule.Domain.Name, l.Name, l.Tier} }

// ruleHours keep the counters of limits of the last hour. Concurrency: any goroutine may use
// them.
type ruleHours struct {
	mu     sync.Mutex
	steps  int // readings so far
	limits map[limitName]*[ruleSteps]ruleCount
}

func newRuleHours() *ruleHours { return &ruleHours{limits: make(map[limitName]*[ruleSteps]ruleCount)} }

// start reads the counters until the returned function is called.
func (r *ruleHours) start(current func() *live.State) (stop func()) {
	return beat.Start(func(ctx context.Context) {
		beat.Every(ctx, ruleStep, func() { r.read(current()) })
	})
}

// read reads the counters of all limits that were met, in place of those an hour ago. Limits
// that rules no longer have are forgotten.
func (r *ruleHours) read(s *live.State) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := r.steps % ruleSteps
	r.steps++
	kept := make(map[limitName]*[ruleSteps]ruleCount, len(r.limits))
	for l := range s.Set.Limits("", 0) {
		now := ruleCountOf(s.Counts(l.Index))
		if now == (ruleCount{}) || len(kept) == maxRuleHours {
			continue
		}
		name := limitNameOf(l)
		readings := r.limits[name]
		if readings == nil {
			readings = new([ruleSteps]ruleCount) // it was not met before the last reading
		}
		readings[at] = now
		kept[name] = readings
	}
	r.limits = kept
}

// lastHour returns the requests of now that a limit met in the last hour, or in up to ruleStep
// less; since the start if that is later, or for a limit beyond maxRuleHours. Requires: mu is
// held.
func (r *ruleHours) lastHour(l *rules.Limit, now ruleCount) ruleCount {
	readings := r.limits[limitNameOf(l)]
	if readings == nil || r.steps < ruleSteps {
		return now
	}
	return now.since(readings[r.steps%ruleSteps])
}
