package server

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Clients with slow batches delay another client by one or two batches, not by a batch of
// each client, whether they send single commands or long pipelines. The test counts
// batches, not time.
func TestHeavyClientsShareAWakeUp(t *testing.T) {
	const heavy, rounds = 60, 15
	work := array("SLEEP", "x") + array("BIG", strconv.Itoa(batchOutputBytes))
	for _, depth := range []int{1, 100} {
		t.Run(fmt.Sprint("pipeline of ", depth), func(t *testing.T) {
			r := start(t, Config{Loops: 1})
			for range heavy {
				go sendRepeatedly(r.dial(), strings.Repeat(work, depth), depth)
			}
			until(t, "all clients are busy", func() bool { return r.echo.answered.Load() > 2*2*heavy })
			witness := r.dial()
			send(t, witness, array("OP", "x"))
			expect(t, witness, bulk("x"))
			in := bufio.NewReader(witness)
			var between []int64
			for range rounds {
				before := r.echo.answered.Load()
				send(t, witness, array("COUNT"))
				reply, err := readBulk(in)
				count, _ := strconv.ParseInt(reply, 10, 64)
				if err != nil || count <= before {
					t.Fatalf("COUNT answered %q, %v", reply, err)
				}
				between = append(between, (count-before-1)/2)
			}
			slices.Sort(between)
			if got := between[rounds/2]; got > heavy/4 {
				t.Errorf("%d batches of %d heavy clients while another waits, want at most %d; in all %v", got, heavy, heavy/4,
					between)
			}
		})
	}
}

// sendRepeatedly sends depth commands of work again and again and reads all replies,
// until the connection ends.
func sendRepeatedly(nc net.Conn, work string, depth int) {
	in := bufio.NewReader(nc)
	for {
		if _, err := io.WriteString(nc, work); err != nil {
			return
		}
		for range 2 * depth {
			if _, err := readBulk(in); err != nil {
				return
			}
		}
	}
}

// All queued connections are served, in order.
func TestHeavyClientsAreAllServed(t *testing.T) {
	r := start(t, Config{Loops: 1})
	const heavy = 40
	work := array("SLEEP", "x") + array("BIG", strconv.Itoa(batchOutputBytes))
	done := make(chan error, heavy)
	for range heavy {
		nc := r.dial()
		go func() {
			in := bufio.NewReader(nc)
			if _, err := io.WriteString(nc, strings.Repeat(work, 4)+array("OP", "end")); err != nil {
				done <- err
				return
			}
			for range 8 {
				_, _ = readBulk(in)
			}
			if reply, err := readBulk(in); reply != "end" || err != nil {
				done <- fmt.Errorf("the last reply is %q, %v", reply, err)
				return
			}
			done <- nil
		}()
	}
	for range heavy {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}
