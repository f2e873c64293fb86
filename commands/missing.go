package commands

import (
	"fmt"
	"strings"

	"limitsrv/commands/resp"
)

// missing are the commands of Redis that are not supported, in upper case, with advice.
var missing = []struct{ advice, names string }{
	{"one command replaces a Lua limiter, RL.TOKEN for most", `
		EVAL EVALSHA EVAL_RO EVALSHA_RO FCALL FCALL_RO FUNCTION SCRIPT`},
	{"RL.FIXED counts in a window that expires", `
		INCR INCRBY INCRBYFLOAT INCREX DECR DECRBY EXPIRE EXPIREAT PEXPIRE PEXPIREAT SETEX PSETEX SETNX HINCRBY HINCRBYFLOAT PERSIST`},
	{"RL.LOG keeps a sliding window log", `
		ZADD ZCARD ZCOUNT ZDIFF ZDIFFSTORE ZINCRBY ZINTER ZINTERCARD ZINTERSTORE ZLEXCOUNT ZMPOP ZMSCORE ZPOPMAX ZPOPMIN
		ZRANDMEMBER ZRANGE ZRANGEBYLEX ZRANGEBYSCORE ZRANGESTORE ZRANK ZREM ZREMRANGEBYLEX ZREMRANGEBYRANK ZREMRANGEBYSCORE
		ZREVRANGE ZREVRANGEBYLEX ZREVRANGEBYSCORE ZREVRANK ZSCAN ZSCORE ZUNION ZUNIONSTORE BZMPOP BZPOPMAX BZPOPMIN`},
	{"limitsrv stores limits, not values", `
		APPEND BGREWRITEAOF BITCOUNT BITFIELD BITFIELD_RO BITOP BITPOS BLMOVE BLMPOP BLPOP BRPOP BRPOPLPUSH COPY DELEX DIGEST DUMP
		EXPIRETIME FAILOVER GEOADD GEODIST GEOHASH GEOPOS GEORADIUS GEORADIUSBYMEMBER GEORADIUSBYMEMBER_RO GEORADIUS_RO GEOSEARCH
		GEOSEARCHSTORE GET GETBIT GETDEL GETEX GETRANGE GETSET HDEL HEXISTS HEXPIRE HEXPIREAT HEXPIRETIME HGET HGETALL HGETDEL
		HGETEX HKEYS HLEN HMGET HMSET HPERSIST HPEXPIRE HPEXPIREAT HPEXPIRETIME HPTTL HRANDFIELD HSCAN HSET HSETEX HSETNX HSTRLEN
		HTTL HVALS LCS LINDEX LINSERT LLEN LMOVE LOLWUT LMPOP LPOP LPOS LPUSH LPUSHX LRANGE LREM LSET LTRIM MGET MIGRATE MODULE MOVE MSET
		MSETEX MSETNX PEXPIRETIME PFADD PFCOUNT PFDEBUG PFMERGE PFSELFTEST PSYNC RENAME RENAMENX REPLCONF REPLICAOF
		RESTORE RPOP RPOPLPUSH RPUSH RPUSHX SADD SCARD SDIFF SDIFFSTORE SET SETBIT SETRANGE SINTER SINTERCARD SINTERSTORE
		SISMEMBER SLAVEOF SMEMBERS SMISMEMBER SMOVE SORT SORT_RO SPOP SPUBLISH SRANDMEMBER SREM SSCAN SSUBSCRIBE STRLEN SUBSTR
		SUNION SUNIONSTORE SUNSUBSCRIBE SWAPDB SYNC WAITAOF XACK XACKDEL XADD XAUTOCLAIM XCLAIM XDEL XDELEX XGROUP XINFO XLEN
		XPENDING XRANGE XREAD XREADGROUP XREVRANGE XSETID XTRIM`},
}

// advice is the suffix of the error for an unknown command: the replacement of a command
// of Redis, or the command with the nearest name.
func (r *registry) advice(name []byte) string {
	upper := strings.ToUpper(cString(name))
	for _, m := range missing {
		for each := range strings.FieldsSeq(m.names) {
			if each == upper {
				return fmt.Sprintf(`; %s: see "Moving here" in its README`, m.advice)
			}
		}
	}
	names := make([]string, 0, len(r.all))
	for _, c := range r.all {
		names = append(names, c.Name)
	}
	return didYouMean(name, names...)
}

// unknownCommand is Redis' text, with at most 128 bytes of the arguments, and advice.
func (r *registry) unknownCommand(args [][]byte) *resp.Error {
	var shown strings.Builder
	for _, a := range args[1:] {
		if shown.Len() >= 128 {
			break
		}
		fmt.Fprintf(&shown, "'%.*s' ", 128-shown.Len(), cString(a))
	}
	return resp.NewError("ERR", fmt.Sprintf("unknown command '%.128s', with args beginning with: %s", cString(args[0]), shown.String())+r.advice(args[0]))
}

// wrongArity is Redis' text for a wrong number of words, and the command's usage.
func (s *spec) wrongArity() *resp.Error {
	container, _, _ := strings.Cut(s.name, "|")
	usage := s.Usage()
	switch {
	case s.isSub:
		usage = strings.ToUpper(container) + " " + usage
	case s.subs != nil:
		usage += " <subcommand> [<arg> ...]"
	}
	return resp.NewError("ERR", "wrong number of arguments for '"+s.name+"' command; usage: "+usage)
}

// unknownSub is Redis' text for an unknown subcommand, and the nearest one.
func (s *spec) unknownSub(name []byte) *resp.Error {
	names := make([]string, 0, len(s.subs))
	for _, sub := range s.subs {
		names = append(names, sub.Name)
	}
	return resp.NewError("ERR", fmt.Sprintf("unknown subcommand '%.128s'. Try %s HELP.", cString(name), s.Name)+didYouMean(name, names...))
}
