package link

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"limitsrv/replication/link/linktest"
)

func TestCall(t *testing.T) {
	caller := Identity{Node: testNode("2")}
	answering := tcpNode(t, Identity{clusterA, testNode("1")}, Options{
		Call: func(ctx context.Context, from Peer, name string, body json.RawMessage) (any, error) {
			switch name {
			case "echo":
				return map[string]any{"from": from.Identity, "body": body}, nil
			case "coded":
				return nil, NewError("NOLEADER", "there is no leader")
			case "empty error":
				return nil, errors.New("")
			case "long":
				return strings.Repeat("x", maxReplyBytes), nil
			case "no JSON":
				return make(chan int), nil
			}
			return nil, errors.New("no call " + name)
		},
	})
	calling := tcpNode(t, caller, Options{})
	call := func(name string, request, reply any) error {
		return calling.Call(t.Context(), answering.address(), name, request, reply)
	}

	var reply struct {
		From Identity
		Body string
	}
	if err := call("echo", "a", &reply); err != nil || reply.From != caller || reply.Body != "a" {
		t.Errorf("echo is %+v, %v", reply, err)
	}
	if err := call("echo", "a", nil); err != nil {
		t.Error("a reply without a destination", err)
	}
	var coded interface{ Code() string }
	if err := call("coded", 1, nil); !errors.As(err, &coded) || coded.Code() != "NOLEADER" ||
		err.Error() != "there is no leader" {
		t.Errorf("an error with a code is %v", err)
	}
	for _, tt := range []struct {
		name    string
		request any
		want    string
	}{
		{"unknown", nil, "no call unknown"},
		{"empty error", nil, "failed"},
		{"long", nil, "at most 33554432"},
		{"no JSON", nil, "EOF"},
		{"echo", strings.Repeat("x", maxCallBytes), "at most 1048576"},
		{"echo", make(chan int), "unsupported type"},
	} {
		if err := call(tt.name, tt.request, nil); err == nil || !strings.Contains(err.Error(), tt.want) ||
			errors.As(err, &coded) {
			t.Errorf("call %s is %v, want %q and no code", tt.name, err, tt.want)
		}
	}
	number := 0
	if err := call("echo", "a", &number); err == nil ||
		!strings.Contains(err.Error(), "reply to echo of node at "+answering.address()) {
		t.Errorf("a reply of another type is %v", err)
	}
	calling.Close()
	if err := call("echo", "a", nil); err == nil || errors.Is(err, ErrUnanswered) {
		t.Errorf("a call over closed links that was not sent: %v", err)
	}
}

// A Caller keeps its link, and makes another link if the link breaks or leads elsewhere.
func TestCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := linktest.NewNetwork()
		serve := func(digit, address string) *Links {
			return serveNode(t, Identity{clusterA, testNode(digit)}, Options{
				Listener: network.Listen(address), Dial: network.Dial,
				Call: func(_ context.Context, _ Peer, name string, _ json.RawMessage) (any, error) {
					if name == "fail" {
						return nil, errors.New("it failed")
					}
					return digit, nil
				},
			})
		}
		one, two := serve("1", "one:1"), serve("2", "two:2")
		dials := 0
		calling := serveNode(t, Identity{clusterA, testNode("3")}, Options{
			Listener: network.Listen("three:3"),
			Dial: func(ctx context.Context, address string) (net.Conn, error) {
				dials++
				return network.Dial(ctx, address)
			},
		})
		caller := calling.NewCaller()
		expect := func(event, address, name, want string, wantDials int) {
			t.Helper()
			var reply string
			err := caller.Call(t.Context(), address, name, nil, &reply)
			if err != nil {
				reply = err.Error()
			}
			if reply != want || dials != wantDials {
				t.Errorf("%s: %q after %d dials, want %q after %d", event, reply, dials, want, wantDials)
			}
		}
		hangUp := func(l *Links) {
			l.mu.Lock()
			for conn := range l.open {
				conn.Conn.Close()
			}
			l.mu.Unlock()
			synctest.Wait()
		}
		expect("the first call", "one:1", "digit", "1", 1)
		time.Sleep(time.Hour)
		expect("a later call", "one:1", "digit", "1", 1)
		expect("a call that fails", "one:1", "fail", "it failed", 1)
		expect("a call after it", "one:1", "digit", "1", 1)
		expect("a call elsewhere", "two:2", "digit", "2", 2)
		hangUp(two)
		expect("a call after the other node hung up", "two:2", "digit", "2", 3)
		expect("a call back", "one:1", "digit", "1", 4)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := caller.Call(ctx, "one:1", "digit", nil, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("a canceled call: %v", err)
		}
		expect("a call after a canceled one", "one:1", "digit", "1", 5)
		caller.Close()
		synctest.Wait()
		one.mu.Lock()
		defer one.mu.Unlock()
		if len(one.open) > 0 {
			t.Error("the other node has a link after Close")
		}
	})
}

// The context of a call ends when the caller hangs up.
func TestCallCanceled(t *testing.T) {
	for _, tt := range []struct {
		name   string
		giveUp func(cancel context.CancelFunc, calling, answering *Links)
		want   error
	}{
		{"by its context", func(cancel context.CancelFunc, _, _ *Links) { cancel() }, context.Canceled},
		{"by its context, as an unknown outcome", func(cancel context.CancelFunc, _, _ *Links) { cancel() }, ErrUnanswered},
		{"as the caller closes", func(_ context.CancelFunc, calling, _ *Links) { calling.Close() }, ErrUnanswered},
		{"as the other closes", func(_ context.CancelFunc, _, answering *Links) { answering.Close() }, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				network := linktest.NewNetwork()
				reported := false
				answering := serveNode(t, Identity{clusterA, testNode("1")}, Options{
					Listener: network.Listen("one:1"), Dial: network.Dial,
					Call: func(ctx context.Context, _ Peer, _ string, _ json.RawMessage) (any, error) {
						<-ctx.Done()
						reported = true
						return nil, ctx.Err()
					},
				})
				calling := serveNode(t, Identity{clusterA, testNode("2")},
					Options{Listener: network.Listen("two:2"), Dial: network.Dial})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				ended := make(chan error, 1)
				go func() { ended <- calling.Call(ctx, "one:1", "wait", nil, nil) }()
				time.Sleep(time.Hour) // it has been written, and a call may take long
				if reported || len(ended) > 0 {
					t.Fatal("the call ends before it is canceled")
				}
				tt.giveUp(cancel, calling, answering)
				synctest.Wait()
				if err := <-ended; err == nil || tt.want != nil && !errors.Is(err, tt.want) {
					t.Errorf("it is %v, want %v", err, tt.want)
				}
				if !reported {
					t.Error("the callee's context does not end")
				}
			})
		})
	}
}

// FuzzCall reads any bytes as a call.
func FuzzCall(f *testing.F) {
	frame, _ := callFrame(callRequest{"a", json.RawMessage(`{"b":1}`)}, maxCallBytes)
	f.Add(frame)
	f.Add(append(frame, 1))
	f.Add([]byte("\x00\x00\x00\x00"))
	f.Add([]byte("\x00\x00\x00\x01{"))
	f.Add([]byte("\x7f\xff\xff\xff{}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		synctest.Test(t, func(t *testing.T) {
			network := linktest.NewNetwork()
			answering := serveNode(t, Identity{clusterA, testNode("1")},
				Options{Listener: network.Listen("one:1"), Dial: network.Dial})
			calling := serveNode(t, Identity{clusterA, testNode("2")},
				Options{Listener: network.Listen("two:2"), Dial: network.Dial})
			conn, err := calling.dial(t.Context(), linkCall, "one:1", "")
			if err != nil {
				t.Fatal(err)
			}
			go io.Copy(io.Discard, conn)
			conn.Write(data)
			conn.Close()
			synctest.Wait()
			answering.mu.Lock()
			if len(answering.open) > 0 {
				t.Error("a link is open when its other end is not")
			}
			answering.mu.Unlock()
		})
	})
}
