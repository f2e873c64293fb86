package commands

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// inMulti are the lines, by the full name of their first command, that TestTransactionsLikeRedis sends
// between MULTI and EXEC. A ; separates the lines of a transaction. With "~" before the lines the
// contents of the reply to EXEC may differ.
var inMulti = map[string][]string{
	"auth": {"AUTH boss pw;ACL WHOAMI", "AUTH boss wrong;ACL WHOAMI", "AUTH shop pw;DEL k;EXISTS k",
		"AUTH shop pw;AUTH boss pw;DEL k", "AUTH a b c", "AUTH"},
	"hello": {"~ HELLO", "~ HELLO 2 AUTH boss pw;ACL WHOAMI", "~ HELLO 3 AUTH boss pw SETNAME me;CLIENT GETNAME",
		"HELLO 2 AUTH boss wrong SETNAME me;CLIENT GETNAME", "HELLO 2 AUTH boss", "HELLO 4",
		"HELLO x AUTH boss pw;ACL WHOAMI"},
	"reset": {"RESET;AUTH boss pw", "RESET x"}, "quit": {"QUIT"},
	"ping": {"PING", "PING a", "PING a b"}, "echo": {"ECHO a", "ECHO"},
	"select":              {"SELECT 1;DBSIZE", "SELECT 99", "SELECT x", "SELECT 3000000000", "SELECT"},
	"client|caching":      {"CLIENT CACHING YES"},
	"client|getname":      {"CLIENT GETNAME"},
	"client|getredir":     {"CLIENT GETREDIR"},
	"client|id":           {"~ CLIENT ID"},
	"client|info":         {"CLIENT INFO x"},
	"client|kill":         {"CLIENT KILL ID 99999", "CLIENT KILL 1.2.3.4:5", "CLIENT KILL TYPE x"},
	"client|list":         {"CLIENT LIST ID 99999", "CLIENT LIST x"},
	"client|no-evict":     {"CLIENT NO-EVICT on", "CLIENT NO-EVICT x"},
	"client|no-touch":     {"CLIENT NO-TOUCH on"},
	"client|pause":        {"CLIENT PAUSE x"},
	"client|reply":        {"CLIENT REPLY ON", "CLIENT REPLY x"},
	"client|setinfo":      {"CLIENT SETINFO lib-name a"},
	"client|setname":      {"CLIENT SETNAME a;CLIENT GETNAME", `CLIENT SETNAME "a b"`},
	"client|tracking":     {"CLIENT TRACKING on", "CLIENT TRACKING off"},
	"client|trackinginfo": {"CLIENT TRACKINGINFO"},
	"client|unblock":      {"CLIENT UNBLOCK 99999", "CLIENT UNBLOCK x"},
	"client|unpause":      {"CLIENT UNPAUSE"},
	"multi":               {"MULTI", "MULTI x"}, "exec": {"EXEC x"}, "discard": {"DISCARD", "DISCARD x"},
	"watch": {"WATCH k", "WATCH"}, "unwatch": {"UNWATCH"},
	"subscribe": {"SUBSCRIBE c", "SUBSCRIBE"}, "psubscribe": {"PSUBSCRIBE c*"},
	"unsubscribe": {"UNSUBSCRIBE", "UNSUBSCRIBE c"}, "punsubscribe": {"PUNSUBSCRIBE"},
	"publish": {"PUBLISH c m", "PUBLISH c"}, "pubsub|channels": {"PUBSUB CHANNELS", "PUBSUB CHANNELS a b"},
	"pubsub|numpat": {"PUBSUB NUMPAT"}, "pubsub|numsub": {"PUBSUB NUMSUB a"},
	"pubsub|shardchannels": {"PUBSUB SHARDCHANNELS"}, "pubsub|shardnumsub": {"PUBSUB SHARDNUMSUB a"},
	"monitor": {"MONITOR", "MONITOR x"}, "wait": {"WAIT 0 0", "WAIT x 0"}, "flushall": {"FLUSHALL a b", "FLUSHALL a"},
	"flushdb": {"FLUSHDB a b"},
}

// otherwiseInMulti are the commands that transactions answer in another way than Redis.
var otherwiseInMulti = map[string]string{
	"client|no-touch": "as in Redis 7.2",
	"client|setinfo":  "as in Redis 7.2",
	"client|tracking": "an error, see docs/plain-data.md",
}

// TestTransactionsLikeRedis sends each command on connections, transactions and messages in a
// transaction to Redis and to limitsrv.
func TestTransactionsLikeRedis(t *testing.T) {
	file := filepath.Join(t.TempDir(), "users.acl")
	if err := os.WriteFile(file, []byte(redisUsers), 0o600); err != nil {
		t.Fatal(err)
	}
	r := startRedis(t, "--aclfile", file)
	h, err := newTestHandlerOf("default", func() string { return withHashes(t, ourUsers) })
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range h.Registry().Specs() {
		if !slices.Contains([]string{"connection", "transactions", "pubsub"}, c.Group) || c.Subs != nil ||
			strings.HasSuffix(c.FullName, "|help") {
			continue
		}
		if len(inMulti[c.FullName]) == 0 {
			t.Errorf("no line for %s", c.FullName)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(inMulti)) {
		for _, lines := range inMulti[name] {
			lines, loose := strings.CutPrefix(lines, "~ ")
			p := r.pair(h)
			p.ask("AUTH default", "PING")
			same := true
			for line := range strings.SplitSeq("SELECT 3;FLUSHDB;MULTI;"+lines+";ECHO after;EXEC;PING;ACL WHOAMI;CLIENT GETNAME",
				";") {
				if p.ours.Closing() {
					break
				}
				got, want := p.ask(line, line)
				if equal := strings.Join(got, " ") == strings.Join(want, " "); equal || loose && line == "EXEC" &&
					shape(got[0]) == shape(want[0]) {
					continue
				}
				same = false
				if otherwiseInMulti[name] == "" {
					t.Errorf("%s: %s\n  got %s\nRedis %s", lines, line, got, want)
				}
			}
			if same && otherwiseInMulti[name] != "" {
				t.Errorf("%s: both answer the same, although this is listed: %s", lines, otherwiseInMulti[name])
			}
			if !p.ours.Closing() {
				p.silent(lines)
			}
			p.ours.Close()
			p.nc.Close()
		}
	}
}
