package datatypes

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"limitsrv/commands/spec"
	"limitsrv/engine"
	"limitsrv/engine/answer"
)

// boundedByLine are the commands with work that their words, or an answer, bound.
var boundedByLine = strings.Fields("MSET MSETNX DEL TOUCH LPUSH RPUSH BLPOP BRPOP PSETEX SETEX")

// workLines are command lines on collections of n elements, or a string of as many parts. Each
// command with work has a line.
var workLines = map[string]string{
	"HGETALL":          "h",
	"HKEYS":            "h",
	"HVALS":            "h",
	"SMEMBERS":         "t",
	"LREM":             "l 0 x",
	"LINSERT":          "l BEFORE x y",
	"LPOS":             "l x",
	"RENAME":           "z z9",
	"RENAMENX":         "z8 z9",
	"HRANDFIELD":       "h n",
	"SRANDMEMBER":      "t n",
	"ZRANDMEMBER":      "z n",
	"SPOP":             "t n",
	"ZPOPMIN":          "z n",
	"ZPOPMAX":          "z n",
	"LPOP":             "l n",
	"RPOP":             "l n",
	"HSCAN":            "h 0 COUNT n MATCH *a*b",
	"SSCAN":            "t 0 COUNT n",
	"ZSCAN":            "z 0 COUNT n",
	"LRANGE":           "l 0 -1",
	"LTRIM":            "l 1 1",
	"LINDEX":           "l 5",
	"LSET":             "l 5 x",
	"LMOVE":            "long k LEFT LEFT",
	"RPOPLPUSH":        "long k",
	"ZRANGE":           "z 0 -1",
	"ZREVRANGE":        "z 0 -1",
	"ZRANGEBYSCORE":    "z 0 n",
	"ZREVRANGEBYSCORE": "z n 0",
	"ZRANGEBYLEX":      "z - +",
	"ZREVRANGEBYLEX":   "z + -",
	"ZREMRANGEBYRANK":  "z 1 -1",
	"ZREMRANGEBYSCORE": "z 1 n",
	"ZREMRANGEBYLEX":   "z - (member:999",
	"ZRANGESTORE":      "k z 0 -1",
	"SINTER":           "t t t",
	"SUNION":           "t u",
	"SDIFF":            "t u u",
	"SINTERSTORE":      "k t t",
	"SUNIONSTORE":      "k t",
	"SDIFFSTORE":       "k t u",
	"SINTERCARD":       "2 t t",
	"GETRANGE":         "s 0 -1",
	"SUBSTR":           "s 0 -1",
	"BITCOUNT":         "s",
	"BITFIELD":         "k SET u8 bits 1",
	"SETRANGE":         "k bytes x",
	"SETBIT":           "k bits 1",
}

// A workCounter keeps the work of the last command.
type workCounter struct {
	*spec.Calls
	work *int64
}

func (x workCounter) Do(tx *engine.Tx, c *engine.Call) {
	x.Calls.Do(tx, c)
	*x.work = tx.TakeWork()
}

func words(line string) [][]byte { return bytes.Fields([]byte(line)) }

// TestWork expects an estimate of the work of every command with a complexity other than O(1). An
// estimate is at least a quarter of the counted work. A line that fails is estimated at no work.
func TestWork(t *testing.T) {
	const n = 3000
	sizes := map[string]string{"n": fmt.Sprint(n), "bytes": fmt.Sprint(n * bytesPerElement),
		"bits": fmt.Sprint(n * bytesPerElement * 8)}
	for number := range All() {
		c := &All()[number]
		line, has := workLines[c.Name]
		if HasWork(uint16(number)) != has {
			t.Errorf("%s: estimated %v, a line in workLines %v", c.Name, !has, has)
		}
		if !has {
			if c.Name != "" && c.Flags&spec.Fast == 0 && !strings.HasPrefix(c.Complexity, "O(1)") &&
				!strings.Contains(" "+strings.Join(boundedByLine, " ")+" ", " "+c.Name+" ") {
				t.Errorf("%s: %s, but no work is estimated", c.Name, c.Complexity)
			}
			continue
		}
		var counted int64
		o := &ours{e: engine.New(engine.Options{Commands: workCounter{Calls: allCalls, work: &counted}}), now: someTime}
		for i := range n {
			o.do(words(fmt.Sprintf("HSET h member:%d v", i)))
			o.do(words(fmt.Sprintf("RPUSH l member:%d", i)))
			o.do(words(fmt.Sprintf("SADD t member:%d", i)))
			o.do(words(fmt.Sprintf("SADD u m:%d", i)))
			o.do(words(fmt.Sprintf("ZADD z %d member:%d", i, i)))
		}
		o.do(words("SET s " + strings.Repeat("x", n*bytesPerElement)))
		o.do(words("RPUSH long " + strings.Repeat("x", n*bytesPerElement)))
		args := words(line)
		for i, arg := range args {
			if long, ok := sizes[string(arg)]; ok {
				args[i] = []byte(long)
			}
		}
		var b engine.Batch
		c.SetWork(b.AddCall(0), args)
		o.e.Look(someTime, &b)
		work, _, ok := answer.TakeInt(b.Calls[0].Answer)
		if !ok {
			t.Fatalf("%s: answers %q", c.Name, b.Calls[0].Answer)
		}
		o.do(append([][]byte{[]byte(c.Name)}, args...))
		if work < counted/4 {
			t.Errorf("%s %s: work %d is estimated, %d is counted", c.Name, line, work, counted)
		}
		b.Reset()
		c.SetWork(b.AddCall(0), append([][]byte{[]byte("none"), []byte("none")}, args[min(2, len(args)):]...)[:len(args)])
		o.e.Look(someTime, &b)
		if work, _, _ := answer.TakeInt(b.Calls[0].Answer); work > 0 && c.Group != groupBitmap && c.Name != "SETRANGE" {
			t.Errorf("%s: work %d for keys that are missing", c.Name, work)
		}
	}
}
