package replication

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"limitsrv/certs"
	"limitsrv/engine"
	"limitsrv/persist"
)

var tokens = engine.Params{Alg: engine.Token, Limit: 1000, Count: 1, Period: 1e9}

// takes returns a batch of n takes of one token, each of a different key.
func takes(prefix string, n int) *engine.Batch {
	b := &engine.Batch{Ops: make([]engine.Op, n)}
	for i := range b.Ops {
		b.Ops[i] = engine.Op{Kind: engine.Take, Params: tokens, N: 1, Key: fmt.Appendf(nil, "%s:%d", prefix, i)}
	}
	return b
}

// followerOf returns a forwarder to the node of the given links.
func followerOf(t testing.TB, leader *links, o linkOptions) (send func([]request), f *forwarder) {
	t.Helper()
	l := tcpLinks(t, identity{clusterA, testNode("2")}, o)
	f = newForwarder(l)
	t.Cleanup(f.close)
	address, node := leader.address(), testNode("1")
	return func(requests []request) { f.send(address, node, requests) }, f
}

// forwarded sends a batch and waits for its answer.
func forwarded(send func([]request), b *engine.Batch) error {
	answered := make(chan error, 1)
	send([]request{{b, func(err error) { answered <- err }}})
	return <-answered
}

// Forwarded batches of many clients get the decisions of a local engine.
func TestForward(t *testing.T) {
	ca := newTestCA(t)
	for _, tt := range []struct {
		name string
		tls  [2]*certs.Files
	}{
		{"in the clear", [2]*certs.Files{}},
		{"over TLS", [2]*certs.Files{ca.issue(t, "a"), ca.issue(t, "b")}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			seed := uint64(time.Now().UnixNano())
			t.Logf("seed %d", seed)
			leader := newTestLeader()
			listening := tcpLinks(t, identity{clusterA, testNode("1")}, linkOptions{tls: tt.tls[0], exec: leader.exec})
			send, _ := followerOf(t, listening, linkOptions{tls: tt.tls[1]})
			var wait sync.WaitGroup
			for client := range 8 {
				wait.Go(func() {
					r := rand.New(rand.NewPCG(seed, uint64(client)))
					local := newTestLeader()
					for range 50 {
						got, want := mixedBatch(r, client)
						if err := forwarded(send, got); err != nil {
							t.Error(err)
							return
						}
						local.exec(want, func(error) {})
						if !reflect.DeepEqual(got.Decisions, want.Decisions) {
							t.Errorf("ops %+v\n got %+v\nwant %+v", want.Ops, got.Decisions, want.Decisions)
							return
						}
					}
				})
			}
			wait.Wait()
		})
	}
}

// mixedBatch returns two equal batches of ops of most kinds for one client's keys.
func mixedBatch(r *rand.Rand, client int) (one, two *engine.Batch) {
	one = new(engine.Batch)
	for range 1 + r.IntN(50) {
		op := engine.Op{Kind: engine.Take, Key: fmt.Appendf(nil, "%d:%d", client, r.IntN(9)), Params: tokens, N: r.Int64N(3)}
		switch r.IntN(6) {
		case 0:
			op.Kind, op.Params = engine.Peek, engine.Params{}
		case 1:
			op.Kind, op.Params, op.N = engine.Forget, engine.Params{}, 1
		case 2:
			op.Kind, op.Params, op.N, op.ID = engine.Acquire, testParams[4], 1, fmt.Append(nil, r.IntN(3))
			op.Key = append(op.Key, 'l')
		case 3:
			op.Mode = engine.Partial | engine.Shadow
		case 4:
			op.Params.Limit = 5
		}
		one.Ops = append(one.Ops, op)
	}
	one.Atomic = r.IntN(2) == 0
	return one, &engine.Batch{Ops: one.Ops, Atomic: one.Atomic}
}

// The leader sees the whole batch, in order, until it has answered.
func TestForwardOrder(t *testing.T) {
	var (
		mu    sync.Mutex
		seen  []*engine.Batch
		dones []func(error)
	)
	commits := make(chan int, 10000)
	listening := tcpLinks(t, identity{clusterA, testNode("1")}, linkOptions{
		exec: func(b *engine.Batch, done func(error)) {
			mu.Lock()
			seen, dones = append(seen, b), append(dones, done)
			mu.Unlock()
		},
		commit: func() {
			mu.Lock()
			commits <- len(seen)
			mu.Unlock()
		},
	})
	send, _ := followerOf(t, listening, linkOptions{})
	const batches = 500
	answers := make(chan int, batches)
	var sent []request
	for i := range batches {
		b := takes(strings.Repeat("k", i), 1+i%7)
		b.Atomic = i%2 == 0
		b.Ops[0].Kind, b.Ops[0].Params, b.Ops[0].ID = engine.Release, engine.Params{}, fmt.Append(nil, "id", i)
		sent = append(sent, request{b, func(err error) {
			if err != nil {
				t.Error(err)
			}
			answers <- i
		}})
		if i%50 == 49 {
			send(sent[i-49:])
		}
	}
	for n := 0; n < batches; {
		n = <-commits
	}
	mu.Lock()
	for i, b := range seen {
		if want := sent[i].batch; b.Atomic != want.Atomic || !reflect.DeepEqual(b.Ops, want.Ops) {
			t.Fatalf("batch %d is\n     %+v\nwant %+v", i, b.Ops, want.Ops)
		}
		b.Decisions = make([]engine.Decision, len(b.Ops))
	}
	mu.Unlock()
	for i := batches - 1; i >= 0; i-- { // answers come in any order
		dones[i](nil)
	}
	for i := batches - 1; i >= 0; i-- {
		if got := <-answers; got != i {
			t.Fatalf("request %d is answered, want %d", got, i)
		}
	}
	if n := len(commits); n > batches/2 {
		t.Errorf("%d commits for %d batches that were read together", n, batches)
	}
}

// The leader's errors reach the follower.
func TestForwardErrors(t *testing.T) {
	var failed error
	listening := tcpLinks(t, identity{clusterA, testNode("1")}, linkOptions{
		exec: func(_ *engine.Batch, done func(error)) { done(failed) },
	})
	send, _ := followerOf(t, listening, linkOptions{})
	for _, tt := range []struct{ give, want error }{
		{fmt.Errorf("no leader: %w", errNotAccepted), errNotAccepted},
		{errUncertain, errUncertain},
		{&codedError{"OOM", "too much"}, &codedError{"OOM", "too much"}},
	} {
		failed = tt.give
		if err := forwarded(send, takes("a", 2)); !reflect.DeepEqual(err, tt.want) {
			t.Errorf("%v is answered as %v, want %v", tt.give, err, tt.want)
		}
	}
	large := takes("a", maxForwardOps+1)
	var coded interface{ Code() string }
	if err := forwarded(send, large); !errors.As(err, &coded) || coded.Code() != "ERR" {
		t.Errorf("a batch of %d ops: %v, want an ERR", len(large.Ops), err)
	}
	failed = nil
	if err := forwarded(send, &engine.Batch{Ops: make([]engine.Op, 0)}); err != nil {
		t.Error("a batch without ops", err)
	}
}

// Requests longer than any buffer are forwarded.
func TestForwardLarge(t *testing.T) {
	leader := newTestLeader()
	listening := tcpLinks(t, identity{clusterA, testNode("1")}, linkOptions{exec: leader.exec})
	send, _ := followerOf(t, listening, linkOptions{})
	for _, n := range []int{1, 200, 20_000} {
		b := takes(strings.Repeat("x", 900), n)
		if err := forwarded(send, b); err != nil || len(b.Decisions) != n || b.Decisions[n-1].Allowed != 1 {
			t.Errorf("%d ops: %v, %d decisions", n, err, len(b.Decisions))
		}
	}
	if leader.ops != 20_201 {
		t.Errorf("the leader had %d ops", leader.ops)
	}
}

// A leader closes a link with invalid frames.
func TestForwardGarbled(t *testing.T) {
	for _, tt := range []struct{ name, frame, want string }{
		{"no entry", "12345678", "it is empty"},
		{"half a number", "1234", "4 bytes"},
		{"another version", "12345678\x7f", "format 127"},
		{"a batch with a time", "12345678\x01\x0f\x02\x41\x01k", "time"},
		{"a Take without parameters", "12345678\x01\x0f\x00\x40\x01k", "lacks"},
		{"a frame that is too long", strings.Repeat("x", forwardHead+maxForwardBytes+1), "33554441 bytes"},
		{"too many ops", "12345678\x01\x0f\x00" + strings.Repeat("\x47", maxForwardOps+1), "more than 262144"},
	} {
		var log records
		listening := tcpLinks(t, identity{clusterA, testNode("1")}, linkOptions{log: log.logger()})
		dialing := tcpLinks(t, identity{clusterA, testNode("2")}, linkOptions{})
		conn, err := dialing.dial(context.Background(), linkForward, listening.address(), "")
		if err != nil {
			t.Fatal(err)
		}
		frame := binary.BigEndian.AppendUint32(nil, uint32(len(tt.frame)))
		conn.Write(append(frame, tt.frame...))
		if n, err := conn.Read(make([]byte, 1)); err == nil {
			t.Errorf("%s: %d bytes are answered", tt.name, n)
		}
		log.await(t, tt.want)
	}
}

// A follower closes a link with invalid answers.
func TestForwardBadAnswers(t *testing.T) {
	for _, tt := range []struct {
		name, answer string
	}{
		{"to another request", "\x07\x01"},
		{"of an unknown kind", "\x00\x09"},
		{"with too few decisions", "\x00\x00"},
		{"with nothing", ""},
	} {
		listening := tcpLinks(t, identity{clusterA, testNode("1")}, linkOptions{})
		dialing := tcpLinks(t, identity{clusterA, testNode("2")}, linkOptions{
			dial: func(ctx context.Context, address string) (net.Conn, error) {
				conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
				return &answering{Conn: conn, asked: make(chan struct{}), answer: append(binary.BigEndian.AppendUint32(nil, uint32(len(tt.answer))), tt.answer...)}, err
			},
		})
		f := newForwarder(dialing)
		err := forwarded(func(r []request) { f.send(listening.address(), testNode("1"), r) }, takes("a", 1))
		if err != errUncertain {
			t.Errorf("%s: %v, want %v", tt.name, err, errUncertain)
		}
		f.close()
	}
}

// answering is a connection that answers the bytes written after the greeting.
type answering struct {
	net.Conn
	writes, greeted int
	asked           chan struct{} // closed when they are written
	answer          []byte
}

func (c *answering) Write(data []byte) (int, error) {
	if c.writes++; c.writes == 2 {
		close(c.asked)
	}
	return c.Conn.Write(data)
}

func (c *answering) Read(data []byte) (int, error) {
	if rest := messageHead + answerBytes - c.greeted; rest > 0 {
		n, err := c.Conn.Read(data[:min(len(data), rest)])
		c.greeted += n
		return n, err
	}
	<-c.asked
	if len(c.answer) > 0 {
		n := copy(data, c.answer)
		c.answer = c.answer[n:]
		return n, nil
	}
	return c.Conn.Read(data)
}

// FuzzForward has a leader read any bytes, with and without a frame around them.
func FuzzForward(f *testing.F) {
	var entry persist.Entry
	entry.Append(0, takes("k", 3))
	one, _ := mixedBatch(rand.New(rand.NewPCG(1, 1)), 1)
	entry.Append(0, one)
	f.Add([]byte("12345678" + string(entry.Bytes())))
	f.Add([]byte("12345678\x01\x0f\x00\x47"))
	f.Add([]byte("12345678"))
	f.Add([]byte("\x02\x00\x00\x08"))
	f.Fuzz(func(t *testing.T, data []byte) {
		synctest.Test(t, func(t *testing.T) {
			network := newPipeNet()
			leader := serveLinks(t, identity{clusterA, testNode("1")}, linkOptions{listener: network.listen("one:1"), dial: network.dial})
			dialing := serveLinks(t, identity{clusterA, testNode("2")}, linkOptions{listener: network.listen("two:2"), dial: network.dial})
			for _, head := range [][]byte{nil, binary.BigEndian.AppendUint32(nil, uint32(len(data)))} {
				conn, err := dialing.dial(t.Context(), linkForward, "one:1", "")
				if err != nil {
					t.Fatal(err)
				}
				go io.Copy(io.Discard, conn)
				conn.Write(append(head, data...))
				conn.Close()
			}
			synctest.Wait()
			leader.mu.Lock()
			if len(leader.open) > 0 {
				t.Error("a link is open when its other end is not")
			}
			leader.mu.Unlock()
		})
	})
}
