package events

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"

	"limitsrv/commands/backend"
	"limitsrv/commands/scripts"
	"limitsrv/engine"
	"limitsrv/engine/answer"
)

// The keys, in database 0.
const (
	// List is the key of the list of events, as JSON, oldest first.
	List = "limitsrv:events"
	// marks is the key of a sorted set with a mark for each told event. The score is the end of the
	// mark, in milliseconds since 1970.
	marks = "limitsrv:told"
)

// The results of noteScript for an event. Greater results are wasTold and the milliseconds until it may
// be told again.
const (
	isListed = iota
	listFull
	hadNoMemory
	wasTold
)

// A script is a text that this package runs in the engine.
type script struct {
	text, hash []byte
	modes      scripts.Modes
}

// The scripts. The keys of noteScript are the list and the marks. Its first two arguments bound the
// list and the marks. Three arguments follow for each event: the name of its mark, the end of the
// mark, and the text. noteScript first removes a key that has another type.
//
// For each new mark it forgets up to two old marks: the marks that end first. It forgets them only
// if they are over, or if there are too many marks. So the work for an event is bounded. Old marks
// are forgotten faster than new marks are made. The set of marks expires with its last mark.
//
// removeScript has the ids of events that were sent.
var (
	noteScript = newScript(`local list, marks = KEYS[1], KEYS[2]
for key, want in pairs({[list] = 'list', [marks] = 'zset'}) do
  local kind = redis.call('TYPE', key).ok
  if kind ~= want and kind ~= 'none' then
    redis.call('DEL', key)
  end
end
local time, results = redis.call('TIME'), {}
local now = time[1] * 1000 + math.floor(time[2] / 1000)
for i = 3, #ARGV, 3 do
  local result = 0
  local ends = tonumber(redis.call('ZSCORE', marks, ARGV[i]) or 0)
  if ends > now then
    result = 3 + ends - now
  elseif redis.call('LLEN', list) >= tonumber(ARGV[1]) then
    result = 1
  elseif type(redis.pcall('RPUSH', list, ARGV[i + 2])) == 'table' then
    result = 2
  else
    redis.pcall('ZADD', marks, ARGV[i + 1], ARGV[i])
    for _ = 1, 2 do
      local first = redis.call('ZRANGE', marks, 0, 0, 'WITHSCORES')
      if first[1] and (tonumber(first[2]) <= now or redis.call('ZCARD', marks) > tonumber(ARGV[2])) then
        redis.call('ZREM', marks, first[1])
      end
    end
  end
  results[#results + 1] = result
end
local last = redis.call('ZRANGE', marks, -1, -1, 'WITHSCORES')
if last[1] then
  redis.pcall('PEXPIREAT', marks, string.format('%.0f', last[2]))
end
return results`)
	readScript   = newScript(`return {redis.call('LLEN', KEYS[1]), redis.call('LRANGE', KEYS[1], 0, ARGV[1] - 1)}`)
	removeScript = newScript(`for i = 1, #ARGV do
  local first = redis.call('LINDEX', KEYS[1], 0)
  if first and string.find(first, ARGV[i], 1, true) then
    redis.call('LPOP', KEYS[1])
  end
end
return redis.call('LLEN', KEYS[1])`)
)

func newScript(text string) *script {
	compiled, wrong := scripts.Compile([]byte(text))
	if wrong != "" {
		panic(wrong)
	}
	sum := sha1.Sum([]byte(text))
	return &script{[]byte(text), hex.AppendEncode(nil, sum[:]), compiled.Modes() | scripts.Known}
}

// run runs a script and returns its answer. An error means that it may have run or not.
func (o *Outbox) run(ctx context.Context, s *script, keys, args [][]byte) ([]byte, error) {
	b := &engine.Batch{Features: o.config.Features()}
	if o.config.Engine().SourceNamed(s.hash) == nil {
		b.AddLearn(s.text)
	}
	line := append([][]byte{strconv.AppendInt(nil, int64(len(keys)), 10)}, keys...)
	scripts.SetRun(b.AddCall(0), s.modes, scripts.Steps(scripts.DefaultSteps), s.hash, append(line, args...))
	b.Runs = 1
	if err := o.config.Executor().Await(ctx, backend.NewCaller(), b); err != nil {
		return nil, err
	}
	for i := range b.Decisions {
		if b.Decisions[i].Status == engine.Down {
			return nil, errNoQuorum
		}
	}
	reply := b.Calls[0].Answer
	if answer.IsError(reply) {
		v, _, _ := answer.Next(reply)
		return nil, fmt.Errorf("the list of events: %s", v.Bytes)
	}
	return reply, nil
}

var errNoQuorum = errors.New("the cluster has no leader with a quorum")
var errAnswer = errors.New("the list of events has an answer of another form")
