package main

import (
	"fmt"
	"slices"
	"strings"
)

// derived are the features that the commands of a library show.
var derived = []string{"lua", "hashes", "sorted-sets", "lists", "sets", "pubsub"}

var (
	setCommands = []string{"sadd", "srem", "smembers", "sismember", "smismember", "scard", "spop", "srandmember", "sscan"}
	listPrefix  = []string{"lpush", "rpush", "lpop", "rpop", "blpop", "brpop", "llen", "lrange", "lindex", "ltrim", "lrem",
		"lset", "lpushx", "rpushx"}
)

// featureOf returns the feature that a command belongs to, or "" for commands of all
// servers.
func featureOf(command string) string {
	command, _, _ = strings.Cut(command, "|")
	switch {
	case command == "eval" || command == "evalsha" || command == "script" || strings.HasSuffix(command, "_ro"):
		return "lua"
	case command == "hello":
		return ""
	case command[0] == 'h':
		return "hashes"
	case command[0] == 'z' || command == "bzpopmin" || command == "bzpopmax":
		return "sorted-sets"
	case slices.Contains(listPrefix, command):
		return "lists"
	case slices.Contains(setCommands, command):
		return "sets"
	case strings.HasSuffix(command, "subscribe") || command == "publish":
		return "pubsub"
	}
	return ""
}

// checkNeeds returns an error unless the needs are those that the commands show.
func checkNeeds(needs, commands []string) error {
	var shown []string
	for _, command := range commands {
		if f := featureOf(command); f != "" && !slices.Contains(shown, f) {
			shown = append(shown, f)
		}
	}
	declared := slices.DeleteFunc(slices.Clone(needs), func(f string) bool { return !slices.Contains(derived, f) })
	slices.Sort(shown)
	slices.Sort(declared)
	if !slices.Equal(shown, declared) {
		return fmt.Errorf("%s lists that it needs %v, its commands %v show %v", catalogue, declared, commands, shown)
	}
	return nil
}
