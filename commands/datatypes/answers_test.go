package datatypes

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"limitsrv/commands/spec"
	"limitsrv/commands/spec/spectest"
	"limitsrv/engine"
	"limitsrv/engine/answer"
)

// longestOf has lines that ask the commands for the longest answers that there are, of values of 4 MB
// with elements of 64 KB.
var longestOf = map[string][]string{
	"GET": {"text"}, "MGET": {"text", "text"}, "GETRANGE": {"text 0 -1"}, "SUBSTR": {"text 0 -1"},
	"HGET": {"hash big"}, "HMGET": {"hash big big"}, "HGETALL": {"hash"}, "HKEYS": {"hash"}, "HVALS": {"hash"},
	"HRANDFIELD": {"hash 1000000", "hash -1000", "hash -1000 WITHVALUES"}, "HSCAN": {"hash 0 COUNT 1000000"},
	"ZRANGE": {"sorted 0 -1 WITHSCORES", "sorted +inf -inf BYSCORE REV"}, "ZREVRANGE": {"sorted 0 -1"},
	"ZRANGEBYSCORE":    {"sorted -inf +inf WITHSCORES"},
	"ZREVRANGEBYSCORE": {"sorted +inf -inf"}, "ZRANGEBYLEX": {"sorted - +"}, "ZREVRANGEBYLEX": {"sorted + -"},
	"ZRANDMEMBER": {"sorted 1000000", "sorted -1000 WITHSCORES"}, "ZSCAN": {"sorted 0 COUNT 1000000"},
	"LINDEX": {"one 0"}, "LRANGE": {"list 0 -1", "many 0 -1"}, "LPOS": {"many x COUNT 0"},
	"SMEMBERS": {"set"}, "SRANDMEMBER": {"set 1000000", "set -1000"}, "SSCAN": {"set 0 COUNT 1000000"},
	"SINTER": {"set set"}, "SUNION": {"set other"}, "SDIFF": {"set none"},
}

// taken are lines of commands that would take elements of 24 MB, and the commands that count them.
var taken = map[string][2]string{
	"LPOP": {"queue 1000000", "LLEN queue"}, "RPOP": {"queue 350", "LLEN queue"},
	"SPOP": {"pool 1000000", "SCARD pool"}, "ZPOPMIN": {"order 1000000", "ZCARD order"},
	"ZPOPMAX": {"order 350", "ZCARD order"},
}

// single are commands that change data and answer a string or element at most.
var single = []string{"SET", "GETSET", "GETDEL", "GETEX", "LMOVE", "RPOPLPUSH", "BLPOP", "BRPOP"}

// brief has a line of each command that answers a few bytes for each word.
var brief = map[string]string{
	"SETEX": "a 100 v", "PSETEX": "a 100 v", "SETNX": "text v", "MSET": "a v", "MSETNX": "text v b v", "INCR": "n",
	"DECR": "n", "INCRBY": "n 5",
	"DECRBY": "n 5", "INCRBYFLOAT": "n 1e16", "APPEND": "text x", "STRLEN": "text", "SETRANGE": "text 0 x",
	"EXISTS": "text text", "DEL": "a", "UNLINK": "b",
	"TOUCH": "text", "TYPE": "text", "RENAME": "n m", "RENAMENX": "m n", "EXPIRE": "n 100", "PEXPIRE": "n 100000",
	"EXPIREAT":  "n 99999999999",
	"PEXPIREAT": "n 99999999999999", "TTL": "n", "PTTL": "n", "EXPIRETIME": "n", "PEXPIRETIME": "n", "PERSIST": "n",
	"INCREX": "n BYFLOAT 0.3",
	"HSET":   "hash a v", "HMSET": "hash a v", "HSETNX": "hash a v", "HDEL": "hash a", "HINCRBY": "hash n 1",
	"HINCRBYFLOAT": "hash n 1.5", "HLEN": "hash",
	"HSTRLEN": "hash big", "HEXISTS": "hash big", "ZADD": "sorted 1 a", "ZINCRBY": "sorted 1e300 a", "ZREM": "sorted a",
	"ZCARD":  "sorted",
	"ZSCORE": "sorted a", "ZMSCORE": "sorted a b c", "ZRANK": "sorted a", "ZREVRANK": "sorted a WITHSCORE",
	"ZCOUNT": "sorted -inf +inf", "ZLEXCOUNT": "sorted - +",
	"ZREMRANGEBYRANK": "none 0 -1", "ZREMRANGEBYSCORE": "none 0 1", "ZREMRANGEBYLEX": "none - +",
	"ZRANGESTORE": "a sorted 0 -1",
	"LPUSH":       "list a", "RPUSH": "list a", "LPUSHX": "list a", "RPUSHX": "list a", "LLEN": "list",
	"LTRIM": "list 0 -1", "LSET": "list 0 a", "LREM": "list 0 a",
	"LINSERT": "list BEFORE a b", "SADD": "set a", "SREM": "set a", "SISMEMBER": "set a", "SMISMEMBER": "set a b c d e",
	"SCARD": "set", "SMOVE": "set set a",
	"SINTERSTORE": "a set set", "SUNIONSTORE": "a set other", "SDIFFSTORE": "a set none", "SINTERCARD": "2 set set",
	"OBJECT": "ENCODING text",
	"SETBIT": "text 9 1", "GETBIT": "text 9", "BITCOUNT": "text", "BITFIELD": "text GET i64 0 GET i64 64",
	"BITFIELD_RO": "text GET i64 0",
}

// answerTo applies a line, and returns its answer and the bytes that were allocated.
func answerTo(e *engine.Engine, level uint8, most int, line string) (reply []byte, allocated uint64) {
	words := strings.Fields(line)
	b := engine.Batch{Level: level, AnswerBytes: most, AnswerMost: most}
	command := Find([]byte(words[0]))
	args := make([][]byte, 0, len(words))
	for _, w := range words[1:] {
		args = append(args, []byte(w))
	}
	command.SetCall(b.AddCall(0), args)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	e.Apply(someTime, &b)
	runtime.ReadMemStats(&after)
	return b.Calls[0].Answer, after.TotalAlloc - before.TotalAlloc
}

// longValues returns an engine with the keys of the tables above.
func longValues(t *testing.T) *engine.Engine {
	t.Helper()
	e := engine.New(engine.Options{Commands: allCalls})
	do := func(format string, args ...any) {
		if reply, _ := answerTo(e, 0, 0, fmt.Sprintf(format, args...)); answer.IsError(reply) {
			t.Fatalf("%.40s: %s", format, reply)
		}
	}
	do("SETRANGE text %d x", 4<<20-1)
	do("SET n 5")
	do("RPUSH many%s", strings.Repeat(" x", 50_000))
	for i := range 400 {
		element := fmt.Sprint(i, strings.Repeat("x", 64<<10))
		do("RPUSH queue %s", element)
		do("SADD pool %s", element)
		do("ZADD order %d %s", i, element)
		if i < 64 {
			do("RPUSH list %s", element)
			do("SADD set %s", element)
			do("SADD other %s", element)
			do("ZADD sorted 5 %s", element)
			do("HSET hash %s %s", element, element)
		}
	}
	do("HSET hash big %s", strings.Repeat("x", 128<<10))
	do("RPUSH one %s", strings.Repeat("x", 128<<10))
	return e
}

// briefOf returns the line of a command in brief, or a shortest line if Long says that the command is
// brief.
func briefOf(c *spec.Command) string {
	if brief[c.Name] == "" && c.Long == 0 {
		return strings.Join(spectest.Words(c, "k"), " ")
	}
	return brief[c.Name]
}

// TestAnswersAreCharged: each command of the table has a bounded answer, which is counted before it
// is built and before anything is changed.
func TestAnswersAreCharged(t *testing.T) {
	const most, mostAllocated = 64 << 10, 1 << 20
	e := longValues(t)
	for i := range All() {
		c := &All()[i]
		switch lines, takes, line := longestOf[c.Name], taken[c.Name], briefOf(c); {
		case c.Name == "":
		case lines != nil:
			for _, line := range lines {
				reply, allocated := answerTo(e, 0, most, c.Name+" "+line)
				if !strings.Contains(string(reply[:min(len(reply), 40)]), "ERR the answer has ") || allocated > mostAllocated {
					t.Errorf("%s %.40s: %d bytes, %.60q; %d bytes were allocated, want an error and at most %d", c.Name, line,
						len(reply), reply, allocated, mostAllocated)
				}
			}
		case takes[0] != "":
			before, _ := answerTo(e, 0, 0, takes[1])
			reply, _ := answerTo(e, 0, 0, c.Name+" "+takes[0])
			after, _ := answerTo(e, 0, 0, takes[1])
			if !answer.IsError(reply) || string(before) != string(after) || cap(reply) > engine.MaxAnswerBytes*3/2 {
				t.Errorf("%s: an answer of %d bytes, %d elements of %d are left; want an error, and all", c.Name, len(reply), after,
					before)
			}
		case line != "":
			reply, allocated := answerTo(e, 0, 0, c.Name+" "+line)
			if len(reply) > 64+24*len(strings.Fields(line)) {
				t.Errorf("%s %s: %d bytes, of which %d were allocated", c.Name, line, len(reply), allocated)
			}
		case !strings.Contains(strings.Join(single, " ")+" ", c.Name+" "):
			t.Errorf("%s has Long and no case: the longest answer that it may have", c.Name)
		}
		if isLong := c.Long > 0; c.Name != "" && isLong != (briefOf(c) == "") {
			t.Errorf("%s has Long %d, and a line of its in the table of brief answers: %t", c.Name, c.Long, !isLong)
		}
	}
	// as they were logged
	for _, line := range []string{"LPOP queue 1000000", "SPOP pool 1000000", "ZPOPMIN order 1000000"} {
		if reply, _ := answerTo(e, 1, 0, line); len(reply) < 400*64<<10 {
			t.Errorf("%s at level 1 answers %d bytes, want all", line, len(reply))
		}
	}
}
