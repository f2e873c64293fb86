// Command rueidis-nodes keeps values by rueidis at each of three nodes without redirects. It kills the
// leader at the end.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	s "clients/session"
)

var (
	ctx   = context.Background()
	nodes = strings.Fields(os.Getenv("LIMITSRV_NODES"))
	pids  = strings.Fields(os.Getenv("LIMITSRV_NODE_PIDS"))
)

func main() {
	s.Run([]s.Case{{Name: "cache", Run: cache}, {Name: "failover", Run: failover}})
}

// A client has a connection to a node.
type client struct{ rueidis.Client }

func connect(node int) client {
	return client{s.Must(rueidis.NewClient(rueidis.ClientOption{InitAddress: nodes[node : node+1],
		ForceSingleClient: true}))}
}

// kept reads a key by way of the cache.
func (c client) kept(key string) (any, bool, error) {
	result := c.DoCache(ctx, c.B().Get().Key(key).Cache(), time.Hour)
	value, err := answer(result)
	return value, result.IsCacheHit(), err
}

func (c client) do(args ...any) (any, error) {
	words := make([]string, len(args))
	for i, arg := range args {
		words[i] = fmt.Sprint(arg)
	}
	return answer(c.Do(ctx, c.B().Arbitrary(words...).Build()))
}

func answer(result rueidis.RedisResult) (any, error) {
	value, err := result.ToAny()
	if rueidis.IsRedisNil(err) {
		return nil, nil
	}
	return value, err
}

// cache keeps values at each node while they are changed at the next node.
func cache() {
	for node := range nodes {
		keeping, other := connect(node), connect((node+1)%len(nodes))
		s.Must(s.Retry(func() (any, error) { return keeping.do("SET", "ready", 1) }))
		s.Must(s.Retry(func() (any, error) { return other.do("SET", "ready", 1) }))
		s.Cache(keeping.kept, other.do)
		s.Must(keeping.do("SET", "own", "old"))
		s.Follow("own", "old", keeping.kept)
		s.Must(keeping.do("SET", "own", "new"))
		s.Follow("own", "new", keeping.kept)
		keeping.Close()
		other.Close()
	}
}

// failover kills the leader. A client of another node must not keep its values, also of keys that nobody
// changes.
func failover() {
	var all, lives []client
	for node := range nodes {
		all = append(all, connect(node))
		defer all[node].Close()
	}
	leader := ""
	s.Must(s.Retry(func() (any, error) {
		lives = nil
		for node, c := range all {
			if strings.Contains(fmt.Sprint(s.Must(c.do("INFO", "replication"))), "role:master") {
				leader = pids[node]
			} else {
				lives = append(lives, c)
			}
		}
		if len(lives) != 2 {
			return nil, fmt.Errorf("%d nodes do not lead, want 2", len(lives))
		}
		return nil, nil
	}))
	keeping, other := lives[0], lives[1]
	for _, key := range []string{"failover", "unchanged"} {
		s.Must(other.do("SET", key, "old"))
		s.Follow(key, "old", keeping.kept)
	}
	s.Check(s.Must(os.FindProcess(s.Must(strconv.Atoi(leader)))).Kill())
	s.Must(s.Retry(func() (any, error) { return other.do("SET", "failover", "new") }))
	s.Follow("failover", "new", keeping.kept)
	kept := false
	s.Got(s.Retry(func() (value any, err error) {
		value, kept, err = keeping.kept("unchanged")
		return value, err
	})).Want("old")
	if kept {
		s.Fail("a value that was kept when the leader died", "one that was read again")
	}
}
