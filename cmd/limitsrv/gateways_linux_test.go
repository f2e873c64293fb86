package main

import (
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"limitsrv/internal/testing/testwait"
)

var (
	gatewaysTime    = flag.Duration("gateways-time", 8*time.Second, "how long TestGateways runs")
	gatewaysStreams = flag.Int("gateways-streams", 12, "streams of each of the four gateways of TestGateways")
)

// A gatewayProcess is a gateway that this test has started.
type gatewayProcess struct {
	*exec.Cmd
	input io.Closer
	read  chan struct{} // closed once all of its output is read
}

// startGateway starts a gateway. Its number is unique.
func startGateway(t *testing.T, c *trio, h *heldHistory, number int, seed uint64) *gatewayProcess {
	t.Helper()
	p := &gatewayProcess{Cmd: exec.Command(os.Args[0]), read: make(chan struct{})}
	p.Env = []string{fmt.Sprintf("%s=%s %d %d %d", asGateway, strings.Join(c.addresses(), ","), number,
		*gatewaysStreams, seed),
		"GORACE=atexit_sleep_ms=0", "PATH=" + os.Getenv("PATH")}
	p.Stderr = os.Stderr
	output, err := p.StdoutPipe()
	if err == nil {
		p.input, err = p.StdinPipe()
	}
	if err == nil {
		err = p.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		h.read(output)
		close(p.read)
	}()
	t.Cleanup(func() { p.kill() })
	return p
}

// kill kills a gateway, and waits for its output.
func (p *gatewayProcess) kill() {
	p.Process.Kill()
	<-p.read
	p.Wait()
}

// TestGateways runs gateways that reserve from quotas of a cluster. A gateway is killed every two seconds,
// and the leader every four to eight. Afterwards each quota has used as much as its gateways were told, and
// no more than its limit and late charges; nothing is held after the ttl, and all nodes agree.
func TestGateways(t *testing.T) {
	testwait.Long(t)
	const gateways, killEvery = 4, 2 * time.Second
	c := startTrio(t, directories(t))
	c.awaitRecovery(t)
	await(t, "all nodes know reservations", func() bool {
		replies, err := c.peers[0].ask("RL.RESERVE first 1s FIXED other 1 1s 1")
		return err == nil && !isError(replies[0], "ERR")
	})
	var (
		h     = &heldHistory{all: map[string]*heldByGateway{}}
		all   []*gatewayProcess
		rng   = rand.New(rand.NewPCG(testwait.Seed(t), 0))
		begin = time.Now()
		made  int
	)
	start := func() *gatewayProcess {
		made++
		return startGateway(t, c, h, made, rng.Uint64())
	}
	for range gateways {
		all = append(all, start())
	}
	leaderKills, nextLeader := 0, 2*killEvery
	for time.Since(begin) < *gatewaysTime || leaderKills == 0 {
		time.Sleep(killEvery)
		victim := rng.IntN(gateways)
		all[victim].kill()
		all[victim] = start()
		if leads := c.leader(); leads >= 0 && time.Since(begin) > nextLeader {
			c.peers[leads].kill()
			c.peers[leads].start(t)
			leaderKills, nextLeader = leaderKills+1, time.Since(begin)+killEvery*time.Duration(2+rng.IntN(3))
		}
		c.revive(t)
	}
	var ending sync.WaitGroup
	for _, p := range all {
		p.input.Close()
		ending.Go(func() { <-p.read })
	}
	ending.Wait()
	time.Sleep(heldFor + time.Second)
	c.awaitRecovery(t)
	h.check(t, c)
	c.awaitSameState(t)
	t.Logf("%d reservations by %d gateways, the leader was killed %d times", len(h.all), made, leaderKills)
}

// check compares the quotas with the history.
func (h *heldHistory) check(t *testing.T, c *trio) {
	t.Helper()
	for _, fault := range h.faults {
		t.Error(fault)
	}
	granted, settled, unknown, full := 0, 0, 0, 0
	for _, x := range h.all {
		switch {
		case x.settled:
			settled++
		case x.granted:
			granted++
		case !x.refused:
			unknown++
		}
	}
	usedNow := func(key string, limit int64) int64 {
		var n int64
		testwait.Retry(t, recoverWait, func() error {
			replies, err := c.peers[0].ask("RL.PEEK " + key)
			if err == nil {
				n, err = used(replies[0], limit)
			}
			return err
		})
		return n
	}
	for quota, b := range h.bounds() {
		key := fmt.Sprint("quota:", quota)
		n := usedNow(key, quotaLimit)
		switch {
		case n < b.least || n > b.most:
			t.Errorf("of %s %d are used, want %d to %d", key, n, b.least, b.most)
		case n > quotaLimit+b.beyond:
			t.Errorf("of %s %d are used, at most %d are above its limit", key, n, b.beyond)
		case n >= quotaLimit-40: // less than the largest reservation is left
			full++
		}
		key = fmt.Sprint("requests:", quota)
		if n := usedNow(key, 1_000_000); n < b.leastRequests || n > b.mostRequests {
			t.Errorf("of %s %d are used, want %d to %d", key, n, b.leastRequests, b.mostRequests)
		}
		replies, err := c.peers[0].ask(fmt.Sprintf("RL.RESERVED KEY quota:%d COUNT 1000", quota))
		if err != nil || !strings.HasSuffix(fmt.Sprint(replies[0]), " []]") {
			t.Errorf("of quota %d is open: %v, %v", quota, replies, err)
		}
	}
	t.Logf("%d settled, %d granted and not settled, %d unknown, in %d quotas, of which %d are used up", settled, granted,
		unknown, len(h.bounds()), full)
	if settled == 0 || granted == 0 {
		t.Error("nothing is settled, or no gateway died with open reservations")
	}
}
