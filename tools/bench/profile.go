package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/google/pprof/profile"
	"golang.org/x/sync/errgroup"
)

// profileName is the experiment that only -only selects: it measures nothing, but writes
// limitsrv's profile, which the compiler uses to optimise it.
const profileName = "profile"

// profiles collects a processor profile of limitsrv under each kind of load, on one node and on
// three, and merges them: each load counts by the processor time that it takes.
func profiles(ctx context.Context, e *env) error {
	e.profiling = true
	defer func() { e.profiling = false }()
	var all []*profile.Profile
	for _, collect := range []func(context.Context) ([]*profile.Profile, error){e.profileOne, e.profileThree} {
		some, err := collect(ctx)
		e.stop()
		if err != nil {
			return err
		}
		all = append(all, some...)
	}
	merged, err := profile.Merge(all)
	if err != nil {
		return err
	}
	reduce(merged)
	e.say("%d profiles, %v of processor time", len(all), processorTime(merged).Round(time.Second))
	if e.profile == "" {
		return nil
	}
	file, err := os.Create(e.profile)
	if err != nil {
		return err
	}
	defer file.Close()
	return merged.Write(file)
}

// profileOne profiles one node with a log on disk.
func (e *env) profileOne(ctx context.Context) (all []*profile.Profile, err error) {
	dir, err := e.state()
	if err != nil {
		return nil, err
	}
	s, err := e.start(ctx, limitsrv, "", "--data", dir)
	if err != nil {
		return nil, err
	}
	if s.commands, err = e.profiledCommands(s); err != nil {
		return nil, err
	}
	loads := slices.DeleteFunc(e.loads(), func(l load) bool { return l.distribution != uniform || l.connections != 50 })
	dropins := slices.Concat(plainCommands, corpus)
	if e.quick {
		dropins = dropins[:1]
	}
	for _, d := range append(dropins, dropin{name: string(byRules)}) {
		loads = append(loads, usualLoad(d.algorithm(), slices.Max(e.pipelines), e.keys))
	}
	return e.profileLoads(ctx, s, loads)
}

// profiledCommands returns the commands of loads, by algorithm: also plain commands, scripts,
// and requests by rules. The rules are loaded.
func (e *env) profiledCommands(s *side) (map[algorithm][]string, error) {
	commands := map[algorithm][]string{byRules: checkCommand}
	for _, a := range e.algorithms {
		commands[a] = s.commands[a]
	}
	for _, d := range slices.Concat(plainCommands, corpus) {
		command, err := d.command(s)
		if err != nil {
			return nil, err
		}
		commands[d.algorithm()] = command
	}
	const rules = 100
	return commands, s.loadRules(rules, loadCommand(rules, 0))
}

// profileThree profiles the nodes of a cluster.
func (e *env) profileThree(ctx context.Context) (all []*profile.Profile, err error) {
	d, err := e.startCluster(ctx, "three nodes")
	if err != nil {
		return nil, err
	}
	for _, c := range clusterLoads(e.keys, e.arrivals) {
		some, err := e.profileLoads(ctx, d.asked(c.node), []load{c.load})
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// profileLoads profiles all nodes of a side under each load, with most of its keys there.
func (e *env) profileLoads(ctx context.Context, s *side, loads []load) (all []*profile.Profile, err error) {
	seconds := max(1, int(e.duration.Seconds()))
	lasting := time.Duration(seconds)*time.Second + time.Second
	filled := algorithm("")
	for _, l := range loads {
		e.say("profile: %s", l)
		c := contender{s, l}
		if l.algorithm != filled && l.algorithm != "GET" { // which finds the keys of SET
			if err := s.refill(ctx, l); err != nil {
				return nil, err
			}
		}
		filled = l.algorithm
		warm, err := e.run(ctx, c, time.Second, 1)
		if err != nil {
			return nil, err
		}
		group, ctx := errgroup.WithContext(ctx)
		group.Go(func() error {
			_, err := e.run(ctx, c, lasting, warm.perSecond)
			return err
		})
		some := make([]*profile.Profile, len(s.nodes))
		for i, node := range s.nodes {
			group.Go(func() (err error) {
				some[i], err = node.profile(ctx, seconds)
				return err
			})
		}
		if err := group.Wait(); err != nil {
			return nil, fmt.Errorf("%s: %w", l, err)
		}
		all = append(all, some...)
	}
	return all, nil
}

// profile returns the processor profile of the next seconds. Requires: the process was launched
// while env.profiling.
func (p *process) profile(ctx context.Context, seconds int) (*profile.Profile, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet,
		fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%d", p.admin, seconds), nil)
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", request.URL, answer.Status)
	}
	return profile.Parse(answer.Body)
}

// reduce removes names of files and builds, which the compiler does not read. So the profile
// names nothing of the machine.
func reduce(p *profile.Profile) {
	for _, f := range p.Function {
		f.Filename, f.SystemName = "", ""
	}
	for _, m := range p.Mapping {
		m.File, m.BuildID = "", ""
	}
	for _, s := range p.Sample {
		s.Label, s.NumLabel = nil, nil
	}
	p.Comments = nil
}

// processorTime returns the time of all samples. Its type is the last type of a processor
// profile.
func processorTime(p *profile.Profile) (total time.Duration) {
	for _, s := range p.Sample {
		total += time.Duration(s.Value[len(s.Value)-1])
	}
	return total
}
