package commands

// redisScript is sent to a real Redis and to limitsrv; a block is a connection. The
// servers have the keys k, l and m, which expire in less than 1000 seconds. "~" before a
// line lets contents differ, "?" also the number of elements: only the type of the reply
// has to be the same.
const redisScript = `
# connection
PING
PING hello
PING a b
ping
ECHO hello
ECHO ""
ECHO
ECHO "\x00\r\n\xff"
SELECT 0
SELECT 15
SELECT 16
SELECT -1
SELECT x
SELECT 0
AUTH x
AUTH default x
AUTH default x y
AUTH nobody x
HELLO 4
HELLO x
HELLO 1
HELLO 2 FOO
HELLO 2 AUTH default
HELLO 2 AUTH nobody x
HELLO 2 SETNAME "a b"
~ HELLO 2
~ HELLO 3
~ HELLO 3 AUTH default x SETNAME me
CLIENT GETNAME
~ HELLO
NOPE
NOPE a b c
"NO\x00PE" a
NOPE aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa b
SENTINEL MASTERS
RESET
PING

# a connection that ends
QUIT

# client
~ CLIENT ID
CLIENT GETNAME
CLIENT SETNAME me
CLIENT GETNAME
CLIENT SETNAME "a b"
CLIENT SETNAME "a\nb"
CLIENT SETNAME ""
CLIENT GETNAME
CLIENT SETINFO LIB-NAME x
CLIENT SETINFO LIB-VER 1
CLIENT SETINFO FOO x
? CLIENT INFO
? CLIENT LIST
? CLIENT LIST ID 1
CLIENT LIST ID x
CLIENT LIST ID
CLIENT LIST TYPE foo
? CLIENT LIST TYPE pubsub
CLIENT LIST FOO
CLIENT NO-EVICT on
CLIENT NO-EVICT x
CLIENT NO-TOUCH on
CLIENT REPLY ON
CLIENT REPLY x
CLIENT REPLY SKIP
PING
PING
CLIENT KILL 1.2.3.4:5
CLIENT KILL ID 999999
CLIENT KILL ID x
CLIENT KILL ID 0
CLIENT KILL FOO bar
CLIENT KILL TYPE foo
CLIENT KILL TYPE master
CLIENT KILL USER nobody
CLIENT KILL ADDR 1.2.3.4:5 SKIPME yes
CLIENT KILL LADDR 1.2.3.4:5
CLIENT KILL ADDR
CLIENT GETREDIR
CLIENT TRACKINGINFO
CLIENT TRACKING OFF
CLIENT TRACKING ON OPTIN
CLIENT TRACKING x
CLIENT CACHING YES
CLIENT TRACKING OFF
CLIENT UNBLOCK 999999
CLIENT UNBLOCK x
CLIENT UNBLOCK 999999 ERROR
CLIENT UNBLOCK 999999 FOO
CLIENT PAUSE x
CLIENT PAUSE -1
CLIENT PAUSE 1 FOO
CLIENT PAUSE 1 WRITE
CLIENT UNPAUSE
CLIENT MAINT_NOTIFICATIONS ON
CLIENT FOO
CLIENT
CLIENT ID x
CLIENT|ID

# keys
EXISTS k
EXISTS k k nope
EXISTS
TOUCH k nope
TYPE nope
~ TYPE k
TTL nope
~ TTL k
PTTL nope
~ PTTL k
DEL nope
DEL l nope
UNLINK m m
DBSIZE
DBSIZE x
KEYS *
KEYS n*
KEYS
RANDOMKEY
SCAN 0
SCAN 0 MATCH k
SCAN 0 MATCH n*
SCAN 0 COUNT 100
SCAN 0 COUNT 0
SCAN 0 COUNT x
SCAN 0 FOO 1
SCAN 0 MATCH
SCAN x
SCAN
SCAN 0 TYPE nope
~ OBJECT ENCODING k
OBJECT ENCODING nope
OBJECT REFCOUNT k
OBJECT FREQ k
OBJECT FREQ nope
OBJECT IDLETIME k
OBJECT IDLETIME nope
OBJECT FOO k
~ MEMORY USAGE k
~ MEMORY USAGE k SAMPLES 5
MEMORY USAGE nope
MEMORY USAGE k FOO 1
MEMORY USAGE k SAMPLES x
? MEMORY STATS
? MEMORY DOCTOR
MEMORY FOO

# transactions
MULTI
PING
EXISTS k
DBSIZE
EXEC
MULTI
MULTI
EXEC
EXEC
DISCARD
MULTI
DISCARD
MULTI
NOPE
EXEC
MULTI
ECHO
PING
EXEC
WATCH k
MULTI
PING
EXEC
WATCH
MULTI
WATCH k
EXEC
UNWATCH
WATCH k
DEL k
MULTI
PING
EXEC
MULTI
EXEC
MULTI
HELLO x
SELECT x
EXEC
MULTI
SUBSCRIBE inside
DISCARD

# server
? COMMAND
~ COMMAND COUNT
COMMAND INFO nope
? COMMAND INFO ping
? COMMAND INFO client|id
COMMAND GETKEYS DEL a b
COMMAND GETKEYS EXISTS a
COMMAND GETKEYS PING
COMMAND GETKEYS NOPE
COMMAND GETKEYS DEL
COMMAND GETKEYSANDFLAGS EXISTS a
COMMAND GETKEYSANDFLAGS DEL a
? COMMAND LIST
COMMAND LIST FILTERBY PATTERN ech*
COMMAND LIST FILTERBY MODULE x
COMMAND LIST FILTERBY FOO x
? COMMAND DOCS
? COMMAND DOCS ping
COMMAND DOCS nope
COMMAND FOO
? INFO
? INFO all
INFO nope
CONFIG GET databases
CONFIG GET nope
CONFIG GET save
CONFIG GET appendonly
~ CONFIG GET slowlog-*
CONFIG GET latency-monitor-threshold
CONFIG GET timeout
CONFIG GET maxclients
CONFIG GET maxmemory-policy
CONFIG GET replica-read-only
? CONFIG GET *
CONFIG GET
CONFIG SET nope 1
CONFIG SET a
CONFIG SET slowlog-max-len 128 slowlog-max-len 128
CONFIG SET slowlog-max-len x
CONFIG SET slowlog-max-len 64
CONFIG GET slowlog-max-len
CONFIG SET slowlog-max-len 128
CONFIG SET latency-monitor-threshold 0
CONFIG SET databases 3
CONFIG SET timeout 0
CONFIG SET maxclients x
CONFIG RESETSTAT
CONFIG REWRITE
CONFIG FOO
~ TIME
ROLE
WAIT 0 0
WAIT x 0
WAIT -1 0
WAIT 0 x
WAIT 0 -1
~ LASTSAVE
SAVE
BGSAVE x
BGSAVE
SLOWLOG RESET
SLOWLOG LEN
SLOWLOG GET
SLOWLOG GET 1
SLOWLOG GET -1
SLOWLOG GET -2
SLOWLOG GET x
SLOWLOG FOO
CONFIG SET slowlog-log-slower-than 0
~ SLOWLOG GET 1
CONFIG SET slowlog-log-slower-than 10000
LATENCY LATEST
LATENCY HISTORY command
LATENCY RESET
LATENCY RESET nope
LATENCY HISTOGRAM nope
? LATENCY HISTOGRAM
? LATENCY DOCTOR
LATENCY FOO
ACL WHOAMI
ACL USERS
ACL LIST
ACL GETUSER default
ACL GETUSER nobody
? ACL CAT
? ACL CAT connection
ACL CAT nope
ACL SETUSER
ACL DELUSER
ACL DRYRUN default PING
ACL DRYRUN default EXISTS
ACL DRYRUN default NOPE
ACL DRYRUN nobody PING
ACL LOAD
ACL SAVE
ACL FOO
DEBUG
SHUTDOWN ABORT
SHUTDOWN FOO
SHUTDOWN NOSAVE SAVE
READONLY
READWRITE
ASKING
CLUSTER INFO
CLUSTER SLOTS
CLUSTER SHARDS
CLUSTER NODES
CLUSTER MYID
CLUSTER LINKS
CLUSTER KEYSLOT a
CLUSTER COUNTKEYSINSLOT 0
CLUSTER GETKEYSINSLOT 0 1
CLUSTER REPLICAS x
CLUSTER SLAVES x
CLUSTER FAILOVER
CLUSTER FORGET x
CLUSTER MEET 127.0.0.1 1
CLUSTER FOO
CLUSTER
FLUSHDB FOO
FLUSHALL x y
FLUSHDB
FLUSHDB ASYNC
FLUSHALL SYNC
FLUSHALL

# messages
PUBLISH a hi
PUBLISH a
~ PUBSUB CHANNELS
PUBSUB NUMPAT
PUBSUB NUMSUB
PUBSUB NUMSUB a b
PUBSUB SHARDCHANNELS
PUBSUB SHARDNUMSUB a
PUBSUB FOO
SUBSCRIBE a b a
PING
PING x
ECHO a
TTL a
~ HELLO 3
NOPE
~ PUBSUB CHANNELS
PSUBSCRIBE a* b*
UNSUBSCRIBE a
UNSUBSCRIBE
UNSUBSCRIBE
UNSUBSCRIBE zz
PUNSUBSCRIBE a*
PUNSUBSCRIBE nope
PUNSUBSCRIBE b*
PUNSUBSCRIBE
SUBSCRIBE
PING
RESET
PING

# messages to oneself, where that may be
~ HELLO 3
SUBSCRIBE a
PUBLISH a hi
PSUBSCRIBE *
PUBLISH a "\x00\r\n"
PUBSUB NUMSUB a
~ PUBSUB CHANNELS
PUBSUB NUMPAT
RESET

# monitor
MONITOR
RESET
PING
` + plainScript + evalScript + functionScript

// different are the lines of redisScript with another reply than Redis', and the reason.
var different = map[string]string{
	`EVAL "return redis.REDIS_VERSION" 0`:                                          "the version of INFO",
	`EVAL "redis.call('SET', KEYS[1], 0.1) return redis.call('GET', KEYS[1])" 1 s`: "as in Redis 7.2: the shortest form",
	`EVAL "redis.call('SET', KEYS[1], -0) return redis.call('GET', KEYS[1])" 1 s`:  "as in Redis 7.2: an integer",
	"ACL LOAD":                         "users are in a file of another form",
	"ACL SAVE":                         "users are in a file of another form",
	"AUTH default x y":                 "too many arguments are the same error for every command",
	"SCRIPT FLUSH SYNC ASYNC":          "too many arguments are the same error for every command",
	"FCALL env 0":                      "register_function is there, for functions that run while a library is loaded",
	"FUNCTION FLUSH SYNC ASYNC":        "too many arguments are the same error for every command",
	"FLUSHALL x y":                     "too many arguments are the same error for every command",
	"CLIENT SETINFO LIB-NAME x":        "as in Redis 7.2",
	"CLIENT SETINFO LIB-VER 1":         "as in Redis 7.2",
	"CLIENT SETINFO FOO x":             "as in Redis 7.2, with the allowed options",
	"CLIENT NO-TOUCH on":               "as in Redis 7.2",
	"CLIENT CACHING YES":               "nothing is cached: limits change with every decision",
	"OBJECT IDLETIME k":                "idle time is not kept, and no number would be true",
	"SUBSCRIBE inside":                 "a transaction has one reply, and a subscription several",
	"COMMAND GETKEYS PING":             "as in Redis 7.2: a command needs no arguments",
	"COMMAND GETKEYS NOPE":             "as in Redis 7.2: a command needs no arguments",
	"COMMAND GETKEYS DEL":              "as in Redis 7.2: a command needs no arguments",
	"COMMAND GETKEYSANDFLAGS EXISTS a": "key flags only tell whether the command writes",
	"COMMAND GETKEYSANDFLAGS DEL a":    "key flags only tell whether the command writes",
	"SET \"\" v":                       "a key has a byte at least",
	"SAVE":                             "there is no store",
	"BGSAVE":                           "there is no store",
}

// clusterScript is sent to a Redis cluster of one node, and to an emulated one.
const clusterScript = `
~ HELLO
CLUSTER INFO
~ CLUSTER MYID
~ CLUSTER SLOTS
~ CLUSTER SHARDS
? CLUSTER NODES
CLUSTER LINKS
CLUSTER REPLICAS x
CLUSTER KEYSLOT foo
CLUSTER KEYSLOT {foo}bar
CLUSTER KEYSLOT a{foo}b{bar}
CLUSTER KEYSLOT {}foo
CLUSTER KEYSLOT foo{}
CLUSTER KEYSLOT {foo
CLUSTER KEYSLOT }{foo}
CLUSTER KEYSLOT {{foo}}
CLUSTER KEYSLOT 123456789
CLUSTER KEYSLOT "\x00\xff\r\n"
CLUSTER KEYSLOT ""
CLUSTER KEYSLOT
CLUSTER COUNTKEYSINSLOT 12182
CLUSTER COUNTKEYSINSLOT 16384
CLUSTER COUNTKEYSINSLOT -1
CLUSTER COUNTKEYSINSLOT x
CLUSTER GETKEYSINSLOT 12182 10
CLUSTER GETKEYSINSLOT 12182 -1
CLUSTER GETKEYSINSLOT 16384 1
CLUSTER GETKEYSINSLOT x 1
CLUSTER GETKEYSINSLOT 1 x
CLUSTER FOO
CLUSTER
READONLY
READWRITE
ASKING
SELECT 0
SELECT 1
SELECT 16
SELECT x
INFO cluster
CONFIG GET cluster-enabled
CONFIG GET databases
`
