package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
)

// A windowCount is a number that clients count up with INCR, in a transaction with an EXPIRE
// that is later than the end of the test. A client is admitted by a number up to limit.
type windowCount struct {
	key   string
	limit int64

	mu       sync.Mutex
	told     map[int64]bool
	admitted int64
	sent     int64 // counts that may be in the number
	most     int64 // the greatest number told
}

func newWindowCounts() (all []*windowCount) {
	for i := range 6 {
		all = append(all, &windowCount{key: fmt.Sprint("window:", i), limit: 500, told: map[int64]bool{}})
	}
	return all
}

// commands returns those of one count, and notes them.
func (c *windowCount) commands() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sent++
	return []string{"MULTI", "INCR " + c.key, "EXPIRE " + c.key + " 1000000 NX", "EXEC"}
}

// answered records the reply to an EXEC.
func (c *windowCount) answered(reply any) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	list, ok := reply.([]any)
	switch {
	case isError(reply, "LOADING"), isError(reply, "MISCONF"), isError(reply, "EXECABORT"):
		c.sent--
		return nil
	case isError(reply, "UNCERTAIN"): // the disk hangs
		return nil
	case !ok || len(list) != 2:
		return fmt.Errorf("reply to a count of %s = %v", c.key, reply)
	}
	n, ok := list[0].(int64)
	if !ok || c.told[n] {
		return fmt.Errorf("a count of %s was told %v, again %v", c.key, list[0], c.told[n])
	}
	c.told[n], c.most = true, max(c.most, n)
	if n <= c.limit {
		c.admitted++
	}
	return nil
}

// forget allows that numbers told so far are lost, and told again.
func (c *windowCount) forget() { c.told, c.most, c.admitted = map[int64]bool{}, 0, 0 }

// loadWindows sends pipelines of counts until the connection is lost.
func loadWindows(address string, all []*windowCount, rng *rand.Rand) error {
	w, err := wireTo(address)
	if err != nil {
		return nil
	}
	defer w.Close()
	for {
		var counts []*windowCount
		var commands []string
		for range 1 + rng.IntN(10) {
			c := all[rng.IntN(len(all))]
			counts, commands = append(counts, c), append(commands, c.commands()...)
		}
		replies, lost := w.all(commands...)
		each := len(commands) / len(counts)
		for i, c := range counts {
			last := (i+1)*each - 1
			if last >= len(replies) || replies[last] == nil {
				break // no reply
			}
			if err := c.answered(replies[last]); err != nil {
				return err
			}
		}
		if lost != nil {
			return nil
		}
	}
}

// auditWindows returns an error for a number that is less than was told, or more than was
// sent, or without an expiry, or admitted too many. Then it continues from the number.
func auditWindows(w *wire, all []*windowCount) error {
	var failures []error
	for _, c := range all {
		replies, err := w.all("GET "+c.key, "TTL "+c.key)
		if err != nil {
			return err
		}
		text, _ := replies[0].(string)
		got, _ := strconv.ParseInt("0"+strings.TrimSpace(text), 10, 64)
		seconds, _ := replies[1].(int64)
		switch {
		case got < c.most || got > c.sent:
			failures = append(failures, fmt.Errorf("%s is %v, %d were told and %d sent", c.key, replies[0], c.most, c.sent))
		case c.admitted > c.limit:
			failures = append(failures, fmt.Errorf("%s admitted %d of %d", c.key, c.admitted, c.limit))
		case got > 0 && seconds <= 0:
			failures = append(failures, fmt.Errorf("%s is %d and expires in %d s", c.key, got, seconds))
		}
		c.sent, c.most = got, got
	}
	return errors.Join(failures...)
}
