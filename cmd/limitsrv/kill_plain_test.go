package main

import (
	"crypto/sha1"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
)

// Limiters in Lua: they count up a number to a limit, with an expiry that is later than the end
// of the test, and refuse with the number and the sign turned. The second does not declare its
// key.
const (
	declaredLimiter = "local n = tonumber(redis.call('GET', KEYS[1]) or 0) if n >= tonumber(ARGV[1]) then return -n end " +
		"n = redis.call('INCR', KEYS[1]) redis.call('EXPIRE', KEYS[1], 1000000, 'NX') return n"
	anyKeyLimiter = "local key = ARGV[2] local n = tonumber(redis.call('GET', key) or 0) if n >= tonumber(ARGV[1]) then " +
		"return -n end n = redis.call('INCR', key) redis.call('EXPIRE', key, 1000000, 'NX') return n"
)

// A windowCount is a number that clients count up with INCR, in a transaction with an EXPIRE
// that is later than the end of the test, or by a limiter in Lua. A client is admitted by a
// number up to limit.
type windowCount struct {
	key    string
	limit  int64
	script string // empty: a transaction

	mu       sync.Mutex
	told     map[int64]bool
	admitted int64
	sent     int64 // counts that may be in the number
	most     int64 // the greatest number told
}

func newWindowCounts() (all []*windowCount) {
	add := func(name, script string, limit int64) {
		all = append(all, &windowCount{key: fmt.Sprint(name, len(all)), limit: limit, script: script, told: map[int64]bool{}})
	}
	for range 6 {
		add("window:", "", 500)
	}
	for _, limit := range []int64{500, 500, 100_000_000, 100_000_000} { // most never refuse
		add("scripted:", declaredLimiter, limit)
		add("scripted:", anyKeyLimiter, limit)
	}
	return all
}

// commands returns the commands of a count, and notes them; the reply to the last command
// is the count's reply.
func (c *windowCount) commands(rng *rand.Rand) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sent++
	switch args := fmt.Sprintf(" 1 %s %d %s", c.key, c.limit, c.key); {
	case c.script != "" && rng.IntN(3) == 0:
		return []string{`EVAL "` + c.script + `"` + args}
	case c.script != "":
		return []string{fmt.Sprintf("EVALSHA %x", sha1.Sum([]byte(c.script))) + args}
	}
	return []string{"MULTI", "INCR " + c.key, "EXPIRE " + c.key + " 1000000 NX", "EXEC"}
}

// answered records the reply to an EXEC.
func (c *windowCount) answered(reply any) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	list, _ := reply.([]any)
	n, ok := reply.(int64)
	switch {
	case isError(reply, "LOADING"), isError(reply, "MISCONF"), isError(reply, "EXECABORT"), isError(reply, "NOSCRIPT"):
		c.sent--
		return nil
	case isError(reply, "UNCERTAIN"): // the disk hangs
		return nil
	case c.script == "" && len(list) == 2:
		n, ok = list[0].(int64)
	case c.script != "" && n == -c.limit:
		c.sent--
		return nil
	}
	if !ok || n <= 0 || c.told[n] {
		return fmt.Errorf("a count of %s was told %v, again %v", c.key, reply, c.told[n])
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
		counts := map[int]*windowCount{} // by the last command
		var commands []string
		for range 1 + rng.IntN(10) {
			c := all[rng.IntN(len(all))]
			commands = append(commands, c.commands(rng)...)
			counts[len(commands)-1] = c
		}
		replies, lost := w.all(commands...)
		for i, reply := range replies {
			if reply == nil {
				break // no reply
			}
			if c := counts[i]; c != nil {
				if err := c.answered(reply); err != nil {
					return err
				}
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
		case c.admitted > c.limit || c.script != "" && got > c.limit:
			failures = append(failures, fmt.Errorf("%s admitted %d of %d", c.key, c.admitted, c.limit))
		case got > 0 && seconds <= 0:
			failures = append(failures, fmt.Errorf("%s is %d and expires in %d s", c.key, got, seconds))
		}
		c.sent, c.most = got, got
	}
	return errors.Join(failures...)
}
