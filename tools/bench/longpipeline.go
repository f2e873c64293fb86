package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// A longPipeline is the result of one pipeline of many commands.
type longPipeline struct {
	commands       int
	late           bool // replies are read only after the last command was sent
	answered       int  // replies in the right order, from the first
	took           time.Duration
	problem        error
	before, during latency // of other clients
	grown          int64   // increase of resident bytes at the peak
}

// pipelineKey is the bucket of all commands of the pipeline.
const pipelineKey = "pipeline"

// measureLongPipeline sends one pipeline. The remaining permits in each reply must be
// one less than in the last.
func measureLongPipeline(ctx context.Context, b stressPlan, binary string, late bool) (longPipeline, error) {
	got := longPipeline{commands: b.commands, late: late}
	s, before, resident, err := b.begin(ctx, binary)
	if err != nil {
		return got, err
	}
	defer s.stop()
	got.before = before
	limit := 2 * b.commands
	one := appendCommand(nil, "RL.TOKEN", pipelineKey, fmt.Sprint(limit), "1000/d")
	all := slices.Repeat(one, b.commands)
	got.during, err = watchOthers(ctx, s, b, b.existing, func() error {
		begin := time.Now()
		got.problem = got.send(s, all, limit)
		got.took = time.Since(begin)
		return nil
	})
	if err != nil {
		return got, err
	}
	peak, err := s.peakBytes()
	got.grown = peak - resident
	return got, err
}

// send sends the bytes of a pipeline and reads the replies, concurrently or afterwards.
func (p *longPipeline) send(s *side, all []byte, limit int) error {
	c, err := dial(s.address)
	if err != nil {
		return err
	}
	defer c.conn.Close()
	c.conn.SetDeadline(time.Now().Add(2 * lastReplyWait))
	sent := make(chan error, 1)
	write := func() {
		n, err := c.conn.Write(all)
		if err != nil {
			err = fmt.Errorf("after %s of %s bytes: %w", countText(float64(n)), countText(float64(len(all))), err)
		}
		sent <- err
	}
	if p.late {
		write()
	} else {
		go write()
	}
	for ; p.answered < p.commands; p.answered++ {
		reply, readErr := c.read()
		if readErr != nil {
			c.conn.Close()
			return errors.Join(<-sent, readErr)
		}
		f, ok := reply.([]any)
		if want := int64(limit - p.answered - 1); !ok || len(f) != 5 || f[0] != int64(1) || f[2] != want {
			return fmt.Errorf("reply %d is %v, want %d remaining", p.answered, reply, want)
		}
	}
	return <-sent
}
