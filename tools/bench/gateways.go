package main

import (
	"context"
	_ "embed"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// The load of a gateway of language models: a minute lasts 2 s. It offers seven times the limit.
const (
	gatewayLimit    = 100_000 // tokens in a window
	gatewayWindow   = 2 * time.Second
	gatewayEstimate = 4096
	gatewayActual   = 600                     // mean tokens of a request
	gatewayStream   = gatewayWindow * 20 / 60 // mean duration of a stream
	gatewayRate     = 7 * gatewayLimit / gatewayActual * int(time.Second) / int(gatewayWindow)
	gatewayTTL      = gatewayWindow / 2
	gatewayConns    = 16
)

var (
	//go:embed scripts/reserve.lua
	reserveScript string
	//go:embed scripts/settle.lua
	settleScript string
)

// A grant is a request that passed.
type grant struct {
	asked, answered time.Time
	actual          int64
}

// A gateway reserves the estimate of each request, and settles the actual tokens after its stream.
type gateway struct {
	name  string
	side  *side
	limit string // the algorithm of limitsrv, or empty for Redis
	idle  chan *client
	shas  [2]string // of Redis' scripts

	lock   sync.Mutex
	grants []grant
	asked  int
	late   int // streams that were not extended or not settled
}

func (g *gateway) open() error {
	g.idle = make(chan *client, gatewayConns)
	for range gatewayConns {
		conn, err := g.side.connect()
		if err != nil {
			return err
		}
		g.idle <- newClient(conn)
	}
	if g.limit != "" {
		return nil
	}
	for i, text := range [...]string{reserveScript, settleScript} {
		sha, err := g.side.ask("SCRIPT", "LOAD", text)
		if err != nil {
			return err
		}
		g.shas[i] = fmt.Sprint(sha)
	}
	return nil
}

func (g *gateway) close() {
	for range gatewayConns {
		(<-g.idle).conn.Close()
	}
}

// ask sends a command over a connection that is idle, and returns the first number of its reply.
func (g *gateway) ask(command ...string) (first int64, asked, answered time.Time, err error) {
	c := <-g.idle
	asked = time.Now()
	reply, err := c.do(command...)
	answered = time.Now()
	g.idle <- c
	if fields, ok := reply.([]any); ok && len(fields) > 0 {
		reply = fields[0]
	}
	first, _ = reply.(int64)
	return first, asked, answered, err
}

// reserve asks for the estimate.
func (g *gateway) reserve(id string) (passed bool, asked, answered time.Time, err error) {
	millis, estimate := strconv.FormatInt(gatewayWindow.Milliseconds(), 10), strconv.Itoa(gatewayEstimate)
	var command []string
	switch g.limit {
	case "":
		command = []string{"EVALSHA", g.shas[0], "1", "llm", strconv.Itoa(gatewayLimit), millis, estimate}
	case "TOKEN":
		command = []string{"RL.RESERVE", id, gatewayTTL.String(), g.limit, "llm", strconv.Itoa(gatewayLimit),
			fmt.Sprintf("%d/%s", gatewayLimit, gatewayWindow), estimate}
	default:
		command = []string{"RL.RESERVE", id, gatewayTTL.String(), g.limit, "llm", strconv.Itoa(gatewayLimit),
			gatewayWindow.String(), estimate}
	}
	first, asked, answered, err := g.ask(command...)
	return first == 1, asked, answered, err
}

// stream waits for the end of a stream. It extends the reservation in the meantime.
func (g *gateway) stream(ctx context.Context, id string, lasting time.Duration) error {
	for lasting > gatewayTTL/2 {
		if err := sleep(ctx, gatewayTTL/2); err != nil {
			return err
		}
		lasting -= gatewayTTL / 2
		if g.limit == "" {
			continue
		}
		if done, _, _, err := g.ask("RL.EXTEND", id, gatewayTTL.String()); err != nil {
			return err
		} else if done != 1 {
			g.count(func() { g.late++ })
		}
	}
	return sleep(ctx, lasting)
}

func (g *gateway) settle(id string, actual int64) error {
	command := []string{"RL.COMMIT", id, strconv.FormatInt(actual, 10)}
	if g.limit == "" {
		command = []string{"EVALSHA", g.shas[1], "1", "llm", strconv.FormatInt(gatewayWindow.Milliseconds(), 10),
			strconv.FormatInt(actual-gatewayEstimate, 10)}
	}
	done, _, _, err := g.ask(command...)
	if done != 1 {
		g.count(func() { g.late++ })
	}
	return err
}

func (g *gateway) count(add func()) {
	g.lock.Lock()
	defer g.lock.Unlock()
	add()
}

// request is a request from its reservation to its settlement.
func (g *gateway) request(ctx context.Context, n int, actual int64, lasting time.Duration) error {
	id := fmt.Sprintf("request:%d", n)
	passed, asked, answered, err := g.reserve(id)
	g.count(func() {
		if g.asked++; passed {
			g.grants = append(g.grants, grant{asked, answered, actual})
		}
	})
	if err != nil || !passed {
		return err
	}
	if err := g.stream(ctx, id, lasting); err != nil {
		return nil // the run has ended
	}
	return g.settle(id, actual)
}

// run sends requests at a rate until ctx ends. Gateways with the same seed get the same requests.
func (g *gateway) run(ctx context.Context, seed uint64) error {
	var (
		group errgroup.Group
		rng   = rand.New(rand.NewPCG(seed, seed))
		begin = time.Now()
	)
	for n := 0; ; n++ {
		due := begin.Add(time.Duration(n) * time.Second / time.Duration(gatewayRate))
		if sleep(ctx, time.Until(due)) != nil {
			return group.Wait()
		}
		actual := 1 + min(int64(rng.ExpFloat64()*gatewayActual), gatewayEstimate-1)
		lasting := time.Duration((0.5 + rng.Float64()) * float64(gatewayStream))
		group.Go(func() error { return g.request(ctx, n, actual, lasting) })
	}
}

// use returns the share of the limit that was used in whole windows, and the most that a window was used beyond
// it. A grant that may be in either of two windows counts in neither.
func (g *gateway) use() (share, over float64) {
	windows := map[int64]int64{}
	first, last, total := int64(1<<62), int64(0), int64(0)
	for _, x := range g.grants {
		w := x.asked.UnixNano() / int64(gatewayWindow)
		if w == x.answered.UnixNano()/int64(gatewayWindow) {
			windows[w] += x.actual
		}
		first, last = min(first, w), max(last, w)
	}
	for w := first + 1; w < last; w++ { // the first and the last are not whole
		total += windows[w]
		over = max(over, float64(windows[w]-gatewayLimit)/gatewayLimit)
	}
	return float64(total) / float64(gatewayLimit*max(1, last-first-1)), over
}

// overBucket returns the most that the tokens exceeded a bucket, as a share of its capacity. It assumes
// that each token was taken at the time that is best for the server.
func (g *gateway) overBucket() (over float64) {
	var (
		owed  float64
		slack time.Duration
		at    time.Time
		rate  = gatewayLimit / gatewayWindow.Seconds()
	)
	for _, x := range g.grants {
		if !at.IsZero() {
			owed = max(0, owed-rate*x.answered.Sub(at).Seconds())
		}
		at, slack = x.answered, max(slack, x.answered.Sub(x.asked))
		owed += float64(x.actual)
		over = max(over, (owed-gatewayLimit-rate*slack.Seconds())/gatewayLimit)
	}
	return over
}

// gateways runs gateways of limitsrv and Redis at the same time.
func gateways(ctx context.Context, e *env) error {
	all := []*gateway{
		{name: "RL.RESERVE, FIXED", limit: "FIXED"},
		{name: "RL.RESERVE, TOKEN", limit: "TOKEN"},
		{name: "Redis + Lua, fixed window"},
	}
	var (
		before  []time.Duration
		lasting = 20 * time.Second
		group   errgroup.Group
	)
	if e.quick {
		lasting = 5 * gatewayWindow / 2
	}
	for _, g := range all {
		p := limitsrv
		if g.limit == "" {
			p = redisLua
		}
		var err error
		if g.side, err = e.start(ctx, p, ""); err != nil {
			return err
		}
		if err = g.open(); err != nil {
			return err
		}
		defer g.close()
		spent, err := g.side.cpu()
		if err != nil {
			return err
		}
		before = append(before, spent)
	}
	running, cancel := context.WithTimeout(ctx, lasting)
	defer cancel()
	for _, g := range all {
		group.Go(func() error { return g.run(running, 1) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for i, g := range all {
		spent, err := g.side.cpu()
		if err != nil {
			return err
		}
		e.addGateway(g, float64((spent-before[i]).Nanoseconds())/1e3/float64(max(1, g.asked)))
	}
	return nil
}

// addGateway adds the row of a gateway.
func (e *env) addGateway(g *gateway, micros float64) {
	share, over := g.use()
	if g.limit == "TOKEN" {
		over = g.overBucket()
	}
	wanted := check{}
	if g.limit != "" && !e.quick {
		wanted = check{"nothing over the limit", over <= 0}
	}
	if g.limit == "TOKEN" && !e.quick {
		wanted = check{"at least 60 % used, nothing over", share >= 0.6 && over <= 0}
	}
	e.add(gatewayTable, g.name, fmt.Sprintf("%.0f %%", 100*share), fmt.Sprintf("%.1f %%", 100*max(0, over)),
		fmt.Sprintf("%.1f µs", micros), fmt.Sprintf("%d of %d", len(g.grants), g.asked), fmt.Sprint(g.late),
		wanted.asked, wanted.verdict())
}
