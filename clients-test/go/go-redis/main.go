// Command go-redis is the session of go-redis.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/redis/go-redis/v9"

	s "clients/session"
)

var (
	ctx = context.Background()
	rdb = redis.NewClient(&redis.Options{Addr: s.Addr})
)

func main() {
	s.Run(s.With(s.Case{Name: "connect", Run: connect}, do,
		s.Case{Name: "pipeline", Run: pipeline},
		s.Case{Name: "transaction", Run: transaction},
		s.Case{Name: "binary-keys", Run: binaryKeys},
		s.Case{Name: "resp2", Run: resp2},
		s.Case{Name: "resp3", Run: resp3},
		s.Case{Name: "reconnect", Run: reconnect},
		s.Case{Name: "wrong-password", Run: wrongPassword},
		s.Case{Name: "password", Run: password},
		s.Case{Name: "cluster", Run: cluster},
		s.Case{Name: "tls", Run: overTLS},
		s.Case{Name: "cache", Run: cache},
	))
}

func cache() {
	keeping := redis.NewClient(&redis.Options{Addr: s.Addr, ClientSideCacheConfig: &redis.ClientSideCacheConfig{}})
	defer keeping.Close()
	s.Cache(func(key string) (any, bool, error) {
		before := keeping.CSCStats().Hits
		value, err := keeping.Get(ctx, key).Result()
		kept := keeping.CSCStats().Hits > before
		if errors.Is(err, redis.Nil) {
			return nil, kept, nil
		}
		return value, kept, err
	}, do)
}

// log collects the client's messages, which have no levels.
type log []string

func (l *log) Printf(_ context.Context, format string, args ...any) {
	*l = append(*l, fmt.Sprintf(format, args...))
}

func connect() {
	said := &log{}
	redis.SetLogger(said)
	s.Got(rdb.Ping(ctx).Result()).Want("PONG")
	if len(*said) > 0 {
		s.Fail(*said, "nothing logged")
	}
}

func do(args ...any) (any, error) { return answer(rdb.Do(ctx, args...)) }

func answer(cmd *redis.Cmd) (any, error) {
	value, err := cmd.Result()
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	return value, err
}

func pipeline() {
	pipe := rdb.Pipeline()
	var cmds []*redis.Cmd
	for range 100 {
		cmds = append(cmds, pipe.Do(ctx, "RL.TOKEN", "pipeline", 50, "50/h"))
	}
	s.Must(pipe.Exec(ctx))
	for i, cmd := range cmds {
		s.WantPiped(i, s.Got(cmd.Result()))
	}
}

func transaction() {
	var token, log *redis.Cmd
	s.Must(rdb.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
		token = pipe.Do(ctx, "RL.TOKEN", "transaction:token", 10, "10/h", 4)
		log = pipe.Do(ctx, "RL.LOG", "transaction:log", 2, "1h")
		return nil
	}))
	s.Got(token.Result()).Want(s.L{1, 10, 6, 0, 1_440_000})
	s.Got(log.Result()).Want(s.L{1, 2, 1, 0, 3_600_000})

	_, err := rdb.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
		pipe.Do(ctx, "RL.TOKEN", "transaction:token")
		return nil
	})
	s.Got(nil, err).WantError("EXECABORT", s.ErrArguments)
}

func binaryKeys() {
	for _, key := range s.BinaryKeys {
		s.Got(do("RL.TOKEN", key, 10, "10/h")).Want(s.Fresh)
		s.Got(do("RL.PEEK", key)).Want(s.Peeked)
	}
	var found []string
	scan := rdb.Scan(ctx, 0, "", 0).Iterator()
	for scan.Next(ctx) {
		found = append(found, scan.Val())
	}
	s.Check(scan.Err())
	for _, key := range s.BinaryKeys {
		if !slices.Contains(found, key) {
			s.Fail(fmt.Sprintf("%q", found), key)
		}
	}
}

func resp2() {
	rdb := redis.NewClient(&redis.Options{Addr: s.Addr, Protocol: 2})
	defer rdb.Close()
	hello := s.Must(rdb.Do(ctx, "HELLO").Slice())
	at := slices.Index(hello, any("proto"))
	if at < 0 || hello[at+1] != int64(2) {
		s.Fail(hello, "proto 2")
	}
	s.Got(answer(rdb.Do(ctx, "RL.TOKEN", "resp2", 10, "10/h"))).Want(s.Fresh)
	s.Got(answer(rdb.Do(ctx, "RL.PEEK", "resp2:none"))).Want(nil)
}

func resp3() {
	rdb := redis.NewClient(&redis.Options{Addr: s.Addr, Protocol: 3})
	defer rdb.Close()
	hello, isMap := s.Must(rdb.Do(ctx, "HELLO").Result()).(map[any]any)
	if !isMap || hello["proto"] != int64(3) {
		s.Fail(hello, "proto 3")
	}
	s.Got(answer(rdb.Do(ctx, "RL.TOKEN", "resp3", 10, "10/h"))).Want(s.Fresh)
	s.Got(answer(rdb.Do(ctx, "RL.PEEK", "resp3:none"))).Want(nil)
}

func reconnect() {
	rdb := redis.NewClient(&redis.Options{Addr: s.RestartAddr})
	defer rdb.Close()
	take := func() (any, error) { return rdb.Do(ctx, "RL.TOKEN", "reconnect", 10, "10/h", 4).Result() }
	s.Got(take()).Want(s.L{1, 10, 6, 0, 1_440_000})
	s.Restart()
	s.Got(s.Retry(take)).Want(s.L{1, 10, 6, 0, 1_440_000})
}

func wrongPassword() {
	wrong := redis.NewClient(&redis.Options{Addr: s.PasswordAddr, Password: "wrong"})
	defer wrong.Close()
	s.Got(wrong.Ping(ctx).Result()).WantError("WRONGPASS")

	none := redis.NewClient(&redis.Options{Addr: s.PasswordAddr})
	defer none.Close()
	s.Got(none.Do(ctx, "RL.TOKEN", "password", 10, "10/h").Result()).WantError("NOAUTH")
}

func password() {
	rdb := redis.NewClient(&redis.Options{Addr: s.PasswordAddr, Password: s.Password})
	defer rdb.Close()
	s.Got(rdb.Do(ctx, "RL.TOKEN", "password", 10, "10/h").Result()).Want(s.Fresh)
}

func overTLS() {
	ca := x509.NewCertPool()
	ca.AppendCertsFromPEM(s.Must(os.ReadFile(s.TLSCA)))
	rdb := redis.NewClient(&redis.Options{Addr: s.TLSAddr, TLSConfig: &tls.Config{RootCAs: ca}})
	defer rdb.Close()
	s.Got(rdb.Do(ctx, "RL.TOKEN", "tls", 10, "10/h").Result()).Want(s.Fresh)
	pipe := rdb.Pipeline()
	for range 1000 {
		pipe.Do(ctx, "RL.PEEK", "tls")
	}
	for _, cmd := range s.Must(pipe.Exec(ctx)) {
		s.Got(cmd.(*redis.Cmd).Result()).Want(s.Peeked)
	}
}

func cluster() {
	rdb := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{s.ClusterAddr}})
	defer rdb.Close()
	for _, key := range s.ClusterKeys {
		s.Got(rdb.Do(ctx, "RL.TOKEN", key, 10, "10/h").Result()).Want(s.Fresh)
		s.Got(rdb.Do(ctx, "RL.PEEK", key).Result()).Want(s.Peeked)
	}
}
