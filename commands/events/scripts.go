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
	List       = "limitsrv:events"
	toldPrefix = "limitsrv:told:"
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

// The scripts. noteScript removes a key of another type in the place of the list. It has the list and
// the marks as keys, and as arguments the bound of the list and for each mark its end in milliseconds
// since 1970 and its event. removeScript has the ids of events that were sent.
var (
	noteScript = newScript(`local results, kind = {}, redis.call('TYPE', KEYS[1]).ok
if kind ~= 'list' and kind ~= 'none' then
  redis.call('DEL', KEYS[1])
end
for i = 2, #KEYS do
  local left = redis.call('PTTL', KEYS[i])
  if left >= 0 then
    results[i - 1] = 3 + left
  elseif redis.call('LLEN', KEYS[1]) >= tonumber(ARGV[1]) then
    results[i - 1] = 1
  elseif type(redis.pcall('RPUSH', KEYS[1], ARGV[2 * i - 1])) == 'table' then
    results[i - 1] = 2
  else
    redis.pcall('SET', KEYS[i], '1', 'PXAT', ARGV[2 * i - 2])
    results[i - 1] = 0
  end
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
