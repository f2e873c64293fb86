package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"time"

	"limitsrv/internal/respclient"
)

// A side is one of the two servers compared, with its commands.
type side struct {
	*process
	// nodes are the processes whose processor time counts: the process that is asked, and
	// the other nodes if it is a node of a cluster.
	nodes    []*process
	name     string
	password string // empty: no login
	// replyLines is the number of lines in each reply. A generator counts line ends
	// instead of parsing.
	replyLines map[algorithm]int
	commands   map[algorithm][]string // with keyPlace for the key
	allowed    int64                  // begins a reply that allows a request
}

// A product is a server under test.
type product string

const (
	limitsrv  product = "limitsrv"
	redisLua  product = "Redis + Lua"
	redisCell product = "redis-cell"
)

// An algorithm is the rate limiting algorithm of a load.
type algorithm string

const (
	tokenBucket algorithm = "token"
	slidingLog  algorithm = "log"
	// lastingBucket is a token bucket that refills only after hours. It is for the
	// cost of persistence, which keys that expire during a run would blur.
	lastingBucket algorithm = "lasting token"
	// lastingGCRA is the same bucket, stored by Redis as a string.
	lastingGCRA algorithm = "lasting GCRA"
)

// The limit of buckets that last, with the rate in limitsrv's form and as the time until a
// token comes back.
const (
	lastingCapacity = 1000
	lastingRate     = "1000/100d"
	lastingInterval = 100 * 24 * time.Hour / 1000
)

const (
	// keyPrefix and the 12 digits after it make keys of 22 bytes.
	keyPrefix = "rate:user:"
	keyDigits = 12
	// keyPlace is a key in the form that redis-benchmark substitutes.
	keyPlace = keyPrefix + "__rand_int__"
)

// limitsrvCommands have limits wide enough that uniformly distributed requests are always
// allowed, on either side, so that both do the same work. A bucket of 1000 a day that has
// granted a permit is not full again for 86 seconds.
var limitsrvCommands = map[algorithm][]string{
	tokenBucket:   {"RL.TOKEN", keyPlace, "1000", "1000/d"},
	slidingLog:    {"RL.LOG", keyPlace, "100", "10s"},
	lastingBucket: {"RL.TOKEN", keyPlace, fmt.Sprint(lastingCapacity), lastingRate},
	lastingGCRA:   {"RL.TOKEN", keyPlace, fmt.Sprint(lastingCapacity), lastingRate},
}

// cellCommands are the commands of the module redis-cell, with the limit of
// limitsrvCommands.
var cellCommands = map[algorithm][]string{
	tokenBucket: {"CL.THROTTLE", keyPlace, "999", "1000", "86400"},
}

var (
	//go:embed scripts/token.lua
	tokenScript string
	//go:embed scripts/log.lua
	logScript string
	//go:embed scripts/gcra.lua
	gcraScript string
)

var redisScripts = map[algorithm]struct {
	source string
	args   []string
}{
	tokenBucket:   {tokenScript, []string{"1000", "0.000011574074074074073", "1"}},
	slidingLog:    {logScript, []string{"100", "10000"}},
	lastingBucket: {tokenScript, []string{"1000", "0.00000011574074074074073", "1"}},
	lastingGCRA:   {gcraScript, []string{fmt.Sprint(lastingCapacity), fmt.Sprint(lastingInterval.Microseconds()), "1"}},
}

// errNoRedis names the packages of the missing programs.
var errNoRedis = errors.New("redis-server and redis-benchmark are needed; on Debian: apt-get install redis-server " +
	"redis-tools")

// newSide returns the side of a running server, after loading the scripts of Redis.
// password is the server's password; empty: no password.
func newSide(p product, server *process, password string) (*side, error) {
	s := &side{process: server, nodes: []*process{server}, name: string(p), password: password, commands: limitsrvCommands,
		allowed: 1}
	switch p {
	case redisCell:
		s.commands, s.allowed = cellCommands, 0
	case redisLua:
		s.commands = map[algorithm][]string{}
		for a, script := range redisScripts {
			sha, err := s.ask("SCRIPT", "LOAD", script.source)
			if err != nil {
				return nil, err
			}
			s.commands[a] = append([]string{"EVALSHA", fmt.Sprint(sha), "1", keyPlace}, script.args...)
		}
	}
	return s, s.verify()
}

// verify requests a decision of each algorithm, so that error replies are not mistaken for
// decisions, and counts the lines of the replies.
func (s *side) verify() error {
	s.replyLines = map[algorithm]int{}
	for a, command := range s.commands {
		fields, err := s.askAllowed(command)
		if err == nil {
			_, err = s.ask("DEL", keyPlace)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		s.replyLines[a] = 1 + len(fields)
	}
	return nil
}

// askAllowed sends a command for a new key, and returns the fields of its reply. It is an error
// if the reply does not allow the request.
func (s *side) askAllowed(command []string) ([]any, error) {
	reply, err := s.ask(command...)
	if err != nil {
		return nil, err
	}
	fields, ok := reply.([]any)
	if !ok || len(fields) == 0 || fields[0] != s.allowed {
		return nil, fmt.Errorf("%s: a new key was answered %v, not allowed", strings.Join(command, " "), reply)
	}
	return fields, nil
}

// connect opens a connection, and logs in if the side has a password.
func (s *side) connect() (net.Conn, error) {
	conn, err := net.DialTimeout("tcp", s.address, lastReplyWait)
	if err != nil || s.password == "" {
		return conn, err
	}
	conn.SetDeadline(time.Now().Add(lastReplyWait))
	if _, err = conn.Write(respclient.AppendCommand(nil, "AUTH", s.password)); err == nil {
		_, err = readReplies(conn, make([]byte, 64), 1, 1)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return conn, conn.SetDeadline(time.Time{})
}

// longWait bounds the time of a command.
const longWait = 5 * time.Minute

// ask sends a command over a connection of its own.
func (s *side) ask(args ...string) (any, error) {
	conn, err := s.connect()
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(longWait))
	return newClient(conn).do(args...)
}

// keys returns the number of keys on the server.
func (s *side) keys() (int64, error) {
	reply, err := s.ask("DBSIZE")
	if err != nil {
		return 0, err
	}
	n, ok := reply.(int64)
	if !ok {
		return 0, fmt.Errorf("DBSIZE answered %v", reply)
	}
	return n, nil
}

// fillWait bounds the time to fill a server with keys.
const fillWait = 15 * time.Minute

// prepare empties the server and, for token buckets, fills it with all keys. The keys
// of a log expire after its window, so a run with logs starts empty.
func (s *side) prepare(ctx context.Context, l load) error {
	if _, err := s.ask("FLUSHALL"); err != nil {
		return err
	}
	if l.algorithm == slidingLog {
		return nil
	}
	_, err := s.fill(ctx, l.algorithm, l.keys)
	return err
}

// fill requests a decision for each key 0..keys-1 and checks that the keys exist.
func (s *side) fill(ctx context.Context, a algorithm, keys int) (outcome, error) {
	return s.fillBy(ctx, load{algorithm: a, connections: fillConnections, pipeline: fillPipeline, keys: keys}, fillWait)
}

// fillBy is fill with the command and the concurrency of a load, within the time wait.
func (s *side) fillBy(ctx context.Context, l load, wait time.Duration) (outcome, error) {
	o, err := s.generate(ctx, l, wait, sequential(0, l.keys, l.connections))
	if err != nil {
		return o, err
	}
	n, err := s.keys()
	if err == nil && n < int64(l.keys) {
		err = fmt.Errorf("%s holds %d keys after requests for %d within %v", s.name, n, l.keys, wait)
	}
	return o, err
}

// refill empties the server, and makes most keys of a load by random requests.
func (s *side) refill(ctx context.Context, l load) error {
	if _, err := s.ask("FLUSHALL"); err != nil {
		return err
	}
	l.pipeline = refillPipeline
	_, err := redisBenchmark(ctx, s, l, 2*l.keys)
	return err
}

const (
	refillPipeline  = 64
	fillConnections = 8
	fillPipeline    = 16
)

// haveRedis returns an error if Redis's programs are not installed.
func haveRedis() error {
	for _, name := range []string{"redis-server", "redis-benchmark"} {
		if _, err := exec.LookPath(name); err != nil {
			return errNoRedis
		}
	}
	return nil
}
