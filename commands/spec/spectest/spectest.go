// Package spectest makes lines of commands for tests, so that a new command is tested without a line
// of its own. It imports spec and usage.
package spectest

import (
	"limitsrv/commands/spec"
	"limitsrv/commands/usage"
)

// valid has a valid word for each argument for which not any word is valid.
var valid = map[string]string{
	"capacity": "10", "limit": "10", "rate": "1/s", "window": "1m", "ttl": "1m", "actual": "1",
	"cursor": "0", "index": "0", "numreplicas": "0", "timeout": "0", "duration": "1", "client-id": "1",
	"ip:port": "1.2.3.4:5", "command": "PING",
	"backup-name": "daily-1", "numkeys": "0", "script": "return", "sha1": "0123456789012345678901234567890123456789",
}

// Words returns the words after the name of a shortest line of a command. Each of its keys is key.
func Words(c *spec.Command, key string) (words []string) {
	var add func([]usage.Arg)
	add = func(args []usage.Arg) {
		for _, a := range args {
			if a.Optional {
				continue
			}
			if a.Token != "" {
				words = append(words, a.Token)
			}
			switch a.Kind {
			case usage.Word:
				words = append(words, wordOf(a.Name, key))
			case usage.OneOf:
				add(a.Args[:1])
			case usage.Block:
				add(a.Args)
			}
		}
	}
	add(usage.Parse(c.Args))
	return words
}

func wordOf(name, key string) string {
	switch name {
	case "key", "source", "destination", "src", "dst":
		return key
	}
	if w := valid[name]; w != "" {
		return w
	}
	return "word"
}
