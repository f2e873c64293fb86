package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	randomCalls   = 200 // of the scripts of each library
	callsPerCheck = 20  // between two comparisons of all contents
	randomTries   = 3   // because keys may expire between the calls to the two servers
	// fewestScripted is the fewest libraries with scripts that a run of all must have.
	fewestScripted = 20
)

// scripted are the recorded scripts and calls of a library.
type scripted struct {
	name  string
	texts map[string]string // by hash
	calls []scriptCall
}

type scriptCall struct {
	hash       string
	keys, args []string
}

// readScripts reads the lines that a monitor has stored. A library without calls has no scripts.
func readScripts(folder, library string) (s scripted, err error) {
	s = scripted{name: library, texts: map[string]string{}}
	data, err := os.ReadFile(filepath.Join(folder, library, "calls"))
	if err != nil {
		return s, err
	}
	for line := range strings.Lines(string(data)) {
		hash, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		words, err := unquote(rest)
		if err != nil {
			return s, err
		}
		count, err := strconv.Atoi(words[0])
		if err != nil || count < 0 || count >= len(words) {
			continue // an error on both servers
		}
		if s.texts[hash] == "" {
			text, err := os.ReadFile(filepath.Join(folder, library, hash+".lua"))
			if errors.Is(err, os.ErrNotExist) {
				continue
			} else if err != nil {
				return s, err
			}
			s.texts[hash] = string(text)
		}
		s.calls = append(s.calls, scriptCall{hash, words[1 : 1+count], words[1+count:]})
	}
	return s, nil
}

// errEndless is a call that redis-server did not end in time. Changed arguments can make a
// script count for ever; a server with a budget of steps has ended it.
var errEndless = errors.New("redis-server did not end the call")

// compareRandomly sends random calls of the libraries' scripts to redis-server and to another
// server, and returns the number of libraries with scripts, and the differences.
func compareRandomly(ctx context.Context, libraries []library, against program, scripts, folder string,
	seed uint64) (compared int, err error) {
	var pair [2]*server
	defer func() {
		for _, s := range pair {
			if s != nil {
				s.stop()
			}
		}
	}()
	for i, p := range []program{{path: redisServer}, against} {
		if pair[i], err = start(ctx, p, folder); err != nil {
			return 0, err
		}
	}
	for _, l := range libraries {
		s, readErr := readScripts(scripts, l.name)
		switch {
		case pair[0] == nil: // it could not be replaced
			return compared, err
		case errors.Is(readErr, os.ErrNotExist):
			continue
		case readErr != nil:
			return compared, readErr
		case len(s.calls) == 0:
			continue
		}
		compared++
		differs := s.compare(ctx, &pair, folder, seed)
		if differs != nil {
			err = errors.Join(err, fmt.Errorf("the scripts of %s: %w", s.name, differs))
		}
	}
	return compared, err
}

// compare plays random calls until there is no difference, at most randomTries times. It
// replaces redis-server if that does not end a call, and goes on with the next seed.
func (s *scripted) compare(ctx context.Context, pair *[2]*server, folder string, seed uint64) (differs error) {
	for range randomTries {
		differs = s.play(ctx, *pair, seed)
		switch {
		case differs == nil || ctx.Err() != nil:
			return differs
		case errors.Is(differs, errEndless):
			seed++
			pair[0].kill()
			var err error
			if pair[0], err = start(ctx, program{path: redisServer}, folder); err != nil {
				return err
			}
		}
	}
	return differs
}

// play sends random calls to both servers, which are made empty first, and returns the first
// difference.
func (s *scripted) play(ctx context.Context, pair [2]*server, seed uint64) error {
	var both [2]*respConn
	for i := range pair {
		conn, err := dialRESP(pair[i].address)
		if err != nil {
			return err
		}
		defer conn.close()
		both[i] = conn
		if _, err := conn.do("FLUSHALL"); err != nil {
			return err
		}
	}
	r := randomizer{rand.New(rand.NewPCG(seed, 1)), s, time.Now()}
	for n := range randomCalls {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		words, passing := r.call()
		if err := sameReplies(both, passing, words...); err != nil {
			return fmt.Errorf("call %d: %w", n, err)
		}
		count, _ := strconv.Atoi(words[2])
		if err := dropShort(both, words[3:3+count]); err != nil {
			return fmt.Errorf("call %d: %w", n, err)
		}
		if n%callsPerCheck == callsPerCheck-1 {
			if err := sameContents(both); err != nil {
				return fmt.Errorf("after call %d: %w", n, err)
			}
		}
	}
	return nil
}

// A randomizer changes recorded calls at random.
type randomizer struct {
	*rand.Rand
	of  *scripted
	now time.Time
}

var (
	// timeCall is a call of TIME, which is replaced by a time of the test's own.
	timeCall = regexp.MustCompile(`(?i)redis\.p?call\(\s*['"]time['"]\s*\)`)
	// passingCall are the parts of scripts with replies that depend on the server's time.
	passingCall = regexp.MustCompile(`(?i)['"](p?ttl|time)['"]`)
)

// call returns an EVAL, and whether its reply depends on the server's time.
func (r *randomizer) call() (words []string, passing bool) {
	recorded := r.of.calls[r.IntN(len(r.of.calls))]
	if r.IntN(3) > 0 {
		r.now = r.now.Add(time.Duration(r.ExpFloat64() * float64(300*time.Millisecond)))
	}
	script := timeCall.ReplaceAllString(r.of.texts[recorded.hash],
		fmt.Sprintf("({'%d','%d'})", r.now.Unix(), r.now.Nanosecond()/1000))
	words = []string{"EVAL", script, strconv.Itoa(len(recorded.keys))}
	for _, key := range recorded.keys {
		if r.IntN(8) == 0 {
			key = r.other(func(c *scriptCall) []string { return c.keys })
		}
		words = append(words, key)
	}
	for _, arg := range recorded.args {
		if r.IntN(5) == 0 {
			arg = r.change(arg)
		}
		words = append(words, eighths(arg))
	}
	if r.IntN(30) == 0 && len(recorded.args) > 0 {
		words = words[:len(words)-1]
	}
	return words, passingCall.MatchString(script)
}

// eighths returns a number with a fraction as a multiple of an eighth, and another word as it
// is. Sums of such numbers are exact, so that Redis 7.0, with 17 digits, and Redis 7.2, with as
// few as there must be, write them alike: a script may compare them as texts.
func eighths(arg string) string {
	x, err := strconv.ParseFloat(arg, 64)
	if err != nil || !strings.Contains(arg, ".") {
		return arg
	}
	if x = math.Round(8*x) / 8; x == 0 {
		x = 0.125
	}
	return strconv.FormatFloat(x, 'f', -1, 64)
}

// other returns a word of another recorded call, or a new word.
func (r *randomizer) other(of func(*scriptCall) []string) string {
	if all := of(&r.of.calls[r.IntN(len(r.of.calls))]); len(all) > 0 {
		return all[r.IntN(len(all))]
	}
	return "other"
}

// change returns an argument in place of another: numbers are near by or at a bound. No number
// is so large that a script could count up to it for long, unless the recorded number is. No
// argument is empty, which is no key here. No argument is 0, because a script may turn it into
// -0: an integer since Redis 7.2.
func (r *randomizer) change(arg string) string {
	x, err := strconv.ParseFloat(arg, 64)
	if err != nil || r.IntN(6) == 0 {
		words := []string{"x", "1.5", "-1", "nan", "inf", "1e3", "0x10", " 7 ",
			r.other(func(c *scriptCall) []string { return c.args })}
		return words[r.IntN(len(words))]
	}
	others := []float64{x + 1, x - 1, 2 * x, x / 2, -x, 1, x + 1000*r.Float64(), float64(r.IntN(100))}
	if x = others[r.IntN(len(others))]; x == 0 {
		x = 7
	}
	return strconv.FormatFloat(x, 'f', -1, 64)
}

// sameReplies sends a command to both servers, and returns an error if the replies differ.
func sameReplies(both [2]*respConn, passing bool, words ...string) error {
	var replies [2][]string
	for i := range both {
		var err error
		if replies[i], err = both[i].do(words...); err != nil {
			if i == 0 && errors.Is(err, os.ErrDeadlineExceeded) {
				err = errors.Join(errEndless, err)
			}
			return fmt.Errorf("%.2000q: %w", words, err)
		}
	}
	if !sameTokens(replies[0], replies[1], passing) {
		return fmt.Errorf("%.2000q\nredis-server %.600q\n        here %.600q", words, replies[0], replies[1])
	}
	return nil
}

// shortExpiry is a time in milliseconds. A key with less time left could expire between two
// calls.
const shortExpiry = 10_000

// dropShort deletes the keys that expire soon on one of the servers.
func dropShort(both [2]*respConn, keys []string) error {
	for _, key := range keys {
		short := false
		for _, conn := range both {
			left, err := conn.do("PTTL", key)
			if err != nil {
				return err
			}
			n, err := strconv.Atoi(left[0][1:])
			short = short || err == nil && n >= 0 && n < shortExpiry
		}
		for _, conn := range both {
			if !short {
				break
			}
			if _, err := conn.do("DEL", key); err != nil {
				return err
			}
		}
	}
	return nil
}

// maxPassed bounds the milliseconds that pass between a call to one server and to the other.
const maxPassed = 5000

// sameTokens compares replies: those with elements in any order as sets, those that depend on
// the server's time up to some of it.
func sameTokens(a, b []string, passing bool) bool {
	if len(a) != len(b) {
		return false
	}
	same := func(x, y string) bool {
		if x == y || x == "" || y == "" || x[0] != y[0] {
			return x == y
		}
		m, err := strconv.ParseFloat(x[1:], 64)
		n, err2 := strconv.ParseFloat(y[1:], 64)
		switch {
		case err != nil || err2 != nil:
			return false
		case m == n:
			return x[0] == '$' // Redis 7.0 writes 17 digits, since 7.2 as few as there must be
		}
		return passing && m-n < maxPassed && n-m < maxPassed && (m < 0) == (n < 0)
	}
	if slices.EqualFunc(a, b, same) {
		return true
	}
	a, b = slices.Clone(a), slices.Clone(b)
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(a, b)
}

// readers are the command lines that show a value, by its type; # is its key.
var readers = map[string][]string{
	"+string": {"GET", "#"}, "+hash": {"HGETALL", "#"}, "+list": {"LRANGE", "#", "0", "-1"},
	"+set": {"SMEMBERS", "#"}, "+zset": {"ZRANGE", "#", "0", "-1", "WITHSCORES"},
}

// sameContents compares all keys with their values and expiries.
func sameContents(both [2]*respConn) error {
	var keys [2][]string
	for i := range both {
		var err error
		if keys[i], err = both[i].do("KEYS", "*"); err != nil {
			return err
		}
		slices.Sort(keys[i])
	}
	if !slices.Equal(keys[0], keys[1]) {
		return fmt.Errorf("KEYS *\nredis-server %.600q\n        here %.600q", keys[0], keys[1])
	}
	for _, token := range keys[0] {
		if token[0] != '$' {
			continue
		}
		key := token[1:]
		kind, err := both[0].do("TYPE", key)
		if err != nil {
			return err
		}
		line := slices.Clone(readers[kind[0]])
		if len(line) == 0 {
			continue // expired meanwhile
		}
		line[1] = key
		if err := errors.Join(sameReplies(both, true, "PTTL", key), sameReplies(both, false, line...)); err != nil {
			return err
		}
	}
	return nil
}
