package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// An experiment is a part of the benchmark. Its steps run in order, each on newly started
// servers, and add rows to the report.
type experiment struct {
	name  string // for -only
	about string // for the usage
	steps []step
}

type step func(context.Context, *env) error

// experiments are all experiments, in the order of the report.
var experiments = []experiment{
	{"throughput", "speed and latency by load", []step{throughput, resets, besideRedisCell}},
	{"dropin", "commands and Lua scripts unchanged", []step{dropins}},
	{"growth", "memory per key, pauses", []step{growth}},
	{"durability", "speed by fsync", []step{durability}},
	{"snapshot", "pauses, disk, restarts", []step{snapshots}},
	{"rules", "checks by rules, also while rules are loaded", []step{costOfRules, ruleLoads}},
	{"budgets", "a gateway of language models that reserves, and the cost of reservations",
		[]step{gateways, costOfReservations}},
	{hugeName, "memory, pauses and restarts of one large server, and its speed beside Redis; needs 22 GB, or 16 GB for " +
		"one server after the other; only if selected",
		[]step{hugeMemory, hundredMillion, hugeSpeed}},
	{"cluster", "speed of three nodes", []step{cluster}},
	{failoverName, "of three servers, beside Redis with Sentinel", []step{failover}},
	{"siege", "many connections, key floods, hostile clients", []step{
		idleConnections, manyConnections, slowReaders, longPipelines, keyFloods, attacks,
	}},
	{"hostile", "endless scripts beside other clients", []step{hostiles}},
	{profileName, "no figures: a processor profile of limitsrv for the compiler, see -profile; only if selected",
		[]step{profiles}},
}

// failoverName is the only experiment that is not part of -quick, because its duration is
// fixed.
const failoverName = "failover"

func experimentNames() (names list[string]) {
	for _, x := range experiments {
		names = append(names, x.name)
	}
	return names
}

// experimentsWithout returns the names of all experiments except some.
func experimentsWithout(some ...string) list[string] {
	return slices.DeleteFunc(experimentNames(), func(name string) bool { return slices.Contains(some, name) })
}

// usageOfExperiments describes the experiments, each in a line.
func usageOfExperiments() string {
	var lines []string
	for _, x := range experiments {
		lines = append(lines, fmt.Sprintf("%s (%s)", x.name, x.about))
	}
	return strings.Join(lines, "\n")
}

// runAll runs the experiments selected by the options.
func (e *env) runAll(ctx context.Context) error {
	defer func() {
		if e.disk != nil {
			e.disk.close()
		}
	}()
	for _, x := range experiments {
		if !slices.Contains(e.parts, x.name) {
			continue
		}
		for _, step := range x.steps {
			err := step(ctx, e)
			e.stop()
			if err != nil {
				return fmt.Errorf("%s: %w", x.name, err)
			}
		}
	}
	return nil
}
