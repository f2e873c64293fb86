package commands

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"limitsrv/commands/auth/users"
	"limitsrv/commands/datatypes"
)

// redisUsers is a file of both, with the same users as far as commands of both go.
const (
	redisUsers = `user default on nopass ~* &* +@all
user shop on >pw ~k ~l resetchannels -@all +@connection -client|list -client|kill +@transaction +info +command +command|getkeys +role +time +acl|whoami +acl|cat +exists +ttl +type +pttl +touch
user app on >pw ~app:* resetchannels -@all +@string +@keyspace -flushall -flushdb -dbsize -swapdb +@connection -client|list -client|kill +@transaction +acl|whoami
user news on >pw ~* resetchannels &news:* -@all +@pubsub +@connection -client|list -client|kill +@transaction
user boss on >pw ~* &* +@all
user out off >pw ~* &* +@all
`
	ourUsers = `users:
  - name: shop
    hash: "#pw"
    groups: [peek]
    keys: [k, l]
  - name: app
    hash: "#pw"
    groups: [string, keyspace]
    keys: ["app:*"]
  - name: news
    hash: "#pw"
    groups: [pubsub]
    keys: ["*"]
    channels: ["news:*"]
  - name: boss
    hash: "#pw"
    groups: [admin]
    keys: ["*"]
  - name: out
    hash: "#pw"
    groups: [admin]
    keys: ["*"]
    enabled: false
`
)

// anyHash is a list of hashes.
var anyHash = regexp.MustCompile(`\["[0-9a-f]{64}"\]`)

// redisUsersScript is sent to both, as redisScript is.
const redisUsersScript = `
AUTH shop wrong
AUTH nobody pw
AUTH out pw
HELLO 3 AUTH shop wrong
AUTH shop pw
ACL WHOAMI
EXISTS k
EXISTS k l
EXISTS k m
EXISTS m
TTL zzz
DEL k
FLUSHALL
SAVE
CLIENT LIST
CLIENT KILL ID 1
CLIENT GETNAME
ACL LIST
ACL USERS
ACL GETUSER shop
ACL DRYRUN shop PING
CONFIG GET maxmemory
CONFIG SET maxmemory 1
SLOWLOG GET
MONITOR
NOPE k
EXISTS
ACL FOO
WATCH k
WATCH m
UNWATCH
MULTI
EXISTS k
EXISTS m
EXEC
MULTI
DEL k
PING
EXEC
MULTI
EXISTS k
EXEC
AUTH app pw
SET app:1 1
INCR app:1
SETEX app:2 100 v
MSET app:1 1 app:2 2
MSET app:1 1 k 2
RENAME app:1 app:3
RENAME app:3 k
RENAME k app:3
EXPIRE app:3 100
DEL app:2
UNLINK k
SET k v
GET k
GETDEL app:3
TYPE app:3
FLUSHDB
FLUSHALL
CONFIG GET maxmemory
PUBLISH a b
MULTI
INCR app:n
SET k v
EXEC
AUTH news pw
PUBLISH news:a message
PUBLISH other message
PUBSUB CHANNELS
PSUBSCRIBE *
PSUBSCRIBE news:* n*
PSUBSCRIBE news:a*
SUBSCRIBE news:a other
MULTI
PUBLISH other message
EXEC
AUTH boss pw
ACL WHOAMI
ACL USERS
EXISTS k m
ACL DRYRUN shop EXISTS k
ACL DRYRUN shop PUBLISH a b
ACL DRYRUN news PUBLISH news:a b
ACL DRYRUN news PUBLISH a b
ACL DRYRUN news PSUBSCRIBE news:*
ACL DRYRUN news PSUBSCRIBE news:a
ACL DRYRUN news SUBSCRIBE news:a
ACL DRYRUN shop EXISTS k m
ACL DRYRUN shop DEL k
ACL DRYRUN shop GET k
ACL DRYRUN app GET app:1
ACL DRYRUN app SET k v
ACL DRYRUN app FLUSHDB
ACL DRYRUN shop CLIENT KILL x
ACL DRYRUN nobody EXISTS k
ACL DRYRUN shop NOPE
ACL DRYRUN shop EXISTS
ACL DRYRUN shop CLIENT
ACL DRYRUN boss FLUSHALL
ACL DRYRUN out FLUSHALL
ACL DRYRUN shop
ACL GETUSER nobody
ACL GETUSER boss
ACL CAT nope
ACL LOAD
`

// TestUsersLikeRedis sends redisUsersScript to a real Redis and to limitsrv. All replies
// must be equal, except for the hashes in ACL GETUSER.
func TestUsersLikeRedis(t *testing.T) {
	file := filepath.Join(t.TempDir(), "users.acl")
	if err := os.WriteFile(file, []byte(redisUsers), 0o600); err != nil {
		t.Fatal(err)
	}
	r := startRedis(t, "--aclfile", file)
	h, err := newTestHandlerOf("default", func() string { return withHashes(t, ourUsers) })
	if err != nil {
		t.Fatal(err)
	}
	for _, protocol := range protocols {
		first := r.pair(h)
		first.ask("AUTH default", "PING")
		for _, key := range []string{"k", "l", "m"} {
			first.ask("RL.TOKEN "+key+" 1000 1 1000", "SET "+key+" v EX 1000")
		}
		p := r.pair(h)
		p.ask("AUTH default", "PING")
		p.ask(protocol, protocol)
		for line := range strings.SplitSeq(strings.TrimSpace(redisUsersScript), "\n") {
			got, want := p.ask(line, line)
			if hidden := strings.Join(want, " "); line == "ACL GETUSER boss" {
				want = []string{anyHash.ReplaceAllString(hidden, "[]")}
			}
			if strings.Join(got, " ") != strings.Join(want, " ") && !goesOn(got[0], want[0]) {
				t.Errorf("%s: %s\n  got %s\nRedis %s", protocol, line, got, want)
			}
		}
	}
}

// TestCategoriesLikeRedis compares the categories of the commands of package datatypes that
// both have.
func TestCategoriesLikeRedis(t *testing.T) {
	p := startRedis(t).pair(newTestHandler(""))
	list := func(line string) (ours, redis []string) {
		got, want := p.ask(line, line)
		return strings.Fields(strings.Trim(got[0], "[]")), strings.Fields(strings.Trim(want[0], "[]"))
	}
	_, known := list("COMMAND LIST")
	checked := 0
	for _, group := range users.GroupNames[3:] {
		ours, redis := list("ACL CAT " + group)
		for i := range datatypes.All() {
			name := fmt.Sprintf("%q", strings.ToLower(datatypes.All()[i].Name))
			if !slices.Contains(known, name) || name == `"object"` { // has subcommands, which Redis lists instead
				continue
			}
			checked++
			if got, want := slices.Contains(ours, name), slices.Contains(redis, name); got != want {
				t.Errorf("%s in %s: %t, want %t", name, group, got, want)
			}
		}
	}
	if checked < 300 {
		t.Errorf("%d commands were compared", checked)
	}
}

// TestExecLooksAgainLikeRedis revokes rights between a command and its EXEC.
func TestExecLooksAgainLikeRedis(t *testing.T) {
	file := filepath.Join(t.TempDir(), "users.acl")
	if err := os.WriteFile(file, []byte(redisUsers), 0o600); err != nil {
		t.Fatal(err)
	}
	r := startRedis(t, "--aclfile", file)
	ours := ourUsers
	h, err := newTestHandlerOf("default", func() string { return withHashes(t, ours) })
	if err != nil {
		t.Fatal(err)
	}
	p, admin := r.pair(h), r.pair(h)
	admin.ask("AUTH default", "PING")
	same := func(line string) {
		t.Helper()
		if got, want := p.ask(line, line); strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("%s\n  got %s\nRedis %s", line, got, want)
		}
	}
	for _, tt := range []struct{ ours, redis string }{
		{strings.Replace(ourUsers, "[k, l]", "[l]", 1), "ACL SETUSER shop resetkeys ~l"},
		{strings.Replace(ourUsers, "[peek]", "[decide]", 1), "ACL SETUSER shop -exists ~k"},
	} {
		for _, line := range []string{"AUTH shop pw", "MULTI", "EXISTS k", "PING"} {
			same(line)
		}
		ours = tt.ours
		admin.ask("ACL LOAD", tt.redis)
		same("EXEC")
		ours = ourUsers
		admin.ask("ACL LOAD", "ACL SETUSER shop ~k +exists")
	}
}
