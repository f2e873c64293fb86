package main

import (
	"bufio"
	"bytes"
	"context"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"limitsrv/internal/respclient"
)

//go:embed scripts/hostile
var hostileScripts embed.FS

const (
	// hostileClients is the number of clients that send hostile scripts without a pause.
	hostileClients = 4
	// hostileRuns is the number of runs in a transaction and in a pipeline of them.
	hostileRuns = 16
	// hostileOthersRate is the number of decisions per second of the other clients.
	hostileOthersRate = 200
)

// hostileGoal is the goal of the latency of other clients meanwhile.
var hostileGoal = goal{order: atMost, bound: 5, unit: " ms"}

// A hostileForm is a way to send a hostile script.
type hostileForm struct {
	name        string
	runs        int
	transaction bool
}

var hostileForms = []hostileForm{
	{name: "alone", runs: 1},
	{name: fmt.Sprintf("%d in MULTI", hostileRuns), runs: hostileRuns, transaction: true},
	{name: fmt.Sprintf("%d in a pipeline", hostileRuns), runs: hostileRuns},
}

// hostiles has endless scripts sent to a node, and to the leader and a follower of three.
func hostiles(ctx context.Context, e *env) error {
	single, err := e.startFilled(ctx, limitsrv, "")
	if err != nil {
		return err
	}
	if err := e.measureHostile(ctx, "one node", single); err != nil {
		return err
	}
	for _, node := range []string{"leader", "follower"} {
		e.stop()
		d, err := e.startCluster(ctx, "three nodes", "--ack", "memory", "--fsync", "no")
		if err != nil {
			return err
		}
		if _, err := d.leader.fill(ctx, lastingBucket, e.stress.existing); err != nil {
			return err
		}
		where := map[string]string{"leader": "by the leader", "follower": "by a follower"}[node]
		if err := e.measureHostile(ctx, "three nodes, "+where, d.asked(node)); err != nil {
			return err
		}
	}
	return nil
}

// measureHostile measures each script in each form, after a row without scripts. The rows of
// the first script are from a node that does not know its scripts as heavy yet.
func (e *env) measureHostile(ctx context.Context, where string, s *side) error {
	b := e.stress
	b.othersRate, b.watch = hostileOthersRate, e.watch
	calm, err := b.calm(ctx, s)
	if err != nil {
		return err
	}
	e.addHostile(where, "none", "", calm, 0)
	files, err := fs.Glob(hostileScripts, "scripts/hostile/*.lua")
	if err != nil {
		return err
	}
	files = append(files[:1:1], files...) // while the first run, they have full budgets
	for i, file := range files {
		text, err := hostileScripts.ReadFile(file)
		if err != nil {
			return err
		}
		for _, form := range hostileForms {
			name := strings.TrimSuffix(path.Base(file), ".lua")
			if i == 0 {
				name += " at first"
			}
			var runs atomic.Int64
			seen, err := b.watchOthers(ctx, s, func() error {
				return form.repeat(ctx, s, string(text), e.watch, &runs)
			})
			if err != nil {
				return fmt.Errorf("%s, %s: %w", name, form.name, err)
			}
			e.addHostile(where, name, form.name, seen, float64(runs.Load())/e.watch.Seconds())
		}
	}
	return e.measureLongCommands(ctx, where, s)
}

// addHostile adds a row.
func (e *env) addHostile(where, name, form string, others outcome, runs float64) {
	title := fmt.Sprintf("%d clients with endless scripts, %s: %s", hostileClients, where, name)
	if form != "" {
		title += ", " + form
	}
	text := fmt.Sprintf("others' p50 / p99 %s / %s; %s runs/s%s", millisText(others.p50), millisText(others.p99),
		countText(runs), others.refusedText())
	e.addStress(title, hostileGoal.check(float64(others.p99)/float64(time.Millisecond)), text, "")
}

// refusedText says how many requests failed; "" if no request failed.
func (o outcome) refusedText() string {
	if o.refused == 0 {
		return ""
	}
	return fmt.Sprintf("; %d requests refused", o.refused)
}

// repeat has clients send a script for a time, each anew when it is answered.
func (f hostileForm) repeat(ctx context.Context, s *side, text string, lasting time.Duration,
	runs *atomic.Int64) error {
	sha, err := s.ask("SCRIPT", "LOAD", text)
	if err != nil {
		return err
	}
	run := respclient.AppendCommand(nil, "EVALSHA", fmt.Sprint(sha), "0")
	request, replies := bytes.Repeat(run, f.runs), f.runs
	if f.transaction {
		request = slices.Concat(respclient.AppendCommand(nil, "MULTI"), request, respclient.AppendCommand(nil, "EXEC"))
		replies += 2
	}
	return sendHostile(ctx, s, hostileClients, request, replies, f.runs, lasting, runs)
}

// sendHostile makes clients send request for the duration lasting. Each client sends it again after
// the replies to it.
func sendHostile(ctx context.Context, s *side, clients int, request []byte, replies, each int, lasting time.Duration,
	runs *atomic.Int64) error {
	var failure atomic.Value
	runClients(ctx, clients, lasting, func(ctx context.Context, _ int) {
		c, err := dial(s.address)
		if err != nil {
			failure.Store(err)
			return
		}
		defer c.conn.Close()
		for ctx.Err() == nil {
			if err := c.askAtLength(request, replies); err != nil {
				failure.Store(err)
				return
			}
			runs.Add(int64(each))
		}
	})
	err, _ := failure.Load().(error)
	return err
}

// askAtLength sends a request and reads so many replies of any length, errors included. Endless
// scripts take turns, so a busy machine answers them late.
func (c *client) askAtLength(request []byte, replies int) error {
	c.conn.SetDeadline(time.Now().Add(3 * lastReplyWait))
	if _, err := c.conn.Write(request); err != nil {
		return err
	}
	for ; replies > 0; replies-- {
		line, err := c.reader.ReadSlice('\n')
		if err != nil && err != bufio.ErrBufferFull {
			return err
		}
		n := 0
		if line[0] == '$' || line[0] == '*' {
			n, _ = strconv.Atoi(string(bytes.TrimSpace(line[1:])))
		}
		switch {
		case err != nil || n <= 0: // an error may be long
			for err == bufio.ErrBufferFull {
				_, err = c.reader.ReadSlice('\n')
			}
		case line[0] == '*':
			replies += n
			continue
		default:
			_, err = c.reader.Discard(n + len("\r\n"))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
