package commands

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"limitsrv/commands/resp"
	"limitsrv/commands/session"
	"limitsrv/internal/testing/freeport"
	"limitsrv/internal/testing/redistest"
	"limitsrv/internal/testing/testwait"
)

// A realRedis is Debian's redis-server, on a free port, for the duration of a test.
type realRedis struct {
	t       *testing.T
	address string
}

func startRedis(t *testing.T, options ...string) *realRedis {
	t.Helper()
	return &realRedis{t, redistest.Start(t, options...)}
}

// startRedisNode starts a node of a Redis cluster, and returns the port of its bus. By
// default that port is above 32768, where any client's socket may have it already.
func startRedisNode(t *testing.T, args ...string) (r *realRedis, bus string) {
	t.Helper()
	address, err := freeport.Address("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	_, bus, _ = net.SplitHostPort(address)
	return startRedis(t, append([]string{"--cluster-enabled", "yes", "--cluster-port", bus}, args...)...), bus
}

// A pair is a connection to each server, with the same commands sent to both.
type pair struct {
	t    *testing.T
	ours *session.Session
	nc   net.Conn
	made time.Time
	rest []byte          // received from Redis and not yet parsed
	used map[string]bool // lines of different that were sent
}

func (r *realRedis) pair(h *session.Handler) *pair {
	r.t.Helper()
	nc, err := net.Dial("tcp", r.address)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { nc.Close() })
	local := nc.LocalAddr().String()
	s := h.NewSession(session.Client{Addr: local, LocalAddr: r.address, Since: time.Now(), Close: func() {},
		Wake: func() {}})
	return &pair{t: r.t, ours: s, nc: nc, made: time.Now()}
}

// ask sends a line to both, and reads as many replies from Redis as limitsrv sent.
func (p *pair) ask(ours, redis string) (got, want []string) {
	p.t.Helper()
	args, err := splitLine(ours)
	if err != nil {
		p.t.Fatal(err)
	}
	p.ours.Do(args)
	p.ours.Flush()
	p.ours.Resume()
	if got, err = readReplies(p.ours.Out); err != nil {
		p.t.Fatalf("%s: %v", ours, err)
	}
	p.ours.Out = nil
	if args, err = splitLine(redis); err != nil {
		p.t.Fatal(err)
	}
	var request resp.Writer
	request.Array(len(args))
	for _, a := range args {
		request.Bulk(a)
	}
	if _, err := p.nc.Write(request.Buf); err != nil {
		p.t.Fatalf("%s: %v", redis, err)
	}
	for range got {
		want = append(want, p.read(redis))
	}
	return got, want
}

// read reads a reply of Redis.
func (p *pair) read(line string) string {
	p.t.Helper()
	_ = p.nc.SetReadDeadline(testwait.Soon(redistest.Patience))
	for {
		shown, rest, err := readReply(p.rest)
		if err == nil {
			p.rest = rest
			return shown
		}
		more := make([]byte, 64<<10)
		n, readErr := p.nc.Read(more)
		p.rest = append(p.rest, more[:n]...)
		if readErr != nil {
			p.t.Fatalf("%s: Redis says %.100q, then %v (%v)", line, p.rest, readErr, err)
		}
	}
}

// silent expects no further reply from Redis.
func (p *pair) silent(after string) {
	p.t.Helper()
	_ = p.nc.SetReadDeadline(time.Now().Add(5 * time.Millisecond))
	n, _ := p.nc.Read(make([]byte, 64))
	if n+len(p.rest) > 0 {
		p.t.Errorf("%s: Redis answers more often than we do: %q", after, p.rest)
	}
}

var (
	anyString = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	anyNumber = regexp.MustCompile(`-?\b\d+\b`)
	anyMember = regexp.MustCompile(`\+@?\w+`)
)

// shape is a reply without its contents.
func shape(reply string) string {
	if strings.HasPrefix(reply, "-") {
		return reply
	}
	reply = anyString.ReplaceAllString(reply, `""`)
	return anyMember.ReplaceAllString(anyNumber.ReplaceAllString(reply, "0"), "+")
}

// kindOf is a reply without its elements.
func kindOf(reply string) string {
	switch {
	case strings.HasPrefix(reply, "-"):
		return reply
	case reply[0] >= '0' && reply[0] <= '9':
		return "number"
	}
	return reply[:1]
}

// redisOptions are the settings that redisScript changes.
func redisOptions() []session.Option {
	accept := func(value string) (func(), error) {
		if _, err := strconv.Atoi(value); err != nil {
			return nil, errors.New("argument couldn't be parsed into an integer")
		}
		return func() {}, nil
	}
	return []session.Option{{Name: "max-clients", Value: "10000", Set: accept},
		{Name: "idle-timeout", Value: "0", Set: accept}}
}

// protocols are greetings.
var protocols = []string{"HELLO 2", "HELLO 3"}

// TestLikeRedis sends redisScript to a real Redis and to limitsrv, in RESP2 and RESP3.
// Each reply must have the same type, and the same contents unless the script says
// otherwise. Errors must always be equal, except that ours may continue after a
// semicolon. Exceptions are in different.
func TestLikeRedis(t *testing.T) {
	r := startRedis(t)
	used := map[string]bool{}
	for _, protocol := range protocols {
		h := newTestHandlerWith(session.Config{Options: redisOptions})
		first := r.pair(h)
		first.ask("FLUSHALL", "FLUSHALL")
		for _, key := range []string{"k", "l", "m"} {
			first.ask("RL.TOKEN "+key+" 1000 1 1000", "SET "+key+" v EX 1000")
		}
		for _, block := range strings.Split(redisScript, "\n\n") {
			p := r.pair(h)
			p.used = used
			p.follow(protocol, block)
			p.ours.Close()
			p.nc.Close()
		}
		first.ours.Close()
	}
	for line := range different {
		if !used[line] {
			t.Errorf("%q is in different, but not in the script", line)
		}
	}
}

// TestClusterLikeRedis does the same with clusters of a single node.
func TestClusterLikeRedis(t *testing.T) {
	r, _ := startRedisNode(t)
	h := newTestHandlerWith(session.Config{Cluster: testCluster,
		Options: func() []session.Option { return []session.Option{{Name: "cluster-mode", Value: "emulated"}} }})
	first := r.pair(h)
	first.ask("PING", "CLUSTER ADDSLOTSRANGE 0 16383")
	first.waitFor("CLUSTER INFO", "cluster_state:ok")
	first.ask("RL.TOKEN {foo}1 10 1", "SET {foo}1 v")
	for _, protocol := range protocols {
		r.pair(h).follow(protocol, clusterScript)
	}
}

// follow sends the lines of a block to both, after a greeting.
func (p *pair) follow(protocol, block string) {
	p.t.Helper()
	p.ask(protocol, protocol)
	for _, line := range strings.Split(strings.TrimSpace(block), "\n") {
		if !strings.HasPrefix(line, "#") {
			p.compare(protocol, line)
		}
	}
	p.silent(block)
}

// compare sends a line to both. A first word "~" lets contents differ, and "?" lets the
// elements differ too.
func (p *pair) compare(protocol, line string) {
	p.t.Helper()
	see := func(reply string) string { return reply }
	if rest, ok := strings.CutPrefix(line, "~ "); ok {
		line, see = rest, shape
	} else if rest, ok := strings.CutPrefix(line, "? "); ok {
		line, see = rest, kindOf
	}
	got, want := p.ask(line, line)
	if why, ok := different[line]; ok {
		p.used[line] = true
		if strings.Join(got, " ") == strings.Join(want, " ") {
			p.t.Errorf("%s: %s: both answer %s, although it is in different: %s", protocol, line, got, why)
		}
		return
	}
	for i := range got {
		if see(got[i]) != see(want[i]) && !goesOn(got[i], want[i]) && !p.hasAged(line, got[i], want[i]) {
			p.t.Errorf("%s: %s\n got %.1000s\nRedis %.1000s", protocol, line, got[i], want[i])
		}
	}
}

// leastToSecond is a short time. No TTL in the scripts is a second less after it, rounded as
// Redis does.
const leastToSecond = 90 * time.Millisecond

// tellsTTL matches lines with times to live in their replies.
var tellsTTL = regexp.MustCompile(`TTL|^FCALL add `)

// hasAged reports whether want is got with times to live that are shorter by the time since
// the pair was made, or less: our clock stands still.
func (p *pair) hasAged(line, got, want string) bool {
	if !tellsTTL.MatchString(line) || anyNumber.ReplaceAllString(got, "0") != anyNumber.ReplaceAllString(want, "0") {
		return false
	}
	age := time.Since(p.made)
	left := anyNumber.FindAllString(want, -1)
	for i, is := range anyNumber.FindAllString(got, -1) {
		ours, _ := strconv.Atoi(is)
		redis, _ := strconv.Atoi(left[i])
		if ours != redis && (redis <= 0 || ours < redis || age < time.Duration(ours-redis-1)*time.Second+leastToSecond) {
			return false
		}
	}
	return true
}

// goesOn reports whether got is other with a continuation.
func goesOn(got, other string) bool {
	return strings.HasPrefix(other, "-") && strings.HasPrefix(got, other+"; ")
}

// describedAs is the part of COMMAND INFO that clients use: arity, flags, and key
// positions.
var describedAs = regexp.MustCompile(`^\[\["[^"]+" (-?\d+) \[([^]]*)\] (\d+ -?\d+ \d+) `)

// notOurFlags are flags of Redis without a meaning here, and our flag for commands that
// MULTI rejects.
var notOurFlags = map[string]bool{"+allow_busy": true, "+skip_slowlog": true, "+skip_monitor": true,
	"+movablekeys": true, "+no_multi": true, "+blocking": true, "+sentinel": true,
	"+no_async_loading": true, "+no_mandatory_keys": true}

// otherwiseDescribed are the commands with another description than Redis', and the
// reason.
var otherwiseDescribed = map[string]string{
	"quit":                    "too many arguments are the same error for every command",
	"command|getkeys":         "as Redis 7.2 has it: a command needs no arguments",
	"command|getkeysandflags": "as Redis 7.2 has it: a command needs no arguments",
	"zrank":                   "as Redis 7.2 has it: WITHSCORE",
	"zrevrank":                "as Redis 7.2 has it: WITHSCORE",
}

// TestDescribedLikeRedis compares arity, flags and keys of every command that Redis has
// too.
func TestDescribedLikeRedis(t *testing.T) {
	p := startRedis(t).pair(newTestHandler(""))
	described := func(reply string) string {
		m := describedAs.FindStringSubmatch(reply)
		if m == nil {
			return ""
		}
		flags := strings.Fields(m[2])
		slices.Sort(flags)
		flags = slices.DeleteFunc(flags, func(f string) bool { return notOurFlags[f] })
		return m[1] + " " + strings.Join(flags, " ") + " " + m[3]
	}
	for _, c := range p.ours.Handler().Registry().Specs() {
		got, want := p.ask("COMMAND INFO "+c.FullName, "COMMAND INFO "+c.FullName)
		ours, theirs := described(got[0]), described(want[0])
		why, differs := otherwiseDescribed[c.FullName]
		if theirs != "" && ours != theirs != differs {
			t.Errorf("COMMAND INFO %s (%s)\n got %s\nRedis %s", c.FullName, why, ours, theirs)
		}
	}
}

// TestScriptHasAllCommands requires every command and subcommand that Redis has too to be
// in redisScript.
func TestScriptHasAllCommands(t *testing.T) {
	r := startRedis(t)
	p := r.pair(newTestHandler(""))
	asked := map[string]bool{}
	for _, line := range strings.Split(redisScript, "\n") {
		words := bytes.Fields([]byte(strings.TrimLeft(line, "~? ")))
		if len(words) == 0 {
			continue
		}
		if c, _ := p.ours.Handler().Registry().Lookup(words, nil); c != nil {
			asked[c.FullName] = true
		}
	}
	for _, c := range p.ours.Handler().Registry().Specs() {
		if c.Subs != nil || strings.HasSuffix(c.FullName, "|help") {
			continue
		}
		_, there := p.ask("COMMAND INFO "+c.FullName, "COMMAND INFO "+c.FullName)
		if !strings.Contains(fmt.Sprint(there), "nil") && !asked[c.FullName] {
			t.Errorf("Redis has %s, and redisScript does not ask for it", c.FullName)
		}
	}
}

// loadingScript is sent to both while they load. Blocks are as in redisScript.
const loadingScript = `PING
ECHO a
TIME
ROLE
LASTSAVE
DBSIZE
SCAN 0
EXISTS k
DEL k
TTL k
TYPE k
OBJECT ENCODING k
MEMORY USAGE k
RANDOMKEY
KEYS *
FLUSHALL
SELECT 0
CLIENT ID
CLIENT SETNAME me
CLIENT LIST
CLIENT NO-EVICT on
CONFIG GET databases
CONFIG SET slowlog-max-len 128
COMMAND COUNT
INFO persistence
SLOWLOG LEN
LATENCY LATEST
ACL WHOAMI
WAIT 0 0
PUBLISH c m
PUBSUB CHANNELS
WATCH k
UNWATCH
SAVE
BGSAVE
CLUSTER INFO
READONLY
ASKING
SHUTDOWN ABORT
SHUTDOWN FOO
NOPE
DEL
MULTI
TIME
EXEC
MULTI
EXISTS k
TIME
EXEC
MULTI
DISCARD
SUBSCRIBE c
UNSUBSCRIBE c
HELLO 3
RESET
PING`

// TestLoadingLikeRedis requires a Redis that loads, at a millisecond per key, to reject
// the same commands with the same code.
func TestLoadingLikeRedis(t *testing.T) {
	dir := t.TempDir()
	h := newTestHandler("")
	startRedis(t, "--dir", dir, "--enable-debug-command", "yes").pair(h).fill()
	p := startRedis(t, "--dir", dir, "--key-load-delay", "1000", "--loading-process-events-interval-bytes", "1024").pair(h)
	h.SetLoading(true)
	see := func(reply string) string {
		if code, _, ok := strings.Cut(reply, " "); ok && reply[0] == '-' {
			return code
		}
		return kindOf(reply)
	}
	rejected := 0
	for _, line := range strings.Split(loadingScript, "\n") {
		got, want := p.ask(line, line)
		if see(got[0]) != see(want[0]) {
			t.Errorf("%s\n got %.100s\nRedis %.100s", line, got[0], want[0])
		}
		if strings.HasPrefix(got[0], "-LOADING ") {
			rejected++
		}
	}
	if _, info := p.ask("TIME", "INFO persistence"); !strings.Contains(info[0], "loading:1") || rejected < 10 {
		t.Errorf("%d rejected, and Redis says %.100s: want 10 or more while it loads", rejected, info[0])
	}
}

// fill writes keys to Redis, which it saves.
func (p *pair) fill() {
	p.t.Helper()
	for _, line := range []string{"DEBUG POPULATE 100000 k 10", "SAVE"} {
		if _, got := p.ask("TIME", line); got[0] != "+OK" {
			p.t.Fatalf("%s: Redis says %s", line, got[0])
		}
	}
}
