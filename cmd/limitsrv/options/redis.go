package options

import (
	"fmt"
	"regexp"
	"slices"
)

// redisOptions maps options of redis-server to the equivalent here.
var redisOptions = []struct{ name, advice string }{
	{"port", "--listen 127.0.0.1:PORT"},
	{"bind", "--listen ADDRESS:PORT"},
	{"p", "--listen 127.0.0.1:PORT"},
	{"protected-mode", "--unprotected, for protected-mode no"},
	{"requirepass", "--password"},
	{"masterauth", "--password, the same on each node"},
	{"user", "--users FILE"},
	{"aclfile", "--users FILE"},
	{"dir", "--data DIR"},
	{"dbfilename", "--data DIR"},
	{"appendonly", "--data DIR"},
	{"appendfsync", "--fsync"},
	{"save", "--data DIR, which keeps a log as well"},
	{"maxmemory", "--max-memory"},
	{"maxmemory-policy", "--on-full"},
	{"maxclients", "--max-clients"},
	{"timeout", "--idle-timeout"},
	{"loglevel", "--log-level"},
	{"logfile", "2> FILE: the log goes to standard error"},
	{"daemonize", "& behind it, or deploy/limitsrv.service: it stays in the foreground"},
	{"tls-port", "--tls-listen ADDRESS:PORT"},
	{"tls-cert-file", "--tls-cert"},
	{"tls-key-file", "--tls-key"},
	{"tls-ca-cert-file", "--tls-client-ca"},
	{"tls-cluster", "--raft-tls-cert, --raft-tls-key and --raft-tls-ca"},
	{"replicaof", "--raft with --join"},
	{"slaveof", "--raft with --join"},
	{"cluster-enabled", "--cluster-mode"},
}

// redisAdvice returns the equivalent of an option of redis-server, or "" if redis-server
// has no option of that name.
func redisAdvice(name string) string {
	i := slices.IndexFunc(redisOptions, func(o struct{ name, advice string }) bool { return o.name == name })
	if i < 0 {
		return ""
	}
	return redisOptions[i].advice
}

var (
	unknownFlag = regexp.MustCompile(`^unknown flag --?([a-z-]+)`)
	noValue     = regexp.MustCompile(`^(--[a-z-]+): expected .* but got "EOL" \(<EOL>\)$`)
	optionsFile = regexp.MustCompile(`^unexpected argument .*\.(conf|ya?ml)$`)
)

// withAdvice says an error of the command line plainly. It adds the equivalent of the redis-server
// option that the error is about, if any.
func withAdvice(err error) error {
	if m := unknownFlag.FindStringSubmatch(err.Error()); m != nil {
		if advice := redisAdvice(m[1]); advice != "" {
			return fmt.Errorf("%s; for redis-server's %s use %s", m[0], m[1], advice)
		}
	}
	if m := noValue.FindStringSubmatch(err.Error()); m != nil {
		return fmt.Errorf("a value must follow %s, got the end of the line", m[1])
	}
	if optionsFile.MatchString(err.Error()) {
		return fmt.Errorf("%w; give a configuration file, which is YAML, as --config FILE", err)
	}
	return err
}
