// Command go-redis-nodes is a session of go-redis' cluster client with three nodes. It
// kills the leader at the end.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	s "clients/session"
)

var (
	ctx   = context.Background()
	nodes = strings.Fields(os.Getenv("LIMITSRV_NODES"))
	pids  = strings.Fields(os.Getenv("LIMITSRV_NODE_PIDS"))
	// The client does not reload the slots when a node fails, only at this interval.
	rdb = redis.NewClusterClient(&redis.ClusterOptions{Addrs: nodes, ClusterStateReloadInterval: time.Second})
)

func main() {
	s.Run([]s.Case{
		{Name: "slots", Run: slots},
		{Name: "decide", Run: decide},
		{Name: "moved", Run: moved},
		{Name: "readonly", Run: readonly},
		{Name: "failover", Run: failover},
	})
}

// lead returns the addresses of the node that has all slots and of the other nodes, once
// the cluster reports that number of other nodes.
func lead(others int) (leader string, replicas []string) {
	s.Must(s.Retry(func() (any, error) {
		all, err := rdb.ClusterSlots(ctx).Result()
		if err != nil {
			return nil, err
		}
		if len(all) != 1 || all[0].Start != 0 || all[0].End != 16383 || len(all[0].Nodes) != 1+others {
			return nil, fmt.Errorf("slots %+v, want all of them at one of %d nodes", all, 1+others)
		}
		leader, replicas = all[0].Nodes[0].Addr, nil
		for _, n := range all[0].Nodes[1:] {
			replicas = append(replicas, n.Addr)
		}
		return nil, nil
	}))
	return leader, replicas
}

func slots() {
	leader, replicas := lead(2)
	all := append([]string{leader}, replicas...)
	slices.Sort(all)
	if want := slices.Sorted(slices.Values(nodes)); !slices.Equal(all, want) {
		s.Fail(all, want)
	}
	shards := s.Must(rdb.ClusterShards(ctx).Result())
	if len(shards) != 1 || len(shards[0].Nodes) != 3 ||
		!slices.Equal(shards[0].Slots, []redis.SlotRange{{Start: 0, End: 16383}}) {
		s.Fail(shards, "a shard of three nodes")
	}
	for _, n := range shards[0].Nodes {
		if n.Health != "online" || (n.Role == "master") != (fmt.Sprintf("%s:%d", n.IP, n.Port) == leader) {
			s.Fail(n, "online, and the master if it is "+leader)
		}
	}
}

func decide() {
	for _, key := range s.ClusterKeys {
		s.Got(rdb.Do(ctx, "RL.TOKEN", key, 10, "10/h").Result()).Want(s.Fresh)
		s.Got(rdb.Do(ctx, "RL.PEEK", key).Result()).Want(s.Peeked)
	}
}

// moved sends a command to a replica with a client without cluster support.
func moved() {
	leader, replicas := lead(2)
	replica := redis.NewClient(&redis.Options{Addr: replicas[0]})
	defer replica.Close()
	slot := s.Must(replica.ClusterKeySlot(ctx, "moved").Result())
	s.Got(replica.Do(ctx, "RL.TOKEN", "moved", 10, "10/h").Result()).WantError(fmt.Sprintf("MOVED %d %s", slot, leader))
	s.Got(rdb.Do(ctx, "RL.TOKEN", "moved", 10, "10/h").Result()).Want(s.Fresh)
}

// readonly reads from a replica, once it has applied the write.
func readonly() {
	_, replicas := lead(2)
	replica := redis.NewClient(&redis.Options{Addr: replicas[0]})
	defer replica.Close()
	conn := replica.Conn()
	defer conn.Close()
	s.Check(conn.ReadOnly(ctx).Err())
	s.Got(rdb.Do(ctx, "RL.TOKEN", "readonly", 10, "10/h").Result()).Want(s.Fresh)
	s.Got(s.Retry(func() (any, error) { return conn.Do(ctx, "RL.PEEK", "readonly").Result() })).Want(s.Peeked)
	s.Got(conn.Do(ctx, "RL.TOKEN", "readonly", 10, "10/h").Result()).WantError("MOVED")
	s.Check(conn.ReadWrite(ctx).Err())
	s.Got(conn.Do(ctx, "RL.PEEK", "readonly").Result()).WantError("MOVED")

	reads := redis.NewClusterClient(&redis.ClusterOptions{Addrs: nodes, ReadOnly: true})
	defer reads.Close()
	s.Got(s.Retry(func() (any, error) { return reads.Do(ctx, "RL.PEEK", "readonly").Result() })).Want(s.Peeked)
}

// failover kills the leader. The other nodes must have all decisions, and the client
// must find the new leader.
func failover() {
	killed, _ := lead(2)
	s.Got(rdb.Do(ctx, "RL.TOKEN", "failover", 10, "10/h", 4).Result()).Want(s.L{1, 10, 6, 0, 1_440_000})
	pid := s.Must(strconv.Atoi(pids[slices.Index(nodes, killed)]))
	s.Check(s.Must(os.FindProcess(pid)).Kill())
	s.Got(s.Retry(func() (any, error) {
		value, err := rdb.Do(ctx, "RL.PEEK", "failover").Result()
		if errors.Is(err, redis.Nil) { // no key: a wrong reply, not a failure to retry
			return nil, nil
		}
		return value, err
	})).Want(s.L{"TOKEN", 10, 6, 0, s.Lately(1_440_000)})
	s.Got(rdb.Do(ctx, "RL.TOKEN", "failover", 10, "10/h").Result()).Want(s.L{1, 10, 5, 0, s.Lately(1_800_000)})
	if leader, _ := lead(1); leader == killed {
		s.Fail(leader, "another node")
	}
}
