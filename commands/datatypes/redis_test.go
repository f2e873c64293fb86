package datatypes

import (
	"bufio"
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"limitsrv/commands/spec"
	"limitsrv/engine"
	"limitsrv/engine/answer"
	"limitsrv/internal/testing/redistest"
	"limitsrv/internal/testing/testwait"
)

var (
	redisCommands = flag.Int("redis-commands", 20_000, "number of commands of each family to compare with redis-server")
	redisSeed     = flag.Uint64("redis-seed", 0, "seed of the commands; 0: the time")
)

// A redis is a connection to a redis-server, the judge of answers.
type redis struct {
	t      *testing.T
	conn   net.Conn
	reader *bufio.Reader
}

func startRedis(t *testing.T) *redis {
	t.Helper()
	conn, err := net.Dial("tcp", redistest.Start(t, "--hash-max-listpack-entries", "128"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &redis{t, conn, bufio.NewReader(conn)}
}

// do returns the reply to a command line, in bytes.
func (r *redis) do(line [][]byte) []byte {
	var b []byte
	b = fmt.Appendf(b, "*%d\r\n", len(line))
	for _, word := range line {
		b = fmt.Appendf(b, "$%d\r\n%s\r\n", len(word), word)
	}
	if _, err := r.conn.Write(b); err != nil {
		r.t.Fatal(err)
	}
	return r.reply()
}

func (r *redis) reply() []byte {
	line, err := r.reader.ReadBytes('\n')
	if err != nil {
		r.t.Fatal(err)
	}
	n, _ := strconv.Atoi(strings.TrimSpace(string(line[1:])))
	switch line[0] {
	case '$':
		if n >= 0 {
			bulk := make([]byte, n+2)
			if _, err := io.ReadFull(r.reader, bulk); err != nil {
				r.t.Fatal(err)
			}
			line = append(line, bulk...)
		}
	case '%':
		for range 2 * n {
			line = append(line, r.reply()...)
		}
	case '*', '~':
		for range n {
			line = append(line, r.reply()...)
		}
	}
	return line
}

// ours carries out command lines as a server would.
type ours struct {
	e     *engine.Engine
	batch engine.Batch
	now   engine.Instant // 0: the clock's
	tight bool

	protocol answer.Protocol
}

func newOurs() *ours {
	return &ours{e: engine.New(engine.Options{Commands: allCalls}), protocol: answer.RESP2}
}

func (o *ours) do(line [][]byte) []byte {
	command := Find(line[0])
	if command == nil {
		return fmt.Appendf(nil, "-ERR unknown command '%s'\r\n", line[0])
	}
	if !command.Body.(*spec.Call).Takes(len(line)) {
		return []byte("-" + errArity(command.Name) + "\r\n")
	}
	o.batch.Reset()
	command.SetCall(o.batch.AddCall(0), line[1:])
	o.batch.Tight = o.tight
	now := o.now
	if now == 0 {
		now = engine.Instant(time.Now().UnixNano())
	}
	o.e.Apply(now, &o.batch)
	return renderCall(o)
}

// renderCall returns the reply to the last call.
func renderCall(o *ours) []byte {
	return answer.AppendTo(nil, o.batch.Calls[0].Answer, o.protocol)
}

// A lineSource draws command lines.
type lineSource struct {
	*rand.Rand
	judged bool   // only commands of the judge's version
	family string // the group of most of the commands; empty: all groups alike
}

func pickOne[T any](r lineSource, from ...T) T { return from[r.IntN(len(from))] }

// command draws a command.
func (r lineSource) command() *spec.Command {
	others := r.IntN(12) == 0
	for {
		c := &table[r.IntN(len(table))]
		if c.Name != "" && (!r.judged || c.Since < "7.2") && (others || r.family == "" || c.Group == r.family) {
			return c
		}
	}
}

// line draws a command line: mostly valid, sometimes with a wrong number of words.
func (r lineSource) line() [][]byte {
	c := r.command()
	line := [][]byte{[]byte(c.Name)}
	if r.IntN(4) == 0 {
		line[0] = bytes.ToLower(line[0])
	}
	words := strings.Fields(strings.NewReplacer("[", " ", "]", " ", "...", " ").Replace(c.Args))
	least, most := c.Words()
	least--
	for _, word := range words[:least] {
		line = append(line, r.word(word))
	}
	switch {
	case c.Group == groupBitmap:
		line = r.bitWords(line)
	case c.Name == "SET":
		for range r.IntN(4) {
			line = append(line, r.option()...)
		}
	case c.Name == "GETEX":
		for range r.IntN(3) {
			line = append(line, r.option()...)
		}
	case c.Name == "INCREX":
		for range r.IntN(4) {
			line = append(line, r.increxOption()...)
		}
	case c.Flags&spec.Blocking != 0:
		for range r.IntN(4) {
			line = append(line, r.word("key"))
		}
		line[len(line)-1] = []byte(pickOne(r, "0", "0.001", "1.5", "0x1p3", "1e-4950", "x", "", "nan", "-1", "-0.0001"))
	case collectionOptions[c.Name] != nil:
		line = append(line, r.optionsOf(c)...)
	case strings.Contains(c.Name, "EXPIRE") && most > least+1:
		for range r.IntN(3) {
			line = append(line, []byte(pickOne(r, "NX", "xx", "Gt", "LT", "lt", "NY", "a\r\nb\r\n", "NX\x00")))
		}
	case most > least+1:
		many := pickOne(r, 4, 4, 4, 4, 4, 10, 200)
		for range r.IntN(many) {
			for _, word := range words[least:] {
				line = append(line, r.word(word))
			}
		}
	}
	if c.Group == groupSorted {
		line = r.sortedLine(c, line)
	}
	if c.Name == "OBJECT" {
		line[1] = []byte("encoding")
		return line
	}
	if r.IntN(60) == 0 {
		line = line[:1+r.IntN(len(line))]
	}
	if r.IntN(60) == 0 && !longer[c.Name] && c.Flags&spec.Blocking == 0 {
		extra := "value"
		if c.Keys.Last < 0 || len(line) <= c.Keys.Last {
			extra = "key"
		}
		line = append(line, r.word(extra))
	}
	return line
}

// longer are the commands that have taken more words since 7.2.
var longer = map[string]bool{"ZRANK": true, "ZREVRANK": true}

// option draws an option of SET or GETEX.
func (r lineSource) option() [][]byte {
	word := pickOne(r, "NX", "XX", "GET", "KEEPTTL", "PERSIST", "EX", "PX", "EXAT", "PXAT", "ex", "Px", "bad")
	switch {
	case r.IntN(20) == 0:
		return [][]byte{[]byte(word)}
	case strings.EqualFold(word, "EX"):
		return [][]byte{[]byte(word), r.word("seconds")}
	case strings.EqualFold(word, "PX"):
		return [][]byte{[]byte(word), r.word("milliseconds")}
	case word == "EXAT":
		return [][]byte{[]byte(word), r.word("unix-time-seconds")}
	case word == "PXAT":
		return [][]byte{[]byte(word), r.word("unix-time-milliseconds")}
	}
	return [][]byte{[]byte(word)}
}

// increxOption draws an option of INCREX.
func (r lineSource) increxOption() [][]byte {
	switch word := pickOne(r, "BYINT", "BYFLOAT", "LBOUND", "UBOUND", "SATURATE", "ENX", ""); word {
	case "SATURATE", "ENX":
		return [][]byte{[]byte(word)}
	case "":
		return r.option()
	default:
		return [][]byte{[]byte(word), r.word("increment")}
	}
}

// word draws an argument with a name in a usage.
func (r lineSource) word(name string) []byte {
	if strings.HasSuffix(name, "key") || name == "dst" || name == "src" || name == "destination" || name == "source" {
		return fmt.Append(nil, "k", r.IntN(6))
	}
	if word := r.collectionWord(name); word != nil {
		return word
	}
	if r.IntN(40) == 0 {
		expiry := name == "seconds" || name == "milliseconds" // a short expiry would end between the servers
		name = pickOne(r, "value", "increment")
		if expiry || r.IntN(2) == 0 {
			return []byte(pickOne(r, "abc", "1 ", " 1", "+1", "01", "-0", "9223372036854775808", "0x10", "1e2", "1.5", "z\x00z"))
		}
	}
	switch name {
	case "seconds":
		return []byte(pickOne(r, "100", "10000", "1000000", "0", "-1", "9223372036854775807", "9223372036854775",
			"-9223372036854775808"))
	case "milliseconds":
		return []byte(pickOne(r, "100000", "10000000", "1000000000", "0", "-1", "9223372036854775807",
			"-9223372036854775808"))
	case "unix-time-seconds":
		return []byte(pickOne(r, "1", "5000000000", "6000000000", "0", "-1", "9223372036854775807", "9223372036854775"))
	case "unix-time-milliseconds":
		return []byte(pickOne(r, "1", "5000000000000", "6000000000500", "6000000000499", "0", "-1", "9223372036854775807"))
	case "offset", "start", "end":
		return []byte(pickOne(r, "0", "1", "5", "-1", "-3", "-100", "22", "30", "600000000", "9223372036854775807",
			"-9223372036854775808"))
	case "increment", "decrement":
		return []byte(pickOne(r, "1", "-1", "0", "10", "9223372036854775807", "-9223372036854775808", "1.5", "-0.1", "3.0e3",
			"1e18", "0.3", "inf", "nan", "1e400", "1e5000", "0x1p3", ".5", "5.", "1e-20", "x"))
	}
	switch r.IntN(8) {
	case 0:
		return strconv.AppendInt(nil, pickOne(r, 0, 1, -1, 9223372036854775807, -9223372036854775808, r.Int64N(1000)), 10)
	case 1:
		return []byte(pickOne(r, "", "1.5", "10.25", "0.1", "5e3", "3.0", "-0", "007", "a\r\nb", "\x00\xff"))
	}
	return bytes.Repeat([]byte{byte('a' + r.IntN(26))}, pickOne(r, 1, 7, 8, 15, 16, 23, 24, 40, r.IntN(300), r.IntN(6000)))
}

// passing are the commands with answers that depend on the time of each server.
var passing = map[string]bool{"TTL": true, "PTTL": true, "EXPIRETIME": true, "PEXPIRETIME": true}

// maxPassed bounds the milliseconds between the two servers' executions of a command.
const maxPassed = 30_000

// samePassing reports whether two replies are equal up to the time that has passed between
// them.
func samePassing(got, want []byte) bool {
	g, err := strconv.ParseInt(strings.TrimSpace(strings.TrimPrefix(string(got), ":")), 10, 64)
	w, err2 := strconv.ParseInt(strings.TrimSpace(strings.TrimPrefix(string(want), ":")), 10, 64)
	return err == nil && err2 == nil && g > 0 && w > 0 && g-w < maxPassed && w-g < maxPassed
}

// TestLikeRedis compares the answers to random command lines with the answers of
// redis-server, and now and then all values.
func TestLikeRedis(t *testing.T) {
	for _, family := range families {
		t.Run("family "+family, func(t *testing.T) {
			for _, p := range []answer.Protocol{answer.RESP2, answer.RESP3} {
				likeRedis(t, p, family, *redisCommands/2)
			}
		})
	}
}

// differenceEncoding reports whether two replies are encodings of sets that SDIFFSTORE may have
// made: Redis stores the first set there and removes the other sets from it, so that the
// remaining numbers have the form of the first set.
func differenceEncoding(trace [][][]byte, got, want []byte) bool {
	return string(got) == "$6\r\nintset\r\n" && string(want) == "$9\r\nhashtable\r\n" &&
		slices.ContainsFunc(trace, func(line [][]byte) bool { return strings.EqualFold(string(line[0]), "SDIFFSTORE") })
}

// linesOf returns the lines of all with a key of line. Keys are "k" and a digit.
func linesOf(line [][]byte, all [][][]byte) (some [][][]byte) {
	for _, one := range all {
		if slices.ContainsFunc(one, func(word []byte) bool {
			return len(word) == 2 && word[0] == 'k' &&
				slices.ContainsFunc(line, func(w []byte) bool { return bytes.Equal(w, word) })
		}) {
			some = append(some, one)
		}
	}
	return some
}

// likeRedis is TestLikeRedis for a number of commands in a protocol.
func likeRedis(t *testing.T, p answer.Protocol, family string, commands int) {
	judge, o := startRedis(t), newOurs()
	o.protocol = p
	if p == answer.RESP3 {
		judge.do([][]byte{[]byte("HELLO"), []byte("3")})
	}
	seed := cmp.Or(*redisSeed, testwait.Seed(t))
	t.Logf("protocol %d, -redis-seed %d", p, seed)
	r := lineSource{rand.New(rand.NewPCG(seed, 1)), true, family}
	var trace [][][]byte
	check := func(line [][]byte) {
		trace = append(trace, line)
		got := o.do(line)
		want := judge.doAs(line, got)
		if !sameReply(line, got, want) && !differenceEncoding(trace, got, want) {
			last := linesOf(line, trace)
			for _, l := range last[max(0, len(last)-25):] {
				t.Logf("%.80q", l)
			}
			t.Fatalf("seed %d: %.100q\n got %.200q\nwant %.200q", seed, line, got, want)
		}
	}
	for i := range commands / testwait.Slowdown() {
		check(r.line())
		if i%50 == 0 {
			for k := range 6 {
				key := fmt.Sprint("k", k)
				kind := strings.TrimSpace(string(judge.do([][]byte{[]byte("TYPE"), []byte(key)}))[1:])
				for _, line := range readLines(kind, key) {
					check(line)
				}
			}
		}
		if i%500 == 0 {
			judge.do([][]byte{[]byte("FLUSHALL")})
			o.e.Apply(0, &engine.Batch{Ops: []engine.Op{{Kind: engine.Flush}}})
			trace = trace[:0]
			check(bytes.Fields([]byte("ZADD lex 0 m1 0 m2 0 m3 0 m4 0 m5 0 zebra 0 a 0 b")))
		}
	}
}
