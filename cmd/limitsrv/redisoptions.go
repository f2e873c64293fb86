package main

import (
	"errors"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// redisOptions are options of redis-server that have another name here, or need none,
// with the ones to give in their place.
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

// redisAdvice names the option to give in place of one of redis-server; empty: it is
// none of them.
func redisAdvice(name string) string {
	i := slices.IndexFunc(redisOptions, func(o struct{ name, advice string }) bool { return o.name == name })
	if i < 0 {
		return ""
	}
	return redisOptions[i].advice
}

var (
	unknownFlag = regexp.MustCompile(`^unknown flag --?([a-z-]+)`)
	optionsFile = regexp.MustCompile(`^unexpected argument .*\.(conf|ya?ml)$`)
)

// advised is an error of the command line, with the option that people used to
// redis-server are to give.
func advised(err error) error {
	if m := unknownFlag.FindStringSubmatch(err.Error()); m != nil {
		if advice := redisAdvice(m[1]); advice != "" {
			return fmt.Errorf("%s; redis-server's %s is here %s", m[0], m[1], advice)
		}
	}
	if optionsFile.MatchString(err.Error()) {
		return fmt.Errorf("%w; a file of options is given as --config FILE, and is YAML", err)
	}
	return err
}

// nextPort is the error of a listener, with a way out where others have its port.
func (o *options) nextPort(err error) error {
	if !errors.Is(err, syscall.EADDRINUSE) {
		return err
	}
	for _, l := range []struct{ option, address string }{{"--listen", o.Listen}, {"--tls-listen", o.TLSListen}} {
		host, port, splitErr := net.SplitHostPort(l.address)
		number, numberErr := strconv.Atoi(port)
		if splitErr != nil || numberErr != nil || !strings.Contains(err.Error(), "listen on "+l.address+":") {
			continue
		}
		return fmt.Errorf("%w: give another one, %s %s, or stop the server that has it, which may be Redis", err, l.option, net.JoinHostPort(host, strconv.Itoa(number+1)))
	}
	return err
}
