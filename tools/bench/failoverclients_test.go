package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"
)

// A fakeLeader is a server that reports itself as leader and counts permits.
type fakeLeader struct {
	mu   sync.Mutex
	used map[string]int64
	// fails is its error reply to takes; empty: it grants them.
	fails string
}

// startFakeLeader serves f for the duration of the test and returns a trio of it.
func startFakeLeader(t *testing.T, f *fakeLeader) *trio {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	f.used = map[string]int64{}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go f.serve(conn)
		}
	}()
	return &trio{
		servers: []*process{{address: listener.Addr().String()}},
		take:    []string{"TAKE", keyPlace, capacityPlace, permitsPlace}, peek: []string{"PEEK", keyPlace},
		used:  func(reply any, _ int64) (int64, error) { return reply.(int64), nil },
		route: func([]int, int) (int, error) { return 0, nil },
	}
}

// serve answers a connection.
func (f *fakeLeader) serve(conn net.Conn) {
	defer conn.Close()
	for c := (&client{conn, bufio.NewReader(conn)}); ; {
		request, err := c.read()
		if err != nil {
			return
		}
		conn.Write([]byte(f.answer(request.([]any))))
	}
}

func (f *fakeLeader) answer(words []any) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch words[0] {
	case "INFO":
		return "$11\r\nrole:master\r\n"
	case "PEEK":
		return ":" + strconv.FormatInt(f.used[words[1].(string)], 10) + "\r\n"
	}
	if f.fails != "" {
		return "-" + f.fails + "\r\n"
	}
	key := words[1].(string)
	capacity, _ := strconv.ParseInt(words[2].(string), 10, 64)
	n, _ := strconv.ParseInt(words[3].(string), 10, 64)
	if f.used[key]+n > capacity {
		return "*2\r\n:0\r\n:0\r\n"
	}
	f.used[key] += n
	return "*2\r\n:1\r\n:0\r\n"
}

// forget removes permits of a key from the count.
func (f *fakeLeader) forget(key string, n int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.used[key] -= n
}

// total returns the number of permits taken.
func (f *fakeLeader) total() (sum int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, n := range f.used {
		sum += n
	}
	return sum
}

// smallPlan requests 1000 permits of 2 keys of 350 each.
var smallPlan = failoverPlan{4, 5, 1000, 2, 200 * time.Millisecond, 400 * time.Millisecond, 400 * time.Millisecond}

func TestAuditCountsPermitsGrantedTwice(t *testing.T) {
	var (
		f = &fakeLeader{}
		c = newFailoverClients(startFakeLeader(t, f), smallPlan, 1)
	)
	conn, err := dial(c.trio.servers[0].address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.conn.Close()
	c.markFault(isolated, time.Now())
	for range 40 {
		if !c.takePermits(conn, 0, []int{0, 0, 0, 1, 1}) {
			t.Fatal("takePermits = false for a server that answers")
		}
	}
	f.forget(c.command(c.trio.peek, 1, 0)[1], 30)
	got, err := c.audit(context.Background(), []int{0})
	if err != nil {
		t.Fatal(err)
	}
	if got.over != 30 || got.forgotten != 30 || got.worst != 380.0/350 || got.outage <= 0 {
		t.Errorf("audit = %+v, want 30 over and forgotten", got)
	}
}

func TestAuditFailsWithoutADecisionElsewhere(t *testing.T) {
	c := newFailoverClients(startFakeLeader(t, &fakeLeader{}), smallPlan, 0)
	c.markFault(killed, time.Now())
	c.recordDecision(0, time.Now())
	if got, err := c.audit(context.Background(), []int{0}); err == nil {
		t.Errorf("audit = %+v, want an error", got)
	}
}

func TestFailoverClientsKeepTheirRate(t *testing.T) {
	var (
		f     = &fakeLeader{}
		c     = newFailoverClients(startFakeLeader(t, f), smallPlan, 1)
		begin = time.Now()
	)
	err := alongside(context.Background(), func() error {
		return eventually(context.Background(), func() error {
			if n := f.total(); n < 300 {
				return fmt.Errorf("%d permits taken", n)
			}
			return nil
		})
	}, c.clientLoops()...)
	if err != nil {
		t.Fatal(err)
	}
	granted := c.granted[0].Load() + c.granted[1].Load()
	if granted != f.total() {
		t.Errorf("the clients counted %d permits, the server %d", granted, f.total())
	}
	atOnce := int64(smallPlan.clients * smallPlan.pipeline)
	if most := int64(float64(smallPlan.rate)*time.Since(begin).Seconds()) + atOnce; granted > most {
		t.Errorf("%d requests in %v, want at most %d", granted, time.Since(begin), most)
	}
}

func TestFailoverClientsCountNoFailures(t *testing.T) {
	c := newFailoverClients(startFakeLeader(t, &fakeLeader{fails: "CLUSTERDOWN so"}), smallPlan, 1)
	conn, err := dial(c.trio.servers[0].address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.conn.Close()
	if c.takePermits(conn, 0, []int{0, 1}) || c.granted[0].Load() != 0 || c.firstElsewhere.Load() != 0 {
		t.Errorf("granted %d permits, want 0", c.granted[0].Load())
	}
}

func TestReaches(t *testing.T) {
	c := newFailoverClients(nil, smallPlan, 1)
	for _, tt := range []struct {
		name         string
		happens      func()
		minor, major []int
	}{
		{"at first", func() {}, everyHost, everyHost},
		{"isolated", func() { c.markFault(isolated, time.Now()) }, []int{1}, []int{0, 2}},
		{"healed", c.heal, everyHost, everyHost},
		{"killed", func() { c.markFault(killed, time.Now()) }, []int{0, 2}, []int{0, 2}},
	} {
		tt.happens()
		if minor, major := c.reaches(0), c.reaches(1); !slices.Equal(minor, tt.minor) || !slices.Equal(major, tt.major) {
			t.Errorf("%s: clients reach %v and %v, want %v and %v", tt.name, minor, major, tt.minor, tt.major)
		}
	}
}

func TestRecordDecision(t *testing.T) {
	c := newFailoverClients(nil, smallPlan, 1)
	asked := time.Now()
	c.recordDecision(0, asked) // no fault yet
	since := asked.Add(time.Microsecond)
	c.markFault(killed, since)
	c.recordDecision(0, asked)                  // sent before the fault
	c.recordDecision(1, since.Add(time.Second)) // by the former leader
	if got := c.firstElsewhere.Load(); got != 0 {
		t.Errorf("%v until the first decision elsewhere, want none", time.Duration(got))
	}
	c.recordDecision(2, since.Add(time.Microsecond))
	if c.firstElsewhere.Load() == 0 {
		t.Error("no decision elsewhere")
	}
}

func TestUsedOfPeek(t *testing.T) {
	for _, tt := range []struct {
		reply any
		want  int64 // -1: an error
	}{
		{nil, 0},
		{[]any{"token", int64(100), int64(30), int64(0), int64(0)}, 70},
		{[]any{"token", int64(100)}, -1},
		{"OK", -1},
	} {
		if got, err := usedOfPeek(tt.reply, 100); err == nil && got != tt.want || err != nil && tt.want != -1 {
			t.Errorf("usedOfPeek(%v) = %d, %v, want %d", tt.reply, got, err, tt.want)
		}
	}
}
