package scripts

import (
	"maps"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"limitsrv/commands/spec/spectest"
	"limitsrv/engine"
	"limitsrv/internal/testing/testwait"
)

// costSizes are the bytes of values, or of collections with elements of costElement bytes.
var costSizes = []int{64, 64 << 10, 8 << 20}

const (
	// costMany is the number of words for MANY, and of pairs for PAIRS.
	costMany    = 2000
	costElement = 64 // or 512, of the largest
	// mostPerStep bounds the time of a step of a command, as a multiple of a step of a plain loop:
	// the law is 4, and machines with other programs need a margin.
	mostPerStep = 4 * 2
	// costRounds bounds the measurements of a command. The shortest counts.
	costRounds = 4
	// costTries is the number of times that a command may be measured beside a plain loop.
	costTries = 3
)

// costKeys are the keys that costCases use, by command lines. In them and in cases, V is a text of
// the size, D digits, C the number of elements of a collection of the
// size, H half of it, MANY and PAIRS many words.
var costKeys = []string{
	"SET s V", "SET d D", "SET f 0D1", "SET w 1", "RPUSH wl 1",
	"HSET hl f V V 1 d D", "RPUSH ll a V V b", "SADD tl V a b", "ZADD zl 1 V 2 a",
}

// costCollections fill h, l, t, u and z with C elements. i is the number of an element.
var costCollections = []string{"HSET h E i", "RPUSH l E", "SADD t E", "SADD u E", "ZADD z i E", "ZADD zero 0 E"}

// costCases are the command lines to measure for each command. All but the last of a case, which
// ; separates, prepare it. A command without a case fails the test.
var costCases = map[string][]string{
	"GET":    {"GET s", "GET l", "GET x"},
	"SET":    {"SET k V", "SET k V GET", "SET s V XX GET", "SET l V GET", "SET k V EX D", "SET k V V"},
	"SETEX":  {"SETEX k 10 V", "SETEX k D V", "SETEX k 0 V"},
	"PSETEX": {"PSETEX k 10 V", "PSETEX k D V"},
	"SETNX":  {"DEL k;SETNX k V", "SETNX s V"},
	"GETSET": {"GETSET s V", "GETSET l V"},
	"GETDEL": {"SET k V;GETDEL k", "GETDEL l"},
	"GETEX":  {"GETEX s", "GETEX s EX 10", "GETEX s EX D", "GETEX l"},
	"MGET":   {"MGET MANY", "MGET s s x l", "MGET V V"},
	"MSET":   {"MSET PAIRS", "MSET k V k V", "MSET k V k"},
	"MSETNX": {"MSETNX PAIRS", "DEL k;MSETNX k V", "MSETNX k V s V", "MSETNX k V k"},
	"INCR":   {"INCR w", "INCR s", "INCR d", "INCR l"},
	"DECR":   {"DECR w", "DECR d"},
	"INCRBY": {"INCRBY w 5", "INCRBY w D", "INCRBY d 1", "INCRBY l 1"},
	"DECRBY": {"DECRBY w 5", "DECRBY w D", "DECRBY s 1"},
	"INCRBYFLOAT": {"INCRBYFLOAT w 1.5", "INCRBYFLOAT w D", "INCRBYFLOAT d 1", "INCRBYFLOAT f 1", "INCRBYFLOAT s 1",
		"INCRBYFLOAT l 1", "INCRBYFLOAT w 0x1p-16000", "SET k 1e-4900;INCRBYFLOAT k 0", "SET k 1e4900;INCRBYFLOAT k 1e4900",
		"INCRBYFLOAT w 1e-4940", "INCRBYFLOAT w 1e5000"},
	"APPEND": {"DEL k;APPEND k V", "SET k V;APPEND k 1", "APPEND l V"},
	"STRLEN": {"STRLEN s", "STRLEN l"},
	"SETRANGE": {"DEL k;SETRANGE k 10 V", "DEL k;SETRANGE k S x", "SETRANGE s 0 V", "SETRANGE k 99999999 V",
		"SETRANGE s D V", "SETRANGE l 0 V"},
	"GETRANGE": {"GETRANGE s 0 -1", "GETRANGE s D D", "GETRANGE l 0 -1"},
	"SUBSTR":   {"SUBSTR s 0 -1"},
	"DBSIZE":   {"DBSIZE"},
	"INFO":     {"INFO", "INFO server V", "INFO MANY"},
	"MEMORY": {"MEMORY USAGE s", "MEMORY USAGE h SAMPLES 0", "MEMORY USAGE l SAMPLES 0",
		"MEMORY USAGE z SAMPLES 0", "MEMORY USAGE V", "MEMORY USAGE s V V"},
	"SELECT":    {"SELECT 0", "SELECT D"},
	"KEYS":      {"KEYS *", "KEYS V", "KEYS *[a-w]*x*"},
	"RANDOMKEY": {"RANDOMKEY"},
	"SCAN":      {"SCAN 0", "SCAN 0 MATCH V", "SCAN D", "SCAN 0 V V"},
	"EXISTS":    {"EXISTS MANY", "EXISTS s l x", "EXISTS V"},
	"DEL": {"MSET PAIRS;DEL MANY", "SET k V;DEL k", "ZRANGESTORE k z 0 -1;DEL k", "SUNIONSTORE k t;DEL k",
		"DEL x V"},
	"UNLINK":   {"SET k V;UNLINK k"},
	"RL.RESET": {"SET k V;RL.RESET k"},
	"TOUCH":    {"TOUCH s l"},
	"TYPE":     {"TYPE s", "TYPE x"},
	"RENAME": {"SET k V;RENAME k k2", "ZRANGESTORE k z 0 -1;RENAME k k1", "SUNIONSTORE k t;RENAME k k2",
		"SUNIONSTORE k t;RENAME k k3", "RENAME x V", "DEL k;RPUSH k V V V;RENAME k k1", "DEL k;SADD k V;RENAME k k3"},
	"RENAMENX":    {"DEL k2;SET k V;RENAMENX k k2", "DEL k1;ZRANGESTORE k z 0 -1;RENAMENX k k1", "RENAMENX s l"},
	"EXPIRE":      {"EXPIRE s 100", "EXPIRE s D", "EXPIRE s 1 V", "EXPIRE x 1", "SUNIONSTORE k t;EXPIRE k -1"},
	"PEXPIRE":     {"PEXPIRE s 100", "PEXPIRE s D"},
	"EXPIREAT":    {"EXPIREAT s D", "EXPIREAT s 5000000000", "ZRANGESTORE k z 0 -1;EXPIREAT k 1"},
	"PEXPIREAT":   {"PEXPIREAT s D", "PEXPIREAT s 5000000000000"},
	"TTL":         {"TTL s"},
	"PTTL":        {"PTTL s"},
	"EXPIRETIME":  {"EXPIRETIME s"},
	"PEXPIRETIME": {"PEXPIRETIME s"},
	"PERSIST":     {"PERSIST s"},
	"INCREX": {"INCREX w", "INCREX w BYINT D", "INCREX d", "INCREX s BYFLOAT 1", "INCREX f BYFLOAT 1",
		"INCREX d BYFLOAT 1", "INCREX w BYFLOAT D", "INCREX w BYFLOAT 1 LBOUND D", "INCREX w BYFLOAT 1e-4940", "INCREX w V",
		"INCREX l", "SET k 1e4900;INCREX k BYFLOAT 1e4900"},
	"HSET": {"DEL k;HSET k PAIRS", "DEL k;HSET k f V", "DEL k;HSET k V V", "HSET hl f V", "HSET s f V",
		"HSET h f V g"},
	"HMSET":   {"DEL k;HMSET k PAIRS", "DEL k;HMSET k f V", "HMSET s f V"},
	"HSETNX":  {"DEL k;HSETNX k f V", "HSETNX hl V V", "HSETNX s f V"},
	"HGET":    {"HGET hl f", "HGET hl V", "HGET h V", "HGET s f"},
	"HMGET":   {"HMGET h MANY", "HMGET hl f f x", "HMGET h V V", "HMGET s f"},
	"HGETALL": {"HGETALL h", "HGETALL hl", "HGETALL s"},
	"HDEL":    {"DEL k;HSET k PAIRS;HDEL k MANY", "DEL k;HSET k V V;HDEL k V", "HDEL h V", "HDEL s f"},
	"HINCRBY": {"DEL k;HINCRBY k f 1", "HINCRBY hl f 1", "HINCRBY hl f D", "HINCRBY k V 1", "HINCRBY s f 1"},
	"HINCRBYFLOAT": {"DEL k;HINCRBYFLOAT k f 1.5", "HINCRBYFLOAT hl f 1", "HINCRBYFLOAT hl d 1", "HINCRBYFLOAT k f D",
		"HINCRBYFLOAT k V 1", "DEL k;HINCRBYFLOAT k f 1e-4940", "HINCRBYFLOAT s f 1"},
	"HKEYS":   {"HKEYS h", "HKEYS hl", "HKEYS s"},
	"HVALS":   {"HVALS h", "HVALS hl"},
	"HLEN":    {"HLEN h"},
	"HSTRLEN": {"HSTRLEN hl f", "HSTRLEN hl V", "HSTRLEN s f"},
	"HEXISTS": {"HEXISTS hl f", "HEXISTS hl V", "HEXISTS h V"},
	"HRANDFIELD": {"HRANDFIELD h", "HRANDFIELD h C", "HRANDFIELD h -C", "HRANDFIELD h C WITHVALUES",
		"HRANDFIELD hl -100", "HRANDFIELD s"},
	"HSCAN": {"HSCAN h 0 COUNT C", "HSCAN h 0 COUNT C MATCH *x", "HSCAN hl 0 MATCH *[a-w]*",
		"HSCAN h 0 MATCH V", "HSCAN hl 0 MATCH *P*", "HSCAN hl V", "HSCAN s 0"},
	"ZADD": {"DEL k;ZADD k PAIRS", "DEL k;ZADD k 1 V", "ZADD zl 2 V", "ZADD k D m", "ZADD k 0D1 m",
		"ZADD k 1 m V m", "ZADD k 1 m 0xD m", "ZADD s 1 V", "ZADD k NX XX 1 V"},
	"ZINCRBY":   {"ZINCRBY zl 2 V", "ZINCRBY zl D a", "ZINCRBY zl V a", "ZINCRBY s 1 a"},
	"ZREM":      {"DEL k;ZADD k PAIRS;ZREM k MANY", "DEL k;ZADD k 1 V;ZREM k V", "ZREM z V", "ZREM s a"},
	"ZCARD":     {"ZCARD z"},
	"ZCOUNT":    {"ZCOUNT z 0 C", "ZCOUNT z D D", "ZCOUNT z 0D1 V", "ZCOUNT s 0 1"},
	"ZLEXCOUNT": {"ZLEXCOUNT zero - +", "ZLEXCOUNT zl [V [V", "ZLEXCOUNT z V V"},
	"ZSCORE":    {"ZSCORE zl V", "ZSCORE z V"},
	"ZMSCORE":   {"ZMSCORE z MANY", "ZMSCORE zl V V", "ZMSCORE s V"},
	"ZRANK":     {"ZRANK zl V", "ZRANK z V", "ZRANK zl V WITHSCORE", "ZRANK z V V"},
	"ZREVRANK":  {"ZREVRANK zl V", "ZREVRANK z V"},
	"ZRANGE": {"ZRANGE z 0 -1", "ZRANGE z 0 -1 WITHSCORES", "ZRANGE z 0 -1 REV", "ZRANGE zl 0 -1",
		"ZRANGE z D D", "ZRANGE z 0 C BYSCORE LIMIT C 1", "ZRANGE s 0 -1"},
	"ZREVRANGE":        {"ZREVRANGE z 0 -1", "ZREVRANGE z 0 -1 WITHSCORES"},
	"ZRANGEBYSCORE":    {"ZRANGEBYSCORE z 0 C", "ZRANGEBYSCORE z D V", "ZRANGEBYSCORE z 0 C LIMIT C 5"},
	"ZREVRANGEBYSCORE": {"ZREVRANGEBYSCORE z C 0", "ZREVRANGEBYSCORE z C 0 LIMIT C 5"},
	"ZRANGEBYLEX":      {"ZRANGEBYLEX zero - +", "ZRANGEBYLEX zl [V [V", "ZRANGEBYLEX z V V"},
	"ZREVRANGEBYLEX":   {"ZREVRANGEBYLEX zero + -"},
	"ZREMRANGEBYRANK": {"ZRANGESTORE k z 0 -1;ZREMRANGEBYRANK k 1 -2", "ZRANGESTORE k z 0 -1;ZREMRANGEBYRANK k 0 -1",
		"ZREMRANGEBYRANK z D D"},
	"ZREMRANGEBYSCORE": {"ZRANGESTORE k z 0 -1;ZREMRANGEBYSCORE k 1 C", "ZREMRANGEBYSCORE z D V"},
	"ZREMRANGEBYLEX":   {"ZRANGESTORE k zero 0 -1;ZREMRANGEBYLEX k (member + ", "ZREMRANGEBYLEX zl (V (V"},
	"ZPOPMIN":          {"ZRANGESTORE k z 0 -1;ZPOPMIN k C", "ZRANGESTORE k z 0 -1;ZPOPMIN k"},
	"ZPOPMAX":          {"ZRANGESTORE k z 0 -1;ZPOPMAX k C"},
	"ZRANDMEMBER":      {"ZRANDMEMBER z C", "ZRANDMEMBER z -C WITHSCORES", "ZRANDMEMBER z"},
	"ZSCAN":            {"ZSCAN z 0 COUNT C", "ZSCAN z 0 COUNT C MATCH *x", "ZSCAN zl 0 MATCH *[a-w]*"},
	"ZRANGESTORE":      {"ZRANGESTORE k z 0 -1", "ZRANGESTORE k zl 0 -1", "ZRANGESTORE k s 0 -1"},
	"LPUSH":            {"DEL k;LPUSH k MANY", "DEL k;LPUSH k V V", "LPUSH s V"},
	"RPUSH":            {"DEL k;RPUSH k MANY", "DEL k;RPUSH k V V", "RPUSH s V"},
	"LPUSHX":           {"LPUSHX x V", "DEL k;RPUSH k a;LPUSHX k V"},
	"RPUSHX":           {"RPUSHX x V", "DEL k;RPUSH k a;RPUSHX k V"},
	"LPOP":             {"DEL k;RPUSH k V V;LPOP k", "LPOP wl 0", "LPOP s", "LPOP x V", "DEL k;RPUSH k V V V;LPOP k 2"},
	"RPOP":             {"DEL k;RPUSH k V V;RPOP k", "RPOP s"},
	"BLPOP":            {"DEL k;RPUSH k V V;BLPOP k 0", "DEL k;RPUSH k V;BLPOP x x x x k 0", "BLPOP x V", "BLPOP s 1"},
	"BRPOP":            {"DEL k;RPUSH k V V;BRPOP k 0", "BRPOP x 0"},
	"LINDEX":           {"LINDEX l H", "LINDEX ll 1", "LINDEX l D", "LINDEX s 1"},
	"LLEN":             {"LLEN l"},
	"LTRIM":            {"DEL k;RPUSH k V V V;LTRIM k 1 1", "LTRIM k D D", "LTRIM l 0 -1"},
	"LRANGE":           {"LRANGE l 0 -1", "LRANGE ll 0 -1", "LRANGE l H H", "LRANGE l D D"},
	"LSET":             {"LSET l H E", "LSET ll 1 V", "LSET l D V", "LSET x 0 V"},
	"LREM":             {"LREM l 0 V", "LREM l -1 V", "LREM ll 0 x", "DEL k;RPUSH k V V V;LREM k 0 V", "LREM s 0 V"},
	"LINSERT":          {"LINSERT l BEFORE V x", "LINSERT ll BEFORE b V", "LINSERT l V x x", "LINSERT s BEFORE V V"},
	"LPOS":             {"LPOS l V", "LPOS l V RANK -1", "LPOS ll V COUNT 0", "LPOS l x COUNT D", "LPOS s V"},
	"LMOVE": {"DEL k;RPUSH k V V;LMOVE k k2 LEFT LEFT", "DEL k;RPUSH k V V;LMOVE k k LEFT RIGHT",
		"LMOVE x k LEFT V"},
	"RPOPLPUSH":   {"DEL k;RPUSH k V V;RPOPLPUSH k k2", "RPOPLPUSH s k"},
	"SADD":        {"DEL k;SADD k MANY", "DEL k;SADD k V", "SADD tl V", "SADD s V"},
	"SREM":        {"DEL k;SADD k MANY;SREM k MANY", "DEL k;SADD k V;SREM k V", "SREM t V"},
	"SMEMBERS":    {"SMEMBERS t", "SMEMBERS tl"},
	"SISMEMBER":   {"SISMEMBER tl V", "SISMEMBER t V"},
	"SMISMEMBER":  {"SMISMEMBER t MANY", "SMISMEMBER tl V V", "SMISMEMBER s V"},
	"SCARD":       {"SCARD t"},
	"SPOP":        {"SUNIONSTORE k t;SPOP k C", "SUNIONSTORE k t;SPOP k H", "SUNIONSTORE k t;SPOP k"},
	"SRANDMEMBER": {"SRANDMEMBER t C", "SRANDMEMBER t -C", "SRANDMEMBER tl -100"},
	"SMOVE":       {"DEL k;SADD k V;SMOVE k k2 V", "SMOVE t u V"},
	"SSCAN":       {"SSCAN t 0 COUNT C", "SSCAN t 0 COUNT C MATCH *x", "SSCAN tl 0 MATCH *[a-w]*", "SSCAN t 0 MATCH V"},
	"SINTER":      {"SINTER t t MANY", "SINTER t u", "SINTER t u t u t", "SINTER t x", "SINTER t s"},
	"SUNION":      {"SUNION MANY", "SUNION t u", "SUNION t u t u t", "SUNION tl tl"},
	"SDIFF":       {"SDIFF t MANY", "SDIFF t u", "SDIFF t x x x x", "SDIFF tl u"},
	"SINTERSTORE": {"SINTERSTORE k t u"},
	"SUNIONSTORE": {"SUNIONSTORE k t u", "SUNIONSTORE k t u t u", "SUNIONSTORE k tl"},
	"SDIFFSTORE":  {"SDIFFSTORE k t x", "SDIFFSTORE k t u"},
	"SINTERCARD":  {"SINTERCARD 2 t u", "SINTERCARD 2 t u LIMIT C", "SINTERCARD D t u"},
	"OBJECT":      {"OBJECT ENCODING s", "OBJECT V s"},
	"SETBIT":      {"DEL k;SETBIT k B 1", "SETBIT s 1 1", "SETBIT s D 1"},
	"GETBIT":      {"GETBIT s B", "GETBIT s D"},
	"BITCOUNT":    {"BITCOUNT s", "BITCOUNT s 1 -2 BIT", "BITCOUNT s D D"},
	"BITFIELD":    {"DEL k;BITFIELD k SET u8 B 1", "BITFIELD s SET u64 1 5 GET u64 1", "BITFIELD s GET V 1"},
	"BITFIELD_RO": {"BITFIELD_RO s GET u8 1", "BITFIELD_RO s GET u8 D"},
	"PING":        {"PING", "PING V"},
	"ECHO":        {"ECHO V"},
	"WAIT":        {"WAIT 1 0", "WAIT V V"},
	"TIME":        {"TIME"},
	"PUBLISH":     {"PUBLISH c V", "PUBLISH V V"},
}

// costLimits are the words after the key of commands on limits, for costCases, except for the commands
// that take tokens.
var costLimits = map[string]string{
	"RL.ACQUIRE": "10 1s id", "RL.RELEASE": "id", "RL.PEEK": "", "RL.REFUND": "1", "RL.CHARGE": "1",
	"CL.THROTTLE": "10 10 60", "THROTTLE": "10 10 60", "RL.THROTTLE": "10 10 1", "GCRA": "10 10 1000",
}

// allCostCases returns costCases and the cases of commands on limits. Other commands have a
// shortest line.
func allCostCases() map[string][]string {
	all := maps.Clone(costCases)
	limits := maps.Clone(costLimits)
	for a := range engine.Algs() {
		if a.IsCounted() {
			limits["RL."+a.String()] = "10 1s"
		}
	}
	for name, words := range limits {
		given := len(strings.Fields(words))
		all[name] = []string{
			name + " lim:" + name + " " + words, name + " V " + words, name + " s " + words,
			name + " lim " + strings.Repeat(" D", given), name + " lim " + strings.Repeat(" V", given),
		}
	}
	for name, c := range commands {
		if !c.isForbidden(newest) && len(all[name]) == 0 {
			all[name] = []string{strings.Join(append([]string{name}, spectest.Words(c.Command, "k")...), " ")}
		}
	}
	all["RL.ALL"] = []string{"RL.ALL TOKEN lim:a 10 1s 1 FIXED lim:b 10 1s 1", "RL.ALL TOKEN V 10 1s 1",
		"RL.ALL TOKEN lim:a V V D", "RL.ALL V V V V V"}
	return all
}

// A costNode measures commands with values of a size.
type costNode struct {
	*node
	words map[string]string
}

const costLoop = "for i = 1, tonumber(ARGV[1]) do redis.pcall(unpack(ARGV, 2)) end"

func newCostNode(size int) *costNode {
	element := costElement
	if size > 1<<20 {
		element *= 8
	}
	n, count := &costNode{node: newNode()}, size/element
	n.words = map[string]string{
		"V": strings.Repeat("x", size), "D": strings.Repeat("1", size), "0D1": strings.Repeat("0", size) + "1",
		"0xD": "0x" + strings.Repeat("1", size),
		"C":   strconv.Itoa(count), "-C": strconv.Itoa(-count), "H": strconv.Itoa(count / 2), "S": strconv.Itoa(size),
		"B": strconv.Itoa(size * 8), "[V": "[" + strings.Repeat("x", size), "(V": "(" + strings.Repeat("x", size),
		"*P*": "*" + strings.Repeat("x?", min(size, 1000)/2) + "y*", "E": "member:" + strings.Repeat("0", element-7),
	}
	for _, line := range costKeys {
		n.do(line, 1)
	}
	for _, line := range costCollections {
		words := strings.Fields(line)
		text := "local e = ('x'):rep(" + strconv.Itoa(element-16) + ") for i = ARGV[1], ARGV[2] do redis.call('" + words[0] +
			"', '" + words[1] + "'"
		for _, w := range words[2:] {
			text += map[string]string{"E": ", string.format('member:%09d', i) .. e", "i": ", i", "0": ", 0"}[w]
		}
		for from := 1; from <= count; from += 20_000 {
			n.runAs(0, 1<<40, text+") end", "0", strconv.Itoa(from), strconv.Itoa(min(from+19_999, count)))
		}
	}
	return n
}

// do runs a command line some times in a script, and returns its time and steps.
func (n *costNode) do(line string, times int) (took time.Duration, steps int64) {
	args := []string{"0", strconv.Itoa(times)}
	for _, w := range strings.Fields(line) {
		switch long, ok := n.words[w]; {
		case ok:
			args = append(args, long)
		case w == "MANY" || w == "PAIRS":
			for i := range costMany {
				args = append(args, strconv.Itoa(i*costMany%3001))
				if w == "PAIRS" {
					args = append(args, "member:"+strconv.Itoa(i))
				}
			}
		default:
			args = append(args, w)
		}
	}
	n.batch.Reset()
	n.add(Known, 1<<40, costLoop, args...)
	before := n.e.Stats().RunStats.Steps
	took = threadTimeOf(func() { n.e.Apply(n.now, &n.batch) })
	return took, n.e.Stats().RunStats.Steps - before
}

// perStep returns the time of a step of the last line of a case.
func (n *costNode) perStep(lines string, rounds int) float64 {
	all := strings.Split(lines, ";")
	last := all[len(all)-1]
	times, best, none := 1, time.Hour, time.Hour
	var steps int64
	for range rounds {
		for _, line := range all[:len(all)-1] {
			n.do(line, 1)
		}
		took, all := n.do(last, times)
		zero, own := n.do(last, 0)
		if took < 200*time.Microsecond && times == 1 {
			times = 64
			continue
		}
		best, none, steps = min(best, took), min(none, zero), all-own
	}
	return float64(best-none) / float64(steps)
}

// plainLoop returns the time of a step of a loop with a call and an assignment.
func (n *costNode) plainLoop() float64 {
	best := time.Hour
	var steps int64
	for range costRounds {
		n.batch.Reset()
		n.add(0, 1<<40, "local t = {} local function f(x) return x end for i = 1, 100000 do t[i % 16] = f(i) end", "0")
		before := n.e.Stats().RunStats.Steps
		best = min(best, threadTimeOf(func() { n.e.Apply(n.now, &n.batch) }))
		steps = n.e.Stats().RunStats.Steps - before
	}
	return float64(best) / float64(steps)
}

// TestCommandCosts is the law that a budget of steps is a budget of time: no command takes more
// time for a step than a plain loop does, times mostPerStep, whatever its arguments and the
// values it meets.
func TestCommandCosts(t *testing.T) {
	testwait.Sequential(t)
	cases := allCostCases()
	for name := range cases {
		if commands[name] == nil {
			t.Errorf("%s: a case in costCases, but no command", name)
		}
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(6 << 30))
	for _, size := range costSizes {
		n := newCostNode(size)
		loop := n.plainLoop()
		t.Logf("%d bytes: a step of a plain loop takes %.1f ns", size, loop)
		for _, name := range slices.Sorted(maps.Keys(cases)) {
			for _, lines := range cases[name] {
				got := n.perStep(lines, 2)
				// Other programs, or a slower processor, may be the cause: both are measured anew.
				for try := 0; try < costTries && got > mostPerStep*loop; try++ {
					runtime.GC()
					loop = n.plainLoop()
					got = n.perStep(lines, costRounds)
				}
				if got > mostPerStep*loop {
					t.Errorf("%d bytes: %s: %.1f ns a step, %.1f times those of a plain loop", size, lines, got, got/loop)
				}
			}
			runtime.GC()
		}
	}
}
