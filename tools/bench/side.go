package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"limitsrv/freeport"
)

// A side is one of the two servers compared, with its commands.
type side struct {
	*process
	name     string
	password string // empty: no login
	// replyLines is the number of lines in each reply. A generator counts line ends
	// instead of parsing.
	replyLines map[algorithm]int
	commands   map[algorithm][]string // with keyPlace for the key
}

// An algorithm is the rate limiting algorithm of a load.
type algorithm string

const (
	tokenBucket algorithm = "token"
	slidingLog  algorithm = "log"
	// lastingBucket is a token bucket that refills only after hours. It is for the
	// cost of persistence, which keys that expire during a run would blur.
	lastingBucket algorithm = "lasting token"
)

const (
	// keyPrefix and the 12 digits behind it make keys of 22 bytes.
	keyPrefix = "rate:user:"
	keyDigits = 12
	// keyPlace is a key in the form that redis-benchmark substitutes.
	keyPlace = keyPrefix + "__rand_int__"
)

// limitsrvCommands have limits wide enough that uniformly distributed requests are
// always allowed, on either side, so that both do the same work. A bucket of 1000 a day
// that has granted one permit is not full again for 86 seconds.
var limitsrvCommands = map[algorithm][]string{
	tokenBucket:   {"RL.TOKEN", keyPlace, "1000", "1000/d"},
	slidingLog:    {"RL.LOG", keyPlace, "100", "10s"},
	lastingBucket: {"RL.TOKEN", keyPlace, "1000", "1000/100d"},
}

var (
	//go:embed scripts/token.lua
	tokenScript string
	//go:embed scripts/log.lua
	logScript string
)

var redisScripts = map[algorithm]struct {
	source string
	args   []string
}{
	tokenBucket:   {tokenScript, []string{"1000", "0.000011574074074074073", "1"}},
	slidingLog:    {logScript, []string{"100", "10000"}},
	lastingBucket: {tokenScript, []string{"1000", "0.00000011574074074074073", "1"}},
}

// errNoRedis names the packages of the missing programs.
var errNoRedis = errors.New("redis-server and redis-benchmark are needed; on Debian: apt-get install redis-server redis-tools")

// startLimitsrv starts the limitsrv built at binary, in memory unless extra options say
// otherwise.
func startLimitsrv(ctx context.Context, binary string, extra ...string) (*side, error) {
	p, err := start(ctx, func(port string) []string {
		return append([]string{binary, "--listen", "127.0.0.1:" + port, "--log-level", "warn"}, extra...)
	})
	if err != nil {
		return nil, err
	}
	return limitsrvAt(p)
}

// startLimitsrvLocked is startLimitsrv with a password.
func startLimitsrvLocked(ctx context.Context, binary, password string) (*side, error) {
	address, err := freeport.Address("127.0.0.1")
	if err != nil {
		return nil, err
	}
	// QUIT is answered before login too.
	p, err := startAt(ctx, address, "QUIT", binary, "--listen", address, "--log-level", "error", "--password", password)
	if err != nil {
		return nil, err
	}
	s := &side{process: p, name: string(limitsrv), password: password, commands: limitsrvCommands}
	return s, s.verify()
}

// limitsrvAt returns the side of a running limitsrv.
func limitsrvAt(p *process) (*side, error) {
	s := &side{process: p, name: string(limitsrv), commands: limitsrvCommands}
	return s, s.verify()
}

// startRedis starts redis-server, without persistence unless extra options say
// otherwise, and loads the scripts.
func startRedis(ctx context.Context, dir string, extra ...string) (*side, error) {
	p, err := start(ctx, func(port string) []string {
		return append([]string{
			"redis-server", "--bind", "127.0.0.1", "--port", port, "--dir", dir,
			"--save", "", "--appendonly", "no", "--loglevel", "warning",
		}, extra...)
	})
	if err != nil {
		return nil, err
	}
	s := &side{process: p, name: string(redisLua), commands: map[algorithm][]string{}}
	for a, script := range redisScripts {
		sha, err := s.ask("SCRIPT", "LOAD", script.source)
		if err != nil {
			s.stop()
			return nil, err
		}
		s.commands[a] = append([]string{"EVALSHA", fmt.Sprint(sha), "1", keyPlace}, script.args...)
	}
	return s, s.verify()
}

// startRedisLocked starts a redis-server with a password.
func startRedisLocked(ctx context.Context, dir, password string) (*side, error) {
	s, err := startRedis(ctx, dir)
	if err != nil {
		return nil, err
	}
	if _, err := s.ask("CONFIG", "SET", "requirepass", password); err != nil {
		s.stop()
		return nil, err
	}
	s.password = password
	return s, nil
}

// verify requests one decision of each algorithm, so that error replies are not
// mistaken for decisions, and counts the lines of the replies. It stops the side on
// failure.
func (s *side) verify() error {
	s.replyLines = map[algorithm]int{}
	for a, command := range s.commands {
		reply, err := s.ask(command...)
		fields, ok := reply.([]any)
		if err == nil {
			_, err = s.ask("DEL", keyPlace)
		}
		if err == nil && (!ok || len(fields) == 0 || fields[0] != int64(1)) {
			err = fmt.Errorf("%s: a new key was answered %v, not allowed", strings.Join(command, " "), reply)
		}
		if err != nil {
			s.stop()
			return fmt.Errorf("%s: %w", s.name, err)
		}
		s.replyLines[a] = 1 + len(fields)
	}
	return nil
}

// longWait bounds the time of one command.
const longWait = 5 * time.Minute

// ask sends one command over a connection of its own.
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

// haveRedis returns an error if Redis's programs are not installed.
func haveRedis() error {
	for _, name := range []string{"redis-server", "redis-benchmark"} {
		if _, err := exec.LookPath(name); err != nil {
			return errNoRedis
		}
	}
	return nil
}
