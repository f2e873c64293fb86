package session

import (
	"errors"
	"fmt"
	"time"
)

const setByScript = "return redis.call('SET', KEYS[1], 'new')"

var errNotKept = errors.New("the client has not kept the value")

// changes are the changes of a key that a client that keeps values must follow, with the value afterwards.
var changes = []struct {
	name    string
	command func(key string) L
	want    any
}{
	{"set", func(key string) L { return L{"SET", key, "new"} }, "new"},
	{"delete", func(key string) L { return L{"DEL", key} }, nil},
	{"expire", func(key string) L { return L{"PEXPIRE", key, 50} }, nil},
	{"script", func(key string) L { return L{"EVAL", setByScript, 1, key} }, "new"},
	{"rename", func(key string) L { return L{"RENAME", key, key + ":new"} }, nil},
	{"flush", func(string) L { return L{"FLUSHALL"} }, nil},
}

// Cache checks a client that keeps values. get reads a key; kept is true if the client had the value.
// other sends a command by a client without a cache.
func Cache(get func(key string) (value any, kept bool, err error), other Do) {
	for _, change := range changes {
		key := "cache:" + change.name
		Must(other("SET", key, "old"))
		Follow(key, "old", func(key string) (any, bool, error) {
			value, kept, err := get(key)
			Got(value, err).Want("old")
			if !kept {
				err = errNotKept
			}
			return value, kept, err
		})
		Must(other(change.command(key)...))
		Follow(key, change.want, get)
	}
}

// Follow waits until a client that keeps values reads the wanted value, for up to 10 s.
func Follow(key string, want any, get func(key string) (any, bool, error)) {
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		value, _, err := get(key)
		if err == nil && value == want {
			return
		}
		if time.Now().After(end) {
			Fail(fmt.Sprintf("%s: %v, error %v", key, value, err), want)
		}
	}
}
