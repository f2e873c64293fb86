package datatypes

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"limitsrv/engine"
	"limitsrv/engine/answer"
	"limitsrv/internal/testing/testwait"
)

// A setModel is sets as the lists of their members, in the order of SMEMBERS.
type setModel map[string][]string

// combine combines sets member by member, up to limit members; 0: all. work is the work of the
// combination in calls of level 1.
func (m setModel) combine(by operation, keys []string, limit int) (all []string, work int) {
	has := map[string]map[string]bool{}
	for _, key := range keys {
		if has[key] == nil {
			has[key] = map[string]bool{}
			for _, member := range m[key] {
				has[key][member] = true
			}
		}
	}
	from := keys
	if by == intersection {
		least := slices.MinFunc(keys, func(a, b string) int { return len(m[a]) - len(m[b]) })
		from = []string{least}
	} else if by == difference {
		from = keys[:1]
	}
	gathered := map[string]bool{}
	for i, key := range from {
		for _, member := range m[key] {
			if by == union {
				work += 1 + i
			} else {
				work += len(keys)
			}
			in := 0
			for _, other := range keys {
				if has[other][member] {
					in++
				}
			}
			if by == intersection && in < len(keys) || by == difference &&
				slices.ContainsFunc(keys[1:], func(k string) bool { return has[k][member] }) || gathered[member] {
				continue
			}
			gathered[member] = true
			if all = append(all, member); len(all) == limit {
				return all, work
			}
		}
	}
	return all, work
}

// TestSetAlgebra compares commands on sets of all forms and many sizes with a model, at both levels:
// members, their order, and the work at level 1.
func TestSetAlgebra(t *testing.T) {
	r := rand.New(rand.NewPCG(testwait.Seed(t), 1))
	var counted int64
	o := &ours{e: engine.New(engine.Options{Commands: workCounter{Calls: allCalls, work: &counted}}), now: someTime}
	model := setModel{}
	var keys []string
	for i, size := range []int{0, 3, 30, 100, 200, 600, 1500, 1500, 4000, 9000} {
		key := fmt.Sprintf("set:%d", i)
		keys = append(keys, key)
		for range size {
			member := fmt.Sprint("m", r.IntN(9000))
			switch n := r.IntN(9000); {
			case i%3 == 0:
				member = fmt.Sprint(n)
			case n%20 == 0:
				member = fmt.Sprint(strings.Repeat("x", 200), n)
			}
			o.do(words("SADD " + key + " " + member))
		}
		model[key] = membersOf(t, o.e, key)
	}
	for range 300 {
		by, limit := operation(r.IntN(3)), 0
		var some []string
		for range 1 + r.IntN(6) {
			some = append(some, keys[len(keys)-1-min(r.IntN(len(keys)), r.IntN(len(keys)))])
		}
		line := [...]string{"SINTER ", "SUNION ", "SDIFF "}[by] + strings.Join(some, " ")
		switch r.IntN(4) {
		case 0:
			line = [...]string{"SINTERSTORE to ", "SUNIONSTORE to ", "SDIFFSTORE to "}[by] + strings.Join(some, " ")
		case 1:
			by, limit = intersection, r.IntN(1000)
			line = fmt.Sprintf("SINTERCARD %d %s LIMIT %d", len(some), strings.Join(some, " "), limit)
		}
		want, work := model.combine(by, some, limit)
		for level := uint8(1); level <= 2; level++ {
			got := o.atLevel(level, line)
			took := counted
			switch {
			case strings.Contains(line, "STORE"):
				stored := membersOf(t, o.e, "to")
				sorted := slices.Sorted(slices.Values(want))
				if slices.Sort(stored); !slices.Equal(stored, sorted) || got != fmt.Sprintf(":%d\r\n", len(want)) {
					t.Fatalf("level %d: %s stores %d members and answers %q, want %d", level, line, len(stored), got, len(want))
				}
				if level == 1 {
					work += workToAdd * len(want)
				}
			case limit > 0 || strings.HasPrefix(line, "SINTERCARD"):
				if got != fmt.Sprintf(":%d\r\n", len(want)) {
					t.Fatalf("level %d: %s answers %q, want %d", level, line, got, len(want))
				}
			default:
				if answered := strings.Split(got, "\r\n"); !slices.Equal(bulks(answered), want) {
					t.Fatalf("level %d: %s answers %d members, want %d, or in another order", level, line, len(bulks(answered)),
						len(want))
				}
			}
			if level == 1 && took != int64(work) {
				t.Fatalf("%s: work of %d at level 1, want %d", line, took, work)
			}
		}
	}
}

// atLevel carries out a line at a level, and returns the reply.
func (o *ours) atLevel(level uint8, line string) string {
	o.batch.Reset()
	all := words(line)
	command := Find(all[0])
	command.SetCall(o.batch.AddCall(0), all[1:])
	o.batch.Level = level
	o.e.Apply(o.now, &o.batch)
	return string(answer.AppendTo(nil, o.batch.Calls[0].Answer, answer.RESP2))
}

// bulks returns the values of the lines of an array of bulks.
func bulks(lines []string) (all []string) {
	for i := 2; i < len(lines); i += 2 {
		all = append(all, lines[i])
	}
	return all
}

func membersOf(t *testing.T, e *engine.Engine, key string) []string {
	t.Helper()
	o := &ours{e: e, now: someTime}
	return bulks(strings.Split(o.atLevel(2, "SMEMBERS "+key), "\r\n"))
}

// TestLongStores: commands that would copy or visit too much are errors from level 2 on, and change
// nothing.
func TestLongStores(t *testing.T) {
	o := newOurs()
	o.now = someTime
	add := "SADD t"
	for i := range 4096 {
		add += fmt.Sprint(" m", i)
	}
	o.do(words(add))
	o.do(words("SADD tl one " + strings.Repeat("x", 16<<20)))
	for i := range 3 {
		o.do(words(fmt.Sprintf("ZADD z %d %d%s", i, i, strings.Repeat("x", 16<<20-1))))
	}
	o.do(words("SADD k old"))
	for _, line := range []string{
		"SUNIONSTORE k" + strings.Repeat(" t", maxProbes/4096+1),
		"SUNIONSTORE k" + strings.Repeat(" t", maxProbes/4096), // 4096 are stored
		"SUNIONSTORE k" + strings.Repeat(" tl", 4),
		"SINTERSTORE k" + strings.Repeat(" t", 4*maxProbes/4096),
		"SDIFFSTORE k t" + strings.Repeat(" none", 4*maxProbes/4096) + strings.Repeat(" tl", maxProbes/4096),
		"ZRANGESTORE k z 0 -1",
	} {
		got := o.atLevel(2, line)
		if !strings.HasPrefix(got, "-ERR") || !strings.Contains(got, "at most") {
			t.Errorf("%.40s: %.200q, want an error", line, got)
		}
		if got := o.atLevel(2, "SMEMBERS k"); got != "*1\r\n$3\r\nold\r\n" {
			t.Fatalf("%.40s: the key holds %.200q then", line, got)
		}
	}
	for _, line := range []string{
		"SUNIONSTORE k" + strings.Repeat(" t", maxProbes/4096-1),
		"SINTERSTORE k" + strings.Repeat(" t", maxProbes/4096),
		"ZRANGESTORE k z 2 -1",
	} {
		if got := o.atLevel(2, line); got[0] != ':' || got[1] == '0' {
			t.Errorf("%.40s: %.200q, want a number", line, got)
		}
	}
}
