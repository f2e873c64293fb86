package forward

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"limitsrv/engine"
	"limitsrv/internal/certs"
	"limitsrv/internal/testing/testwait"
	"limitsrv/persist"
	"limitsrv/replication/link"
	"limitsrv/replication/link/linktest"
)

var tokens = engine.Params{Alg: engine.Token, Limit: 1000, Count: 1, Period: 1e9}

// takes returns a batch of n takes of a token, each of a different key.
func takes(prefix string, n int) *engine.Batch {
	b := &engine.Batch{Ops: make([]engine.Op, n)}
	for i := range b.Ops {
		b.Ops[i] = engine.Op{Kind: engine.Take, Params: tokens, N: 1, Key: fmt.Appendf(nil, "%s:%d", prefix, i)}
	}
	return b
}

// followerOf returns a function that sends requests to the node of the given links.
func followerOf(t testing.TB, leader *testLinks, o link.Options) (send func([]Request)) {
	t.Helper()
	f := testClient(tcpLinks(t, "2", o, Server{}).Links, testTimeout)
	t.Cleanup(f.Close)
	return func(requests []Request) { f.Send(leader.address, nodeID("1"), requests) }
}

// forwarded sends a batch and waits for its answer.
func forwarded(send func([]Request), b *engine.Batch) error {
	answered := make(chan error, 1)
	send([]Request{{b, func(err error) { answered <- err }}})
	return <-answered
}

// Forwarded batches of many clients get the decisions of a local engine.
func TestForward(t *testing.T) {
	ca := linktest.NewCA(t)
	for _, tt := range []struct {
		name string
		tls  [2]*certs.Files
	}{
		{"in the clear", [2]*certs.Files{}},
		{"over TLS", [2]*certs.Files{ca.Issue(t, "a"), ca.Issue(t, "b")}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			seed := testwait.Seed(t)
			t.Logf("seed %d", seed)
			leader := newTestLeader()
			listening := tcpLinks(t, "1", link.Options{TLS: tt.tls[0]}, Server{Do: each(leader.exec)})
			send := followerOf(t, listening, link.Options{TLS: tt.tls[1]})
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

// mixedBatch returns two equal batches of ops of most kinds for a client's keys.
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
	calls := make(chan int, 10000)
	listening := tcpLinks(t, "1", link.Options{}, Server{
		Do: func(all []Request) {
			mu.Lock()
			for _, r := range all {
				seen, dones = append(seen, r.Batch), append(dones, r.Done)
			}
			calls <- len(seen)
			mu.Unlock()
		},
	})
	send := followerOf(t, listening, link.Options{})
	const batches = 500
	answers := make(chan int, batches)
	var sent []Request
	for i := range batches {
		b := takes(strings.Repeat("k", i), 1+i%7)
		b.Atomic = i%2 == 0
		b.Ops[0].Kind, b.Ops[0].Params, b.Ops[0].ID = engine.Release, engine.Params{}, fmt.Append(nil, "id", i)
		sent = append(sent, Request{b, func(err error) {
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
		n = <-calls
	}
	mu.Lock()
	for i, b := range seen {
		if want := sent[i].Batch; b.Atomic != want.Atomic || !reflect.DeepEqual(b.Ops, want.Ops) {
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
	if n := len(calls); n > batches/2 {
		t.Errorf("%d calls for %d batches that were read together", n, batches)
	}
}

// The leader's errors reach the follower.
func TestForwardErrors(t *testing.T) {
	var failed error
	listening := tcpLinks(t, "1", link.Options{}, Server{
		Do: each(func(_ *engine.Batch, done func(error)) { done(failed) }),
	})
	send := followerOf(t, listening, link.Options{})
	for _, tt := range []struct{ give, want error }{
		{fmt.Errorf("no leader: %w", ErrNotAccepted), ErrNotAccepted},
		{persist.ErrUncertain, persist.ErrUncertain},
		{link.NewError("OOM", "too much"), link.NewError("OOM", "too much")},
	} {
		failed = tt.give
		if err := forwarded(send, takes("a", 2)); !reflect.DeepEqual(err, tt.want) {
			t.Errorf("%v is answered as %v, want %v", tt.give, err, tt.want)
		}
	}
	large := takes("a", maxOps+1)
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
	listening := tcpLinks(t, "1", link.Options{}, Server{Do: each(leader.exec)})
	send := followerOf(t, listening, link.Options{})
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

// TestForwardBoundsAnswers: the answers of a batch are bounded at the leader, since more can't be
// forwarded.
func TestForwardBoundsAnswers(t *testing.T) {
	leader := newTestLeader()
	var bounds []int
	listening := tcpLinks(t, "1", link.Options{}, Server{Do: each(func(b *engine.Batch, done func(error)) {
		bounds = append(bounds, b.AnswerBytes)
		leader.exec(b, done)
	})})
	send := followerOf(t, listening, link.Options{})
	for _, atomic := range []bool{true, false, true} { // a batch of the leader is reused
		b := takes("x", 2)
		b.Atomic = atomic
		if err := forwarded(send, b); err != nil {
			t.Fatal(err)
		}
	}
	if want := slices.Repeat([]int{engine.MaxAnswerBytes}, 3); !reflect.DeepEqual(bounds, want) {
		t.Errorf("bounds %v, want %v", bounds, want)
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
		{"a frame that is too long", strings.Repeat("x", requestHead+maxRequestBytes+1), "33554441 bytes"},
		{"too many ops", "12345678\x01\x0f\x00" + strings.Repeat("\x47", maxOps+1), "more than 262144"},
	} {
		var log testwait.Log
		listening := tcpLinks(t, "1", link.Options{Log: log.Logger()}, Server{Do: each(newTestLeader().exec)})
		dialing := tcpLinks(t, "2", link.Options{}, Server{})
		conn, err := dialing.DialForward(t.Context(), listening.address, "")
		if err != nil {
			t.Fatal(err)
		}
		frame := binary.BigEndian.AppendUint32(nil, uint32(len(tt.frame)))
		conn.Write(append(frame, tt.frame...))
		if n, err := conn.Read(make([]byte, 1)); err == nil {
			t.Errorf("%s: %d bytes are answered", tt.name, n)
		}
		log.Await(t, tt.want)
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
		listening := tcpLinks(t, "1", link.Options{Forwarded: func(conn net.Conn) error {
			conn.Read(make([]byte, requestHead))
			conn.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(tt.answer))), tt.answer...))
			_, err := io.Copy(io.Discard, conn)
			return err
		}}, Server{})
		if err := forwarded(followerOf(t, listening, link.Options{}), takes("a", 1)); err != persist.ErrUncertain {
			t.Errorf("%s: %v, want %v", tt.name, err, persist.ErrUncertain)
		}
	}
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
			network := linktest.NewNetwork()
			leader := serveLinks(t, "1", link.Options{Listener: network.Listen("one:1"), Dial: network.Dial},
				Server{Do: each(newTestLeader().exec)})
			dialing := serveLinks(t, "2", link.Options{Listener: network.Listen("two:2"), Dial: network.Dial}, Server{})
			for _, head := range [][]byte{nil, binary.BigEndian.AppendUint32(nil, uint32(len(data)))} {
				conn, err := dialing.DialForward(t.Context(), "one:1", "")
				if err != nil {
					t.Fatal(err)
				}
				go io.Copy(io.Discard, conn)
				conn.Write(append(head, data...))
				conn.Close()
			}
			synctest.Wait()
			if leader.open.Load() > 0 {
				t.Error("a link is open when its other end is not")
			}
		})
	})
}
