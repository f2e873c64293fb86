package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"limitsrv/internal/respclient"
)

// A longPipeline is the result of a pipeline of many commands.
type longPipeline struct {
	disturbance
	commands int
	late     bool // replies are read only after the last command was sent
	answered int  // replies in the right order, from the first
	took     time.Duration
	problem  error
}

// pipelineKey is the bucket of all commands of the pipeline.
const pipelineKey = "pipeline"

// longPipelines sends two pipelines: the replies to the first are read meanwhile, the
// replies to the second late.
func longPipelines(ctx context.Context, e *env) error {
	for _, late := range []bool{false, true} {
		p, err := e.measureLongPipeline(ctx, late)
		if err != nil {
			return fmt.Errorf("a pipeline of %d commands: %w", p.commands, err)
		}
		e.addLongPipeline(p)
		e.stop()
	}
	return nil
}

// addLongPipeline adds the row of a pipeline.
func (e *env) addLongPipeline(p longPipeline) {
	how := "read meanwhile"
	if p.late {
		how = "sent whole before a reply is read"
	}
	text := fmt.Sprintf("%d in order in %s, %.1f MB more at the peak; other clients %s", p.answered,
		secondsText(p.took.Seconds()), float64(p.grown)/1e6, p.p99Text())
	if p.problem != nil {
		text += "; " + p.problem.Error()
	}
	e.addStress(fmt.Sprintf("pipeline of %s commands, %s", countText(float64(p.commands)), how),
		check{"answered in order", p.answered == p.commands}, text, "")
}

// measureLongPipeline sends a pipeline. The remaining permits in each reply must be 1 less
// than in the last.
func (e *env) measureLongPipeline(ctx context.Context, late bool) (p longPipeline, err error) {
	b := e.stress
	p.commands, p.late = b.commands, late
	s, err := e.startFilled(ctx, limitsrv, "", "--write-timeout", b.writeWait.String())
	if err != nil {
		return p, err
	}
	limit := 2 * b.commands
	all := slices.Repeat(respclient.AppendCommand(nil, "RL.TOKEN", pipelineKey, fmt.Sprint(limit), "1000/d"), b.commands)
	p.disturbance, err = b.disturb(ctx, s, func() error {
		begin := time.Now()
		p.problem = p.send(s, all, limit)
		p.took = time.Since(begin)
		return nil
	})
	return p, err
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
