package waiting

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"limitsrv/engine"
	"limitsrv/engine/answer"
	"limitsrv/internal/testing/testwait"
)

// A world has lists, and executes the batches of Lines when the test says so.
type world struct {
	*Lines
	lists   map[string][]string
	batches []func() (done func()) // that were not executed yet
	reports []func()               // of growths, that this node has not got yet
	down    bool                   // calls are not decided
	watch   int64
}

var errDown = errors.New("down")

func newWorld() *world {
	w := &world{lists: map[string][]string{}}
	run := func(b *engine.Batch, done func(error)) {
		w.batches = append(w.batches, func() func() {
			b.Decisions = make([]engine.Decision, len(b.Ops))
			for i := range b.Calls {
				if w.down {
					b.Decisions[i].Status = engine.Down
					continue
				}
				w.call(&b.Calls[i])
			}
			return func() { done(nil) }
		})
	}
	w.Lines = New(Config{
		Do: run, Gather: run, Watch: func(n int64) { w.watch += n }, Down: errDown, Log: slog.New(slog.DiscardHandler),
	})
	return w
}

const give = 1 // number of the call that gives an element back

// call carries out a call.
func (w *world) call(c *engine.Call) {
	if c.Command == give {
		key := string(c.Args[0])
		w.lists[key] = append([]string{string(c.Args[1])}, w.lists[key]...)
		w.reports = append(w.reports, w.growth(key))
		c.Answer = answer.AppendInt(c.Answer, 1)
		return
	}
	for _, key := range c.Args[:len(c.Args)-1] {
		if l := w.lists[string(key)]; len(l) > 0 {
			c.Answer = answer.AppendBulk(answer.AppendBulk(answer.AppendArray(c.Answer, 2), key), []byte(l[0]))
			w.lists[string(key)] = l[1:]
			return
		}
	}
	c.Answer = answer.AppendNilArray(c.Answer)
}

// pop is the command of the clients.
var pop = &Command{
	Take: func(b *engine.Batch, words [][]byte) error {
		c := b.AddCall(0)
		c.Args = append(c.Args, words[1:]...)
		return nil
	},
	Return: func(b *engine.Batch, key, element []byte) {
		c := b.AddCall(0)
		c.Command, c.Args = give, append(c.Args, key, element)
	},
}

// join makes a client wait for keys.
func (w *world) join(keys string) *Client {
	c := &Client{Command: pop, Wake: func() {}, Words: [][]byte{[]byte("POP")}}
	for _, key := range strings.Fields(keys) {
		c.Words = append(c.Words, []byte(key))
	}
	c.Keys = c.Words[1:]
	c.Words = append(c.Words, []byte("0"))
	w.Join(c, 0)
	return c
}

// push adds elements to a list; report is the growth.
func (w *world) push(key string, elements ...string) (report func()) {
	w.lists[key] = append(w.lists[key], elements...)
	return w.growth(key)
}

func (w *world) growth(key string) (report func()) {
	n := len(w.lists[key])
	return func() { w.Grew([]engine.Growth{{Key: []byte(key), Count: n}}) }
}

// execute executes the oldest batch.
func (w *world) execute() (done func()) {
	b := w.batches[0]
	w.batches = w.batches[1:]
	return b()
}

// settle executes all batches.
func (w *world) settle() {
	for len(w.batches) > 0 {
		w.execute()()
	}
}

// element returns the element of a client, "nil" or an error if it ended without, "" if it waits.
func (w *world) element(c *Client) string {
	reply, err, over := w.Reply(c)
	switch {
	case !over:
		return ""
	case err != nil:
		return err.Error()
	case reply == nil:
		return "nil"
	}
	_, rest, _ := answer.Next(reply)
	_, rest, _ = answer.Next(rest)
	v, _, _ := answer.Next(rest)
	return string(v.Bytes)
}

// expect checks the elements of clients and the rest of list k.
func (w *world) expect(t *testing.T, event, want string, clients ...*Client) {
	t.Helper()
	var got []string
	waiting := int64(0)
	for _, c := range clients {
		if got = append(got, w.element(c)); w.element(c) == "" && !c.gone {
			waiting++
		}
	}
	if text := fmt.Sprint(got, w.lists["k"]); text != want {
		t.Errorf("%s: %s, want %s", event, text, want)
	}
	if w.Waiting() != waiting || w.watch != waiting {
		t.Errorf("%s: %d clients wait, Waiting is %d, watched by %d", event, waiting, w.Waiting(), w.watch)
	}
}

func TestInOrder(t *testing.T) {
	w := newWorld()
	a, b, c := w.join("none k"), w.join("k k"), w.join("k")
	w.settle()
	w.push("k", "1", "2")()
	w.settle()
	w.expect(t, "two elements", "[1 2 ] []", a, b, c)
	w.EndAll()
	w.expect(t, "the end", "[1 2 nil] []", a, b, c)
	d := w.join("k")
	w.settle()
	w.expect(t, "after the end", "[1 2 nil nil] []", a, b, c, d)
}

func TestClientLeavesDuringAttempt(t *testing.T) {
	w := newWorld()
	a, b := w.join("k"), w.join("k")
	w.settle()
	w.push("k", "1")()
	done := w.execute()
	w.Leave(a)
	done()
	w.expect(t, "the next gets the element", "[ 1] []", a, b)
	c := w.join("k")
	w.settle()
	w.push("k", "2", "3")()
	done = w.execute()
	w.Leave(c)
	done()
	w.settle()
	w.expect(t, "it goes back", "[ 1 ] [2 3]", a, b, c)
}

func TestGrowthDuringAttempt(t *testing.T) {
	w := newWorld()
	a := w.join("j k")
	done := w.execute()
	w.push("k", "1")()
	done()
	w.settle()
	w.expect(t, "it tries again", "[1] []", a)
}

func TestJoinDoesNotOvertake(t *testing.T) {
	w := newWorld()
	a := w.join("k")
	w.settle()
	report := w.push("k", "1") // this node does not know yet
	b := w.join("k")
	w.settle()
	w.expect(t, "the longest wait gets the element", "[1 ] []", a, b)
	report()
	w.settle()
	w.expect(t, "the report comes late", "[1 ] []", a, b)
	w.push("k", "2")()
	w.settle()
	w.expect(t, "the other waits on", "[1 2] []", a, b)
}

func TestEndDuringAttempt(t *testing.T) {
	w := newWorld()
	a, b := w.join("k"), w.join("k")
	w.settle()
	w.Grew(nil)
	w.push("k", "1")
	done := w.execute()
	if !w.End(a, errDown) || !w.End(b, errDown) || w.End(b, nil) {
		t.Error("End does not report whether the client was waiting")
	}
	done()
	w.expect(t, "an element, and the end", "[1 down] []", a, b)
}

func TestUndecided(t *testing.T) {
	w := newWorld()
	a := w.join("k")
	w.settle()
	w.down = true
	b := w.join("k")
	w.settle()
	w.expect(t, "the first attempt is answered", "[ down] []", a, b)
	report := w.push("k", "1")
	report()
	w.settle()
	w.expect(t, "others wait on", "[ down] [1]", a, b)
}

func TestUndecidedIsTriedAgain(t *testing.T) {
	ran := make(chan func(error), 10)
	run := func(b *engine.Batch, done func(error)) {
		b.Decisions = make([]engine.Decision, len(b.Ops))
		b.Calls[0].Answer = answer.AppendNilArray(nil)
		ran <- func(err error) {
			if err != nil {
				b.Decisions[0].Status = engine.Down
			}
			done(nil)
		}
	}
	ls := New(Config{
		Do: run, Gather: run, Watch: func(int64) {}, Down: errDown, Log: slog.New(slog.DiscardHandler),
	})
	ls.Join(&Client{Command: pop, Wake: func() {}, Words: [][]byte{nil, []byte("k"), []byte("0")},
		Keys: [][]byte{[]byte("k")}}, 0)
	(<-ran)(nil)
	ls.Grew(nil)
	(<-ran)(errDown)
	select {
	case done := <-ran:
		done(nil)
	case <-time.After(testwait.Scaled(30 * time.Second)):
		t.Fatal("the line is not tried again")
	}
}

// TestRandomOrders executes batches and reports growths in random orders: each element goes to
// one client or stays, and at the end nobody waits for a list with elements.
func TestRandomOrders(t *testing.T) {
	seed := testwait.Seed(t)
	t.Logf("seed %d", seed)
	for round := range uint64(3000) {
		random := rand.New(rand.NewPCG(seed, round))
		w := newWorld()
		var clients []*Client
		var dones []func()
		pushed := 0
		for range 60 {
			switch random.IntN(7) {
			case 0, 1:
				clients = append(clients, w.join(strings.Join([]string{"k", "j", "i"}[:1+random.IntN(3)], " ")))
			case 2:
				w.reports = append(w.reports, w.push([]string{"k", "j", "i"}[random.IntN(3)], fmt.Sprint(pushed)))
				pushed++
			case 3:
				if len(w.reports) > 0 {
					w.reports[0]()
					w.reports = w.reports[1:]
				}
			case 4:
				if len(w.batches) > 0 {
					dones = append(dones, w.execute())
				}
			case 5:
				if i := random.IntN(len(dones) + 1); i < len(dones) {
					dones[i]()
					dones = slices.Delete(dones, i, i+1)
				}
			case 6:
				if i := random.IntN(len(clients) + 8); i < len(clients) {
					w.Leave(clients[i])
				}
			}
		}
		for len(dones)+len(w.reports)+len(w.batches) > 0 {
			all := slices.Concat(dones, w.reports)
			dones, w.reports = nil, nil
			for _, f := range all {
				f()
			}
			w.settle()
		}
		w.check(t, round, clients, pushed)
	}
}

func (w *world) check(t *testing.T, round uint64, clients []*Client, pushed int) {
	t.Helper()
	var all []string
	waits := map[string]bool{}
	for _, c := range clients {
		switch e := w.element(c); {
		case e != "":
			all = append(all, e)
		case !c.gone:
			for _, key := range c.Keys {
				waits[string(key)] = true
			}
		}
	}
	for key, list := range w.lists {
		all = append(all, list...)
		if len(list) > 0 && waits[key] {
			t.Errorf("round %d: a client waits for %s, which has %q", round, key, list)
		}
	}
	slices.Sort(all)
	if len(all) != pushed || len(slices.Compact(all)) != pushed {
		t.Errorf("round %d: %d elements of %d, %q", round, len(all), pushed, all)
	}
	if w.watch != w.Waiting() {
		t.Errorf("round %d: %d wait, watched by %d", round, w.Waiting(), w.watch)
	}
}
