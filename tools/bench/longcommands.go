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
	manySetMembers = 5000
	// worstLong bounds the latency of other clients while a client sends long commands.
	worstLong = 100 * time.Millisecond
)

// longCommands are the most expensive commands on plain values: they do the most work for a command
// line, and their replies have few lines.
var longCommands = []struct {
	commands []string // words are separated by spaces
	lines    int      // number of lines of their replies
}{
	{[]string{"SUNIONSTORE long:k long:t long:u"}, 1},
	{[]string{"SINTERSTORE long:k long:t long:u"}, 1},
	{[]string{"SUNIONSTORE long:k" + longSetNames()}, 1},
	{[]string{"SDIFFSTORE long:k long:t" + longSetNames()}, 1},
	{[]string{"SUNIONSTORE long:k long:many"}, 1},
	{[]string{"SUNIONSTORE long:k long:many", "SPOP long:k 300000"}, 1 + 1 + 2*300_000},
	{[]string{"SINTERCARD 16" + strings.Repeat(" long:t long:u", 8)}, 1},
	{[]string{"ZRANGESTORE long:k long:z 0 -1", "ZREMRANGEBYSCORE long:k 1 +inf"}, 2},
	{[]string{"RENAME long:z long:z2", "RENAME long:z2 long:z"}, 2},
	{[]string{"LREM long:l 0 x"}, 1},
	{[]string{"LINSERT long:l BEFORE x y"}, 1},
	{[]string{"HSCAN long:h 0 COUNT 1000000 MATCH *[x-z]?y*"}, 4},
	{repeated("INCRBYFLOAT long:s 1", hostileRuns), hostileRuns},
	{repeated("BITCOUNT long:s", hostileRuns), hostileRuns},
	{repeated("LINDEX long:l 62500", 8*hostileRuns), 16 * hostileRuns},
	{[]string{"SETRANGE long:g 8000000 x", "DEL long:g"}, 2},
	{[]string{"GET long:s"}, 2},
	{[]string{"SRANDMEMBER long:many 300000"}, 1 + 2*300_000},
}

func repeated(line string, n int) (all []string) {
	for range n {
		all = append(all, line)
	}
	return all
}

// longSetNames returns the names of the longSets sets, each after a space.
func longSetNames() string {
	var b strings.Builder
	for i := range longSets {
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
		for _, line := range long.commands {
			request = respclient.AppendCommand(request, strings.Fields(line)...)
		}
		var runs atomic.Int64
		seen, err := b.watchOthers(ctx, s, func() error {
			return sendHostile(ctx, s, 1, request, long.lines, len(long.commands), e.watch, &runs)
		})
		if err != nil {
			return fmt.Errorf("%.40s: %w", long.commands[0], err)
		}
		name := long.commands[0]
		if len(name) > 40 {
			name = name[:40] + "..."
		}
		title := fmt.Sprintf("a client with long commands, %s: %s", where, name)
		if n := len(long.commands); n > 1 {
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
