package main

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"limitsrv/internal/respclient"
)

const (
	// longElements is the number of elements of the collections that long commands use. Each has
	// 64 bytes: 8 MB in total.
	longElements = 125_000
	// longFill is the number of words of a command that adds elements to them. It divides the
	// words of all elements.
	longFill = 1000
	// longSets is the number of sets of the row with many sets; manySetMembers is the size of
	// each.
	longSets       = 200
	fewLongSets    = 10
	manySetMembers = 5000
	// worstLong bounds the latency of other clients while a client sends long commands.
	worstLong = 100 * time.Millisecond
)

// longCommands are the most expensive commands on plain values: they do the most work for a command
// line. Words are separated by spaces.
var longCommands = [][]string{
	{"SUNIONSTORE long:k long:t long:u"},
	{"SINTERSTORE long:k long:t long:u"},
	{"SUNIONSTORE long:k" + longSetNames()},
	{"SDIFFSTORE long:k long:t" + longSetNames()},
	{"SUNIONSTORE long:k long:many"},
	{"SUNIONSTORE long:k long:many", "SPOP long:k 300000"},
	{"SINTERCARD 16" + strings.Repeat(" long:t long:u", 8)},
	{"ZRANGESTORE long:k long:z 0 -1", "ZREMRANGEBYSCORE long:k 1 +inf"},
	{"RENAME long:z long:z2", "RENAME long:z2 long:z"},
	{"LREM long:l 0 x"},
	{"LINSERT long:l BEFORE x y"},
	{"HSCAN long:h 0 COUNT 1000000 MATCH *[x-z]?y*"},
	repeated("INCRBYFLOAT long:s 1", hostileRuns),
	repeated("BITCOUNT long:s", hostileRuns),
	repeated("LINDEX long:l 62500", 8*hostileRuns),
	{"SETRANGE long:g 8000000 x", "DEL long:g"},
	{"GET long:s"},
	{"SRANDMEMBER long:many 300000"},
	// Commands below the bound of work.
	{"SUNIONSTORE long:k" + fewLongSetNames()},
	{"ZRANGESTORE long:k long:z 0 20000", "ZREMRANGEBYSCORE long:k 1 +inf"},
	{"SMEMBERS long:t"},
	{"SRANDMEMBER long:many 40000"},
	{"MULTI", "SUNIONSTORE long:k long:1 long:2 long:3", "SMEMBERS long:k", "SPOP long:k 8000", "EXEC"},
}

func repeated(line string, n int) (all []string) {
	for range n {
		all = append(all, line)
	}
	return all
}

func longSetNames() string    { return setNames(longSets) }
func fewLongSetNames() string { return setNames(fewLongSets) }

// setNames returns the names of the first n of the longSets sets, each after a space.
func setNames(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, " long:%d", i)
	}
	return b.String()
}

// measureLongCommands measures the latency of other clients while a client sends long commands
// without pause.
func (e *env) measureLongCommands(ctx context.Context, where string, s *side) error {
	if err := s.fillLong(); err != nil {
		return err
	}
	b := e.stress
	b.othersRate, b.watch = hostileOthersRate, e.watch
	for _, long := range longCommands {
		var request []byte
		for _, line := range long {
			request = respclient.AppendCommand(request, strings.Fields(line)...)
		}
		var runs atomic.Int64
		seen, err := b.watchOthers(ctx, s, func() error {
			return sendHostile(ctx, s, 1, request, len(long), len(long), e.watch, &runs)
		})
		if err != nil {
			return fmt.Errorf("%.40s: %w", long[0], err)
		}
		name := long[0]
		if len(name) > 40 {
			name = name[:40] + "..."
		}
		title := fmt.Sprintf("a client with long commands, %s: %s", where, name)
		if n := len(long); n > 1 {
			title += fmt.Sprintf(" and %d more", n-1)
		}
		text := fmt.Sprintf("others' p50 / p99 / max %s / %s / %s; %s commands/s%s", millisText(seen.p50),
			millisText(seen.p99), millisText(seen.worst),
			countText(float64(runs.Load())/e.watch.Seconds()), seen.refusedText())
		e.addStress(title, hostileGoal.check(float64(seen.p99)/float64(time.Millisecond)), text, "")
		e.addStress(title+": max", check{"below " + millisText(worstLong), seen.worst < worstLong}, text, "")
	}
	return nil
}

// fillLong stores the values that long commands use.
func (s *side) fillLong() error {
	var failed error
	words := map[string][]string{} // by key
	add := func(command, key string, more ...string) {
		words[key] = append(words[key], more...)
		if len(words[key]) == longFill {
			_, err := s.ask(append([]string{command, key}, words[key]...)...)
			failed = cmp.Or(failed, err)
			delete(words, key)
		}
	}
	for i := range longElements {
		member := fmt.Sprintf("member:%057d", i)
		add("SADD", "long:t", member)
		add("SADD", "long:u", fmt.Sprintf("member:%057d", i+longElements/2))
		add("ZADD", "long:z", strconv.Itoa(i), member)
		add("RPUSH", "long:l", member)
		add("HSET", "long:h", member, "v")
	}
	for i := range 4 * longElements {
		add("SADD", "long:many", fmt.Sprint("m", i))
	}
	for i := range longSets {
		for j := range manySetMembers {
			add("SADD", fmt.Sprintf("long:%d", i), fmt.Sprintf("m%d", 50*i+j))
		}
	}
	_, err := s.ask("SETRANGE", "long:s", "8000000", "x")
	return cmp.Or(failed, err)
}
