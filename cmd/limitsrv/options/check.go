package options

import (
	"errors"
	"fmt"
	"math"
	"time"

	"limitsrv/commands/rules/live"
)

// check returns all violations of ranges and of dependencies between options. Elements
// may be nil.
func (o *Options) check() []error {
	all := o.checkCluster()
	if !o.servesRedis() && o.RLS == "" && o.RLSHTTP == "" {
		all = append(all, errors.New("--listen is empty, and no client could connect: give --listen, --tls-listen or "+
			"--unixsocket for Redis clients, --rls for gRPC, or --rls-http"))
	}
	if o.TestClock && o.Data != "" {
		all = append(all,
			errors.New("--test-clock and --data exclude each other: stored state must not have timestamps of a test clock"))
	}
	all = append(all, o.checkTLS()...)
	all = append(all, o.checkRanges()...)
	all = append(all, o.checkAdmin()...)
	all = append(all, o.checkRLS()...)
	all = append(all, o.checkEvents()...)
	return append(all, o.requireProtection()...)
}

// checkRanges checks numbers and durations against their bounds.
func (o *Options) checkRanges() (all []error) {
	for _, r := range []struct {
		name         string
		value, least int64
		most         int64
	}{
		{"snapshot-log-bytes", int64(o.SnapshotLogBytes), minSnapshotLogBytes, math.MaxInt64},
		{"max-clients", int64(o.MaxClients), 1, MostClients},
		{"io-threads", int64(o.IOThreads), -1, mostIOThreads},
		{"script-steps", o.ScriptSteps, 1, mostScriptSteps},
		{"rules-metric-series", int64(o.RulesMetricSeries), 0, live.MaxSeries},
		{"max-args", int64(o.MaxArgs), 1, math.MaxInt32},
		{"max-arg-bytes", int64(o.MaxArgBytes), 1, math.MaxInt32},
		{"max-query-bytes", int64(o.MaxQueryBytes), 1, math.MaxInt32},
		{"max-output-bytes", int64(o.MaxOutputBytes), 1, math.MaxInt32},
	} {
		if r.value < r.least || r.value > r.most {
			all = append(all, fmt.Errorf("--%s must be %d to %d, got %d", r.name, r.least, r.most, r.value))
		}
	}
	for _, r := range []struct {
		name         string
		value, least time.Duration
	}{
		{"idle-timeout", o.IdleTimeout, 0},
		{"write-timeout", o.WriteTimeout, time.Millisecond},
		{"drain", o.Drain, 0},
		{"lock-wait", o.LockWait, 0},
		{"election-timeout", o.ElectionTimeout, 20 * time.Millisecond},
		{"dead-after", o.DeadAfter, 0},
	} {
		if r.value < r.least {
			all = append(all, fmt.Errorf("--%s must be %v or more, got %v", r.name, r.least, r.value))
		}
	}
	return all
}

// minSnapshotLogBytes prevents back-to-back snapshots.
const minSnapshotLogBytes = 1 << 20

// Bounds beyond the needs of any machine.
const (
	MostClients   = 1_000_000
	mostIOThreads = 256
	// mostScriptSteps takes a minute or so, and the node decides nothing else meanwhile.
	mostScriptSteps = 1_000_000_000
)
