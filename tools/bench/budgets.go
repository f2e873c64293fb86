package main

import (
	"context"
	"fmt"
	"time"

	"limitsrv/internal/respclient"

	"golang.org/x/sync/errgroup"
)

// addBudget adds a row of two sides with the ratio of ours to theirs, or a single figure, and its goal.
func (e *env) addBudget(name, ours, theirs, ratio string, c check) {
	e.add(budgetTable, name, ours, theirs, ratio, c.asked, c.verdict())
}

// A dialogue appends the next requests of a connection to dst. It returns the number of their replies, and of
// decisions, which are counted once these replies have arrived.
type dialogue func(conn, turn int, dst []byte) (requests []byte, replies, decisions int)

// converse repeats a dialogue on each of conns connections, for the time lasting.
func (s *side) converse(ctx context.Context, conns int, lasting time.Duration, d dialogue) (outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, lasting)
	defer cancel()
	var (
		w     watcher
		begin = time.Now()
		group errgroup.Group
	)
	w.open()
	for i := range conns {
		conn, err := s.connect()
		if err != nil {
			return outcome{}, err
		}
		defer conn.Close()
		group.Go(func() error {
			c, text := newClient(conn), []byte(nil)
			for turn := 0; ctx.Err() == nil; turn++ {
				var replies, decisions int
				text, replies, decisions = d(i, turn, text[:0])
				asked := time.Now()
				if _, err := conn.Write(text); err != nil {
					return err
				}
				for range replies {
					if _, err := c.read(); err != nil {
						return fmt.Errorf("%s: %w", s.name, err)
					}
				}
				w.record(asked, time.Now(), decisions, 0)
			}
			return nil
		})
	}
	err := group.Wait()
	return w.outcome(time.Since(begin)), err
}

const (
	budgetConns   = 50
	budgetKeys    = 1000
	mixedPipeline = 20 // a command is 5 % of it

	// No benchmark uses up this limit, and a key is not reset meanwhile, so that its holds stay.
	budgetLimit = "1000000"
	budgetRate  = "1000000/3650d"
)

// budgetID returns an id of 36 bytes.
func budgetID(conn, n int) string { return fmt.Sprintf("%012d-%023d", conn, n) }

// budgetKey returns a key of 23 bytes.
func budgetKey(n int) string { return fmt.Sprintf("limit:%017d", n%budgetKeys) }

// reserveOne returns the command that reserves a permit of limits of a bucket each.
func reserveOne(id string, limits, key int) []string {
	command := []string{"RL.RESERVE", id, "10m"}
	for i := range limits {
		command = append(command, "TOKEN", budgetKey(key+i), budgetLimit, budgetRate, "1")
	}
	return command
}

// inPairs returns the dialogue of a first and a second command for each of pipeline ids: all first commands, and
// then all second commands. A pair is a decision.
func inPairs(pipeline int, first, second func(id string, key int) []string) dialogue {
	return func(conn, turn int, dst []byte) ([]byte, int, int) {
		build, decisions := first, 0
		if turn%2 == 1 {
			build, decisions = second, pipeline
		}
		for i := range pipeline {
			n := turn/2*pipeline + i
			dst = respclient.AppendCommand(dst, build(budgetID(conn, n), conn*31+n)...)
		}
		return dst, pipeline, decisions
	}
}

func reserve(id string, key int) []string { return reserveOne(id, 1, key) }
func commit(id string, _ int) []string    { return []string{"RL.COMMIT", id, "0"} }
func takeAll(_ string, key int) []string {
	return append([]string{"RL.ALL"}, reserveOne("", 1, key)[3:]...)
}
func refundOne(_ string, key int) []string { return []string{"RL.REFUND", budgetKey(key), "1"} }

// takes returns the dialogue of RL.TOKEN in pipelines. If mixed, one command of each is an RL.COMMIT, and one
// the RL.RESERVE of the next.
func takes(mixed bool) dialogue {
	return func(conn, turn int, dst []byte) ([]byte, int, int) {
		n := mixedPipeline
		if mixed {
			n -= 2
			if turn > 0 {
				dst = respclient.AppendCommand(dst, commit(budgetID(conn, turn-1), 0)...)
			} else {
				n++
			}
			dst = respclient.AppendCommand(dst, reserve(budgetID(conn, turn), conn*31+turn)...)
		}
		for i := range n {
			key := budgetKey(conn*31 + turn*mixedPipeline + i)
			dst = respclient.AppendCommand(dst, "RL.TOKEN", key, budgetLimit, budgetRate)
		}
		return dst, mixedPipeline, mixedPipeline
	}
}

// budgetRun is the duration of a run of a dialogue.
func (e *env) budgetRun() time.Duration {
	if e.quick {
		return e.duration
	}
	return 5 * time.Second / time.Duration(e.rounds)
}

// compareDialogues runs two dialogues on a server in turns.
func (e *env) compareDialogues(ctx context.Context, s *side, ours, theirs dialogue) (all [2][]sample, err error) {
	for range e.rounds {
		for i, d := range [...]dialogue{ours, theirs} {
			if _, err := s.ask("FLUSHALL"); err != nil {
				return all, err
			}
			got, err := s.measure(func() (outcome, error) { return s.converse(ctx, budgetConns, e.budgetRun(), d) })
			if err != nil {
				return all, err
			}
			all[i] = append(all[i], got)
		}
	}
	return all, nil
}

// costOfReservations measures reservations beside commands without an id, on a server.
func costOfReservations(ctx context.Context, e *env) error {
	s, err := e.start(ctx, limitsrv, "")
	if err != nil {
		return err
	}
	for _, x := range []struct {
		pipeline int
		most     float64
	}{{1, 1.35}, {64, 3}} {
		ours, theirs := inPairs(x.pipeline, reserve, commit), inPairs(x.pipeline, takeAll, refundOne)
		all, err := e.compareDialogues(ctx, s, ours, theirs)
		if err != nil {
			return err
		}
		ratio := ratioOf(all[0], all[1], cpuMicros)
		name := fmt.Sprintf("server CPU of RL.RESERVE + RL.COMMIT beside RL.ALL + RL.REFUND, pipeline %d", x.pipeline)
		e.addBudget(name, fmt.Sprintf("%.2f µs", median(all[0], cpuMicros)),
			fmt.Sprintf("%.2f µs", median(all[1], cpuMicros)),
			ratioText(ratio), goal{"", atMost, x.most, "x"}.check(ratio.median))
	}
	all, err := e.compareDialogues(ctx, s, takes(true), takes(false))
	if err != nil {
		return err
	}
	speed, slow := speedup(all[0], all[1]), ratioOf(all[0], all[1], p99Millis)
	e.addBudget("commands/s of RL.TOKEN with 5 % RL.COMMIT and 5 % RL.RESERVE beside RL.TOKEN alone, pipeline 20",
		countText(median(all[0], perSecond)), countText(median(all[1], perSecond)), ratioText(speed),
		goal{"", atLeast, 0.97, "x"}.check(speed.median))
	e.addBudget("p99 of these", fmt.Sprintf("%.2f ms", median(all[0], p99Millis)),
		fmt.Sprintf("%.2f ms", median(all[1], p99Millis)), ratioText(slow), goal{"", atMost, 1.1, "x"}.check(slow.median))
	return e.bytesOfReservations(ctx)
}

// bytesOfReservations measures the memory of ids by used_memory, as the server counts it.
func (e *env) bytesOfReservations(ctx context.Context) error {
	ids := 100_000
	if e.quick {
		ids = 5000
	}
	var (
		s      *side
		before int64
	)
	each := func(fresh bool, build func(i int) []string) (bytes float64, err error) {
		if fresh {
			if s, err = e.start(ctx, limitsrv, ""); err != nil {
				return 0, err
			}
		}
		conn, err := s.connect()
		if err != nil {
			return 0, err
		}
		defer conn.Close()
		c := newClient(conn)
		if fresh {
			for i := range budgetKeys {
				if _, err := c.do("RL.TOKEN", budgetKey(i), budgetLimit, budgetRate); err != nil {
					return 0, err
				}
			}
			if before, err = s.figure("memory", "used_memory"); err != nil {
				return 0, err
			}
		}
		for i := range ids {
			if _, err := c.do(build(i)...); err != nil {
				return 0, err
			}
		}
		time.Sleep(settle)
		after, err := s.figure("memory", "used_memory")
		return float64(after-before) / float64(ids), err
	}
	row := func(name string, bytes, most float64) {
		e.addBudget(name, fmt.Sprintf("%.0f", bytes), "", "", goal{"", atMost, most, ""}.check(bytes))
	}
	one, err := each(true, func(i int) []string { return reserveOne(budgetID(0, i), 1, i) })
	if err != nil {
		return err
	}
	row("bytes of an open reservation of one limit", one, 250)
	settled, err := each(false, func(i int) []string { return commit(budgetID(0, i), 0) })
	if err != nil {
		return err
	}
	three, err := each(true, func(i int) []string { return reserveOne(budgetID(0, i), 3, i) })
	if err != nil {
		return err
	}
	row("bytes of each further limit", (three-one)/2, 130)
	row("bytes of a settled reservation", settled, 90)
	once, err := each(true, func(i int) []string {
		return []string{"RL.TOKEN", budgetKey(i), budgetLimit, budgetRate, "ONCE", budgetID(0, i)}
	})
	if err != nil {
		return err
	}
	row("bytes of an id of ONCE", once, 90)
	return nil
}
