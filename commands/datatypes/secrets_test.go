package datatypes_test

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"testing"

	"limitsrv/commands/datatypes"
	"limitsrv/commands/spec"
	"limitsrv/engine"
	"limitsrv/engine/answer"
)

// secretLines returns lines with answers that depend on the hash of members: orders, cursors, and
// random picks.
func secretLines() (lines []string) {
	var members, pairs, scores strings.Builder
	for i := range 300 {
		fmt.Fprintf(&members, " member-%d", i)
		fmt.Fprintf(&pairs, " field-%d %d", i, i)
		fmt.Fprintf(&scores, " %d member-%d", i%7, i)
	}
	return []string{
		"SADD set" + members.String(), "HSET hash" + pairs.String(), "ZADD sorted" + scores.String(),
		"SMEMBERS set", "HGETALL hash", "SSCAN set 0 COUNT 7", "HSCAN hash 0 COUNT 7", "ZSCAN sorted 0 COUNT 7",
		"SSCAN set 9223372036854775808", "SRANDMEMBER set 5", "SRANDMEMBER set -20", "HRANDFIELD hash 3",
		"ZRANDMEMBER sorted 3",
		"SPOP set 10", "INCR counter", "INCRBY counter 5", "SET text value", "DEL text hash", "RENAME sorted other",
		"LPUSH list a b c",
	}
}

// runAt runs lines at a level, each as a batch of its own, and returns the answers, the sum of the
// effects, and the digest.
func runAt(t *testing.T, level uint8, lines []string) (answers [][]byte, effects, digest uint64) {
	t.Helper()
	e := engine.New(engine.Options{Seed: [16]byte{1, 2, 3}, Commands: &spec.Calls{datatypes.Calls{}}, Effects: true})
	now := engine.Instant(1_750_000_000_123_456_789)
	for _, line := range lines {
		b := engine.Batch{Level: level}
		words := strings.Fields(line)
		command := datatypes.Find([]byte(words[0]))
		if command == nil {
			t.Fatalf("%s is no command", words[0])
		}
		var args [][]byte
		for _, word := range words[1:] {
			args = append(args, []byte(word))
		}
		command.SetCall(b.AddCall(0), args)
		now += 1_000_003
		e.Apply(now, &b)
		answers, effects = append(answers, slices.Clone(b.Calls[0].Answer)), effects+b.Effects
	}
	return answers, effects, e.Digest(now)
}

// TestLevelOneKeepsSecrets compares the answers, effects and state of calls at level 1 with the
// answers, effects and state of the version that wrote logs of level 1. Their orders, cursors and
// random picks use another key than level 2.
func TestLevelOneKeepsSecrets(t *testing.T) {
	answers, effects, digest := runAt(t, 1, secretLines())
	sum := fnv.New64a()
	for _, a := range answers {
		sum.Write(a)
	}
	const wantAnswers, wantEffects, wantDigest = 0x9dfa74965c77c3a4, 0xbb31ed14c9eba895, 0x353bd7748e786428
	if sum.Sum64() != wantAnswers || effects != wantEffects || digest != wantDigest {
		t.Errorf("answers %#x, effects %#x, digest %#x; want %#x, %#x, %#x", sum.Sum64(), effects, digest,
			uint64(wantAnswers), uint64(wantEffects), uint64(wantDigest))
	}
}

// TestCursorsTellNothing scans large collections from cursor to cursor at level 2, while they grow
// and shrink. Each member that stays is returned. The scan is in the order of the hashes, so no
// cursor may follow from the cursor before, nor be the hash that level 1 shows.
func TestCursorsTellNothing(t *testing.T) {
	const stay = 600
	for _, kind := range []struct{ add, remove, scan string }{
		{"SADD k x%d", "SREM k x%d", "SSCAN k %d COUNT 3"}, {"HSET k x%d v", "HDEL k x%d", "HSCAN k %d COUNT 3"},
		{"ZADD k 1 x%d", "ZREM k x%d", "ZSCAN k %d COUNT 3"},
	} {
		e := engine.New(engine.Options{Seed: [16]byte{1, 2, 3}, Commands: &spec.Calls{datatypes.Calls{}}})
		do := func(level uint8, format string, of ...any) []byte {
			b := engine.Batch{Level: level}
			words := bytes.Fields(fmt.Appendf(nil, format, of...))
			command := datatypes.Find(words[0])
			command.SetCall(b.AddCall(0), words[1:])
			e.Apply(0, &b)
			return slices.Clone(b.Calls[0].Answer)
		}
		for i := range stay {
			do(2, kind.add, i)
		}
		var cursors []uint64
		seen, others := map[string]bool{}, stay
		for cursor := uint64(0); ; {
			plain, _ := readScan(t, do(1, kind.scan, cursor))
			next, members := readScan(t, do(2, kind.scan, cursor))
			for _, m := range members {
				seen[m] = true
			}
			if cursor = next; cursor == 0 {
				break
			}
			if len(cursors) == 0 && plain == next {
				t.Errorf("%s: the cursor is the hash", kind.scan)
			}
			cursors = append(cursors, cursor)
			for range 5 {
				do(2, kind.add, others)
				do(2, kind.remove, stay+(others-stay)/2)
				others++
			}
		}
		for i := range stay {
			if !seen[fmt.Sprint("x", i)] {
				t.Errorf("%s: x%d was there all the time, and was not returned", kind.scan, i)
			}
		}
		rising := 0
		for i, c := range cursors[1:] {
			if c > cursors[i] {
				rising++
			}
		}
		if n := len(cursors); n < 100 || rising < n/3 || rising > 2*n/3 {
			t.Errorf("%s: of %d cursors %d are greater than the one before, want about half", kind.scan, n, rising)
		}
	}
}

// readScan returns the cursor and the elements in the answer of a scan.
func readScan(t *testing.T, b []byte) (cursor uint64, elements []string) {
	t.Helper()
	var texts []string
	for _, line := range strings.Fields(string(answer.AppendTo(nil, b, answer.RESP2))) {
		if !strings.ContainsAny(line[:1], "*$") {
			texts = append(texts, line)
		}
	}
	cursor, err := strconv.ParseUint(texts[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return cursor, texts[1:]
}
