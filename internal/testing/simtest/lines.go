package simtest

// lines are the arguments of each command of datatypes; some have several lines. They use few keys
// and short values, so that values of all types stay small and change often.
var lines = map[string][]string{
	"GET": {"s1", "s2"}, "SET": {"s1 text", "s2 a-longer-text-than-a-record-holds KEEPTTL", "s2 1 PX 9000", "n1 7"}, "SETEX": {"s2 9 x"}, "PSETEX": {"s2 900 x"}, "SETNX": {"s2 x"},
	"GETSET": {"s1 other"}, "GETDEL": {"s2"}, "GETEX": {"s1 PX 20000", "s1 PERSIST"}, "MGET": {"s1 s2 h1"}, "MSET": {"s1 a s2 b"}, "MSETNX": {"s1 a s2 b"},
	"INCR": {"n1"}, "DECR": {"n1"}, "INCRBY": {"n1 5"}, "DECRBY": {"n1 4"}, "INCRBYFLOAT": {"f1 0.5"}, "APPEND": {"s2 more"}, "STRLEN": {"s2"}, "SETRANGE": {"s2 30 part"},
	"GETRANGE": {"s2 0 -2"}, "SUBSTR": {"s2 1 2"}, "EXISTS": {"s1 h1 z1"}, "DEL": {"s2 f1", "l1", "h1 z2"}, "UNLINK": {"z1 t2"}, "TOUCH": {"s1 h1"}, "TYPE": {"z1"}, "RENAME": {"s1 s2", "h1 h2"},
	"RENAMENX": {"s2 s1", "h2 h1"}, "EXPIRE": {"h1 20"}, "PEXPIRE": {"z1 9000 NX"}, "EXPIREAT": {"s2 2000000000"}, "PEXPIREAT": {"l1 2000000000000"}, "TTL": {"h1"}, "PTTL": {"z1"},
	"EXPIRETIME": {"h1"}, "PEXPIRETIME": {"z1"}, "PERSIST": {"h1", "z1"}, "INCREX": {"n2 BYINT 3 UBOUND 50 SATURATE PX 9000 ENX"}, "OBJECT": {"ENCODING z1"},
	"HSET": {"h1 a 1 b two", "h1 c a-longer-value-in-a-hash"}, "HMSET": {"h2 a 1"}, "HSETNX": {"h1 d x"}, "HGET": {"h1 a"}, "HMGET": {"h1 a z"}, "HGETALL": {"h1"}, "HDEL": {"h1 b c"},
	"HINCRBY": {"h1 a 2"}, "HINCRBYFLOAT": {"h1 f 0.25"}, "HKEYS": {"h1"}, "HVALS": {"h1"}, "HLEN": {"h1"}, "HSTRLEN": {"h1 c"}, "HEXISTS": {"h1 a"}, "HRANDFIELD": {"h1 2 WITHVALUES"}, "HSCAN": {"h1 0"},
	"ZADD": {"z1 1 a 2 b 3 c", "z2 1.5 a 4 e", "z1 GT CH 5 a"}, "ZINCRBY": {"z1 2 b"}, "ZREM": {"z1 c"}, "ZCARD": {"z1"}, "ZCOUNT": {"z1 1 3"}, "ZLEXCOUNT": {"z1 - +"}, "ZSCORE": {"z1 a"},
	"ZMSCORE": {"z1 a x"}, "ZRANK": {"z1 b"}, "ZREVRANK": {"z1 b WITHSCORE"}, "ZRANGE": {"z1 0 -1 WITHSCORES"}, "ZREVRANGE": {"z1 0 1"}, "ZRANGEBYSCORE": {"z1 -inf +inf"},
	"ZREVRANGEBYSCORE": {"z1 9 1"}, "ZRANGEBYLEX": {"z1 - +"}, "ZREVRANGEBYLEX": {"z1 + -"}, "ZREMRANGEBYRANK": {"z2 0 0"}, "ZREMRANGEBYSCORE": {"z2 4 9"}, "ZREMRANGEBYLEX": {"z2 [e [f"},
	"ZPOPMIN": {"z2"}, "ZPOPMAX": {"z1"}, "ZRANDMEMBER": {"z1 -3"}, "ZRANGESTORE": {"z2 z1 0 2"}, "ZSCAN": {"z1 0"},
	"LPUSH": {"l1 a b"}, "RPUSH": {"l1 c d", "l2 x"}, "LPUSHX": {"l1 e"}, "RPUSHX": {"l2 f"}, "LPOP": {"l1", "l2 2"}, "RPOP": {"l1"}, "LINDEX": {"l1 0"}, "LLEN": {"l1"}, "LTRIM": {"l1 0 9", "l2 0 5"},
	"LRANGE": {"l1 0 -1"}, "LSET": {"l1 0 z"}, "LREM": {"l1 1 d"}, "LINSERT": {"l1 BEFORE c y"}, "LPOS": {"l1 c"}, "LMOVE": {"l1 l2 LEFT RIGHT"}, "RPOPLPUSH": {"l2 l1"}, "BLPOP": {"l2 l1 0"}, "BRPOP": {"l1 0"},
	"SADD": {"t1 a b c", "t2 b 7 8"}, "SREM": {"t1 a"}, "SMEMBERS": {"t1"}, "SISMEMBER": {"t1 b"}, "SMISMEMBER": {"t1 a z"}, "SCARD": {"t1"}, "SPOP": {"t1"}, "SRANDMEMBER": {"t2 2"}, "SMOVE": {"t1 t2 c"},
	"SSCAN": {"t1 0"}, "SINTER": {"t1 t2"}, "SUNION": {"t1 t2"}, "SDIFF": {"t1 t2"}, "SINTERSTORE": {"t3 t1 t2"}, "SUNIONSTORE": {"t3 t1 t2"}, "SDIFFSTORE": {"t3 t2 t1"}, "SINTERCARD": {"2 t1 t2"},
	"SETBIT": {"b1 40 1"}, "GETBIT": {"b1 40"}, "BITCOUNT": {"b1"}, "BITFIELD": {"b1 INCRBY u8 0 3"}, "BITFIELD_RO": {"b1 GET u8 0"},
}
