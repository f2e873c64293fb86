package stored_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"limitsrv/commands/rules"
	"limitsrv/commands/rules/stored"
	"limitsrv/commands/rules/storedtest"
	"limitsrv/engine"
	"limitsrv/engine/answer"
	"limitsrv/internal/testing/testwait"
)

const start = storedtest.Start

func bulk(text string) string {
	return fmt.Sprintf("$%d|%s", len(text), strings.ReplaceAll(text, "\r\n", "|"))
}

func shaOf(text string) string {
	h := sha256.Sum256([]byte(text))
	return hex.EncodeToString(h[:])
}

// TestLoads walks the versions of rules through loads, and looks at them.
func TestLoads(t *testing.T) {
	e := storedtest.NewEngine(4)
	ms := int64(start / 1e6)
	row := func(version int, text, user, note string) string {
		return fmt.Sprintf("*5|:%d|%s|:%d|%s|%s", version, bulk(shaOf(text)), ms, bulk(user), bulk(note))
	}
	a, b := storedtest.File("5/minute"), storedtest.File("6/minute")
	for _, tt := range []struct{ name, got, want string }{
		{"no rules", storedtest.Do(t, e, start, stored.SetVersion), "*5|:0|$0||:0|:0|:0"},
		{"no text", storedtest.Do(t, e, start, func(c *engine.Call) { stored.SetText(c, 0) }), "$-1"},
		{"no history", storedtest.Do(t, e, start, stored.SetHistory), "*0"},
		{"the first", storedtest.Load(t, e, start, 0, a, "alice", "first"), "*3|:0|:1|:2"},
		{"another base", storedtest.Load(t, e, start, 0, b, "bob", ""), "*3|:2|:1|:2"},
		{"the same text", storedtest.Load(t, e, start, 1, a, "bob", "again"), "*3|:1|:1|:2"},
		{"the version", storedtest.Do(t, e, start, stored.SetVersion), fmt.Sprintf("*5|:1|%s|:%d|:1|:0", bulk(shaOf(a)), ms)},
		{"another text", storedtest.Load(t, e, start, 1, b, "bob", ""), "*3|:0|:2|:5"},
		{"the text in use", storedtest.Do(t, e, start, func(c *engine.Call) { stored.SetText(c, 0) }), bulk(b)},
		{"the same by its version", storedtest.Do(t, e, start, func(c *engine.Call) { stored.SetText(c, 2) }), bulk(b)},
		{"the text before", storedtest.Do(t, e, start, func(c *engine.Call) { stored.SetText(c, 1) }), bulk(a)},
		{"a version to come", storedtest.Do(t, e, start, func(c *engine.Call) { stored.SetText(c, 3) }),
			"-ERR there is no text of version 3: RL.RULES HISTORY lists the versions, and texts of the newest are kept"},
		{"the history", storedtest.Do(t, e, start, stored.SetHistory),
			"*2|" + row(2, b, "bob", "") + "|" + row(1, a, "alice", "first")},
		{"the first text again is a change", storedtest.Load(t, e, start, 2, a, "", ""), "*3|:0|:3|:8"},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, tt.got, tt.want)
		}
	}
	if got, want := storedtest.Do(t, storedtest.Reloaded(t, e, 2), start, stored.SetHistory),
		storedtest.Do(t, e, start, stored.SetHistory); got != want {
		t.Errorf("history from a snapshot: %q, want %q", got, want)
	}
}

// TestPastIsBounded loads more versions than are kept, and larger versions.
func TestPastIsBounded(t *testing.T) {
	e := storedtest.NewEngine(1)
	const loads = stored.MaxPast + 9
	for i := range uint64(loads) {
		if got, want := storedtest.Load(t, e, start, i, storedtest.File(fmt.Sprint(i+1, "/minute")), "", ""),
			fmt.Sprintf("*3|:0|:%d|", i+1); !strings.HasPrefix(got, want) {
			t.Fatalf("load %d: %q", i, got)
		}
	}
	if got := storedtest.Do(t, e, start, stored.SetHistory); !strings.HasPrefix(got,
		fmt.Sprintf("*%d|*5|:%d|", stored.MaxPast+1, loads)) {
		t.Errorf("history %q", got)
	}
	text := func(version uint64) string {
		return storedtest.Do(t, e, start, func(c *engine.Call) { stored.SetText(c, version) })
	}
	if got, want := text(loads-stored.MaxPast),
		bulk(storedtest.File(fmt.Sprint(loads-stored.MaxPast, "/minute"))); got != want {
		t.Errorf("the oldest text is %q, want %q", got, want)
	}
	if got := text(loads - stored.MaxPast - 1); !strings.HasPrefix(got, "-ERR there is no text of version") {
		t.Errorf("an older text is %q", got)
	}
	knows := func(text string) bool {
		return stored.Documents(e.Documents(engine.Rules)).Knows(sha256.Sum256([]byte(text)))
	}
	if !knows(storedtest.File("1/minute")) || knows(storedtest.File("0/minute")) {
		t.Error("the text of version 1 is not known, or one that never was")
	}
	long := func(n int) string { return storedtest.File("5/minute") + "#" + strings.Repeat("x", n) + "\n" }
	for i, n := range []int{5 << 20, 6 << 20, 7 << 20, 8 << 20} {
		storedtest.Load(t, e, start, loads+uint64(i), long(n), "", "")
	}
	for back, kept := range []bool{true, true, true, false, false} { // 8, 7 and 6, but not 5: together over 16 MB
		if got := text(loads + 4 - uint64(back)); strings.HasPrefix(got, "$") != kept {
			t.Errorf("the text of %d versions before is kept: %v, want %v", back, !kept, kept)
		}
	}
	if got := storedtest.Do(t, e, start, stored.SetHistory); !strings.HasPrefix(got,
		fmt.Sprintf("*%d|", stored.MaxPast+1)) {
		t.Errorf("history %.99q", got)
	}
	storedtest.Reloaded(t, e, 4)
}

func TestOverrides(t *testing.T) {
	e := storedtest.NewEngine(4)
	vip := storedtest.Override(t, rules.Override{Domain: "api", Path: []rules.Attribute{{Key: "tenant", Value: "a\x00b"},
		{Key: "ip", Value: "::1"}}, Effect: rules.Replace, Rule: "login", Limit: "7/minute", Note: "asked"})
	sameVIP := storedtest.Override(t, rules.Override{Domain: "api", Path: []rules.Attribute{{Key: "ip", Value: "::1"},
		{Key: "tenant", Value: "a\x00b"}}, Effect: rules.Replace, Rule: "login", Limit: "9/minute"})
	all := storedtest.Override(t, rules.Override{Domain: "web", Effect: rules.Allow})
	set := func(v *rules.Override, ttl int64) func(*engine.Call) {
		return func(c *engine.Call) { stored.SetOverride(c, v, ttl, "alice") }
	}
	get := func(v *rules.Override) func(*engine.Call) {
		return func(c *engine.Call) { stored.SetGetOverride(c, v) }
	}
	drop := func(v *rules.Override) func(*engine.Call) {
		return func(c *engine.Call) { stored.SetDropOverride(c, v) }
	}
	ms := int64(start / 1e6)
	for _, tt := range []struct {
		name string
		at   time.Duration
		call func(*engine.Call)
		want string
	}{
		{"no override", 0, get(vip), "*-1"},
		{"nothing to drop", 0, drop(vip), ":0"},
		{"one of a rule", 0, set(vip, 1500), "+OK"},
		{"its row", 500 * time.Millisecond, get(vip),
			fmt.Sprintf("*9|$3|api|*4|$6|tenant|$3|a\x00b|$2|ip|$3|::1|$5|LIMIT|$8|7/minute|$5|login|:1000|"+
				"$5|asked|$5|alice|:%d", ms)},
		{"its row, by a path in another order", time.Second, get(sameVIP),
			fmt.Sprintf("*9|$3|api|*4|$6|tenant|$3|a\x00b|$2|ip|$3|::1|$5|LIMIT|$8|7/minute|$5|login|:500|$5|asked|$5|alice|:%d",
				ms)},
		{"one of a domain", time.Second, set(all, 0), "+OK"},
		{"a live one counts", 1499 * time.Millisecond, stored.SetVersion, "*5|:0|$0||:0|:0|:2"},
		{"the last moment", 1500*time.Millisecond - 1, drop(sameVIP), ":1"},
		{"set again", 2 * time.Second, set(vip, 1), "+OK"},
		{"an expired one is not found", 2001 * time.Millisecond, get(vip), "*-1"},
		{"an expired one counts not", 2001 * time.Millisecond, stored.SetVersion, "*5|:0|$0||:0|:0|:1"},
		{"an expired one is not listed", 2001 * time.Millisecond,
			func(c *engine.Call) { stored.SetListOverrides(c, []byte("api"), 0, 9) }, "*2|:0|*0"},
		{"an expired one can not be dropped", 2001 * time.Millisecond, drop(vip), ":0"},
		{"for ever", 400 * 24 * time.Hour, get(all),
			fmt.Sprintf("*9|$3|web|*0|$5|ALLOW|$0||$0||:-1|$0||$5|alice|:%d", ms+1000)},
	} {
		if got := storedtest.Do(t, e, start+engine.Instant(tt.at), tt.call); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestOverridesAreBounded(t *testing.T) {
	e := storedtest.NewEngine(2)
	set := func(now engine.Instant, i int, ttl int64) string {
		return storedtest.Do(t, e, now,
			func(c *engine.Call) { stored.SetOverride(c, storedtest.Deny(t, fmt.Sprint(i)), ttl, "") })
	}
	for i := range stored.MaxOverrides {
		if got := set(start, i, int64(i/5_000*1000)); got != "+OK" { // one half ends after a second
			t.Fatalf("override %d: %q", i, got)
		}
	}
	if got := set(start, -1, 0); got != fmt.Sprintf("-ERR at most %d overrides are allowed, and so many are there",
		stored.MaxOverrides) {
		t.Errorf("one more: %q", got)
	}
	if got := set(start, 3, 0); got != "+OK" {
		t.Errorf("one in place of another: %q", got)
	}
	e = storedtest.Reloaded(t, e, 4)
	if got := set(start+engine.Instant(time.Second), -1, 0); got != "+OK" {
		t.Errorf("one more after some have expired: %q", got)
	}
	if n := len(e.Documents(engine.Rules)); n != stored.MaxOverrides/2+1 {
		t.Errorf("%d documents, want those that live", n)
	}
	long := strings.Repeat("v", rules.MaxValueBytes)
	got := "+OK"
	n := 0
	for ; got == "+OK"; n++ {
		v := rules.Override{Domain: "long", Effect: rules.Deny, Note: long}
		for i := range rules.MaxEntries {
			v.Path = append(v.Path, rules.Attribute{Key: fmt.Sprint(i), Value: fmt.Sprint(n) + long[len(fmt.Sprint(n)):]})
		}
		got = storedtest.Do(t, e, start+engine.Instant(time.Second),
			func(c *engine.Call) { stored.SetOverride(c, storedtest.Override(t, v), 0, "") })
	}
	if !strings.HasPrefix(got, "-ERR at most 16777216 bytes of overrides are allowed, got 16") || n < 400 {
		t.Errorf("long ones: %q after %d", got, n)
	}
}

// TestListOverrides walks through pages. Each override is in exactly one page.
func TestListOverrides(t *testing.T) {
	e := storedtest.NewEngine(2)
	want := map[string]bool{}
	for i := range 103 {
		v := storedtest.Deny(t, fmt.Sprint("ip-", i))
		storedtest.Do(t, e, start, func(c *engine.Call) { stored.SetOverride(c, v, 0, "") })
		want[fmt.Sprint("ip-", i)] = true
	}
	storedtest.Do(t, e, start, func(c *engine.Call) {
		stored.SetOverride(c, storedtest.Override(t, rules.Override{Domain: "web", Effect: rules.Deny}), 0, "")
	})
	cursor, pages := uint64(0), 0
	for ; cursor != 0 || pages == 0; pages++ {
		var b engine.Batch
		stored.SetListOverrides(b.AddCall(0), []byte("api"), cursor, 10)
		e.Apply(start, &b)
		v, rest, _ := answer.Next(b.Calls[0].Answer)
		v, rest, _ = answer.Next(rest)
		cursor = uint64(v.Int)
		text := string(rest)
		for ip := range want {
			if strings.Contains(text, ip+string(rune(answer.Bulk))) {
				delete(want, ip)
			}
		}
	}
	if len(want) > 0 || pages != 11 {
		t.Errorf("%d pages lack %v", pages, want)
	}
}

// TestLaws applies random calls in batches, by a Replay, and from a snapshot of the middle.
func TestLaws(t *testing.T) {
	seed := testwait.Seed(t)
	t.Logf("seed %d", seed)
	for round := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, round))
		e, replica := storedtest.NewEngine(1<<(round%4)), storedtest.NewEngine(4)
		replay := replica.NewReplay(func(n int, each func(int)) {
			for i := range n {
				each(i)
			}
		})
		loaded := storedtest.NewEngine(2)
		now := start
		for step := range 60 {
			now += engine.Instant(r.IntN(1e9))
			var b, again, third engine.Batch
			for range 1 + r.IntN(4) {
				randomCall(t, r, b.AddCall(0))
			}
			again.Join(&b)
			third.Join(&engine.Batch{Ops: b.Ops, Calls: append([]engine.Call(nil), b.Calls...)})
			e.Apply(now, &b)
			replay.Apply(now, &again)
			if step == 30 {
				loaded = storedtest.Reloaded(t, e, 4)
			}
			if step > 30 {
				loaded.Apply(now, &third)
				for i := range third.Calls {
					if !bytes.Equal(third.Calls[i].Answer, b.Calls[i].Answer) {
						t.Fatalf("call %d answers %q from a snapshot, want %q", b.Calls[i].Command, third.Calls[i].Answer,
							b.Calls[i].Answer)
					}
				}
			}
		}
		replay.Finish()
		if got, want := replica.Digest(0), e.Digest(0); got != want {
			t.Errorf("digest %x of the replay, want %x", got, want)
		}
		if got, want := loaded.Digest(0), e.Digest(0); got != want {
			t.Errorf("digest %x from the snapshot, want %x", got, want)
		}
	}
}

// randomCall sets a call to a random call.
func randomCall(t *testing.T, r *rand.Rand, c *engine.Call) {
	v := storedtest.Deny(t, fmt.Sprint(r.IntN(6)))
	switch r.IntN(9) {
	case 0:
		stored.SetVersion(c)
	case 1:
		stored.SetHistory(c)
	case 2:
		stored.SetText(c, r.Uint64N(4))
	case 3:
		stored.SetGetOverride(c, v)
	case 4:
		stored.SetListOverrides(c, []byte("api"), 0, 3)
	case 5:
		stored.SetDropOverride(c, v)
	case 6, 7:
		stored.SetOverride(c, v, r.Int64N(9000), "user")
	default:
		stored.SetLoad(c, r.Uint64N(20), storedtest.Prepare(t, storedtest.File(fmt.Sprint(1+r.IntN(9), "/minute"))), "user",
			"")
	}
}
