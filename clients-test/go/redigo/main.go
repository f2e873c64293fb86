// Command redigo is the session of redigo.
package main

import (
	"fmt"
	"slices"

	"github.com/gomodule/redigo/redis"

	s "clients/session"
)

var pool = poolOf(s.Addr)

func main() {
	s.Run(s.With(s.Case{Name: "connect", Run: connect}, do,
		s.Case{Name: "pipeline", Run: pipeline},
		s.Case{Name: "transaction", Run: transaction},
		s.Case{Name: "binary-keys", Run: binaryKeys},
		s.Case{Name: "resp2", Run: resp2},
		s.Case{Name: "resp3"},
		s.Case{Name: "reconnect", Run: reconnect},
		s.Case{Name: "wrong-password", Run: wrongPassword},
		s.Case{Name: "password", Run: password},
		s.Case{Name: "cluster"},
	))
}

func poolOf(addr string, options ...redis.DialOption) *redis.Pool {
	return &redis.Pool{Dial: func() (redis.Conn, error) { return redis.Dial("tcp", addr, options...) }}
}

// connect checks no log, because this client has no log.
func connect() {
	conn := pool.Get()
	defer conn.Close()
	s.Got(conn.Do("PING")).Want("PONG")
}

func do(args ...any) (any, error) {
	conn := pool.Get()
	defer conn.Close()
	return conn.Do(args[0].(string), args[1:]...)
}

func pipeline() {
	conn := pool.Get()
	defer conn.Close()
	for range 100 {
		s.Check(conn.Send("RL.TOKEN", "pipeline", 50, "50/h"))
	}
	s.Check(conn.Flush())
	for i := range 100 {
		s.WantPiped(i, s.Got(conn.Receive()))
	}
}

func transaction() {
	conn := pool.Get()
	defer conn.Close()
	s.Check(conn.Send("MULTI"))
	s.Check(conn.Send("RL.TOKEN", "transaction:token", 10, "10/h", 4))
	s.Check(conn.Send("RL.LOG", "transaction:log", 2, "1h"))
	s.Got(conn.Do("EXEC")).Want(s.L{s.L{1, 10, 6, 0, 1_440_000}, s.L{1, 2, 1, 0, 3_600_000}})

	s.Got(conn.Do("MULTI")).Want("OK")
	s.Got(conn.Do("RL.TOKEN", "transaction:token")).WantError(s.ErrArguments)
	s.Got(conn.Do("EXEC")).WantError("EXECABORT")
}

func binaryKeys() {
	for _, key := range s.BinaryKeys {
		s.Got(do("RL.TOKEN", []byte(key), 10, "10/h")).Want(s.Fresh)
		s.Got(do("RL.PEEK", []byte(key))).Want(s.Peeked)
	}
	var found, page []string
	for cursor := "0"; ; {
		reply := s.Must(redis.Values(do("SCAN", cursor)))
		s.Must(redis.Scan(reply, &cursor, &page))
		found = append(found, page...)
		if cursor == "0" {
			break
		}
	}
	for _, key := range s.BinaryKeys {
		if !slices.Contains(found, key) {
			s.Fail(fmt.Sprintf("%q", found), key)
		}
	}
}

// resp2: this client supports no other version.
func resp2() {
	hello := s.Must(redis.Values(do("HELLO")))
	at := slices.IndexFunc(hello, func(field any) bool {
		name, isName := field.([]byte)
		return isName && string(name) == "proto"
	})
	if at < 0 || hello[at+1] != int64(2) {
		s.Fail(hello, "proto 2")
	}
	s.Got(do("RL.TOKEN", "resp2", 10, "10/h")).Want(s.Fresh)
	s.Got(do("RL.PEEK", "resp2:none")).Want(nil)
}

// reconnect: a pool without TestOnBorrow returns the dead connection once.
func reconnect() {
	pool := poolOf(s.RestartAddr)
	pool.MaxIdle = 1
	defer pool.Close()
	take := func() (any, error) {
		conn := pool.Get()
		defer conn.Close()
		return conn.Do("RL.TOKEN", "reconnect", 10, "10/h", 4)
	}
	s.Got(take()).Want(s.L{1, 10, 6, 0, 1_440_000})
	s.Restart()
	s.Got(s.Retry(take)).Want(s.L{1, 10, 6, 0, 1_440_000})
}

func wrongPassword() {
	_, err := redis.Dial("tcp", s.PasswordAddr, redis.DialPassword("wrong"))
	s.Got(nil, err).WantError("WRONGPASS")

	conn := s.Must(redis.Dial("tcp", s.PasswordAddr))
	defer conn.Close()
	s.Got(conn.Do("RL.TOKEN", "password", 10, "10/h")).WantError("NOAUTH")
}

func password() {
	conn := s.Must(redis.Dial("tcp", s.PasswordAddr, redis.DialPassword(s.Password)))
	defer conn.Close()
	s.Got(conn.Do("RL.TOKEN", "password", 10, "10/h")).Want(s.Fresh)
}
