// Command rueidis is the session of rueidis.
package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redis/rueidis"

	s "clients/session"
)

var (
	ctx    = context.Background()
	client rueidis.Client
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
		s.Case{Name: "cache", Run: cache},
	))
}

// connect creates the client of most other cases. This client has no log.
func connect() {
	client = s.Must(rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{s.Addr}}))
	s.Got(client.Do(ctx, client.B().Ping().Build()).ToString()).Want("PONG")
}

func do(args ...any) (any, error) { return send(client, args) }

func send(client rueidis.Client, args []any) (any, error) {
	words := make([]string, len(args))
	for i, arg := range args {
		words[i] = fmt.Sprint(arg)
	}
	return answer(client.Do(ctx, client.B().Arbitrary(words...).Build()))
}

func answer(result rueidis.RedisResult) (any, error) {
	value, err := result.ToAny()
	if rueidis.IsRedisNil(err) {
		return nil, nil
	}
	return value, err
}

// token takes tokens of a bucket of 10 with 10 per hour.
func token(client rueidis.Client, key string, n ...string) (any, error) {
	return answer(client.Do(ctx, client.B().Arbitrary("RL.TOKEN").Keys(key).Args("10", "10/h").Args(n...).Build()))
}

func peek(client rueidis.Client, key string) (any, error) {
	return answer(client.Do(ctx, client.B().Arbitrary("RL.PEEK").Keys(key).Build()))
}

func pipeline() {
	var cmds rueidis.Commands
	for range 100 {
		cmds = append(cmds, client.B().Arbitrary("RL.TOKEN").Keys("pipeline").Args("50", "50/h").Build())
	}
	for i, result := range client.DoMulti(ctx, cmds...) {
		s.WantPiped(i, s.Got(answer(result)))
	}
}

func transaction() {
	s.Check(client.Dedicated(func(c rueidis.DedicatedClient) error {
		results := c.DoMulti(ctx,
			c.B().Multi().Build(),
			c.B().Arbitrary("RL.TOKEN").Keys("transaction:token").Args("10", "10/h", "4").Build(),
			c.B().Arbitrary("RL.LOG").Keys("transaction:log").Args("2", "1h").Build(),
			c.B().Exec().Build())
		s.Got(answer(results[3])).Want(s.L{s.L{1, 10, 6, 0, 1_440_000}, s.L{1, 2, 1, 0, 3_600_000}})

		results = c.DoMulti(ctx,
			c.B().Multi().Build(),
			c.B().Arbitrary("RL.TOKEN").Keys("transaction:token").Build(),
			c.B().Exec().Build())
		s.Got(answer(results[1])).WantError(s.ErrArguments)
		s.Got(answer(results[2])).WantError("EXECABORT")
		return nil
	}))
}

func binaryKeys() {
	for _, key := range s.BinaryKeys {
		s.Got(token(client, key)).Want(s.Fresh)
		s.Got(peek(client, key)).Want(s.Peeked)
	}
	var found []string
	for page := (rueidis.ScanEntry{Cursor: 0}); ; {
		page = s.Must(client.Do(ctx, client.B().Scan().Cursor(page.Cursor).Build()).AsScanEntry())
		found = append(found, page.Elements...)
		if page.Cursor == 0 {
			break
		}
	}
	for _, key := range s.BinaryKeys {
		if !slices.Contains(found, key) {
			s.Fail(fmt.Sprintf("%q", found), key)
		}
	}
}

// resp2 disables the client's cache, which needs RESP3.
func resp2() {
	client := s.Must(rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{s.Addr}, AlwaysRESP2: true, DisableCache: true,
	}))
	defer client.Close()
	hello := s.Must(client.Do(ctx, client.B().Hello().Build()).ToMessage())
	proto(hello, hello.IsArray(), 2)
	s.Got(token(client, "resp2")).Want(s.Fresh)
	s.Got(peek(client, "resp2:none")).Want(nil)
}

// kept reads a key by way of the client's cache.
func kept(client rueidis.Client) func(key string) (any, bool, error) {
	return func(key string) (any, bool, error) {
		result := client.DoCache(ctx, client.B().Get().Key(key).Cache(), time.Hour)
		value, err := answer(result)
		return value, result.IsCacheHit(), err
	}
}

func cache() {
	other := s.Must(rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{s.Addr}, DisableCache: true}))
	defer other.Close()
	s.Cache(kept(client), func(args ...any) (any, error) { return send(other, args) })
	broadcast := s.Must(rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{s.Addr}, ClientTrackingOptions: []string{"BCAST", "PREFIX", "cache:", "NOLOOP"},
	}))
	defer broadcast.Close()
	s.Cache(kept(broadcast), func(args ...any) (any, error) { return send(other, args) })
}

func resp3() {
	hello := s.Must(client.Do(ctx, client.B().Hello().Build()).ToMessage())
	proto(hello, hello.IsMap(), 3)
	s.Got(token(client, "resp3")).Want(s.Fresh)
	s.Got(peek(client, "resp3:none")).Want(nil)
}

// proto fails unless the reply to HELLO has the right type and this version.
func proto(hello rueidis.RedisMessage, rightKind bool, version int64) {
	field := s.Must(hello.AsMap())["proto"]
	if n, err := field.ToInt64(); err != nil || n != version || !rightKind {
		s.Fail(hello.String(), fmt.Sprint("proto ", version))
	}
}

func reconnect() {
	client := s.Must(rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{s.RestartAddr}}))
	defer client.Close()
	take := func() (any, error) { return token(client, "reconnect", "4") }
	s.Got(take()).Want(s.L{1, 10, 6, 0, 1_440_000})
	s.Restart()
	s.Got(s.Retry(take)).Want(s.L{1, 10, 6, 0, 1_440_000})
}

// wrongPassword fails when connecting, before any command.
func wrongPassword() {
	_, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{s.PasswordAddr}, Password: "wrong"})
	s.Got(nil, err).WantError("WRONGPASS")
	_, err = rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{s.PasswordAddr}})
	s.Got(nil, err).WantError("NOAUTH")
}

func password() {
	client := s.Must(rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{s.PasswordAddr}, Password: s.Password,
	}))
	defer client.Close()
	s.Got(token(client, "password")).Want(s.Fresh)
}

// cluster uses the same class, because the client detects a cluster itself.
func cluster() {
	client := s.Must(rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{s.ClusterAddr}}))
	defer client.Close()
	if mode := client.Mode(); mode != rueidis.ClientModeCluster {
		s.Fail(mode, rueidis.ClientModeCluster)
	}
	for _, key := range s.ClusterKeys {
		s.Got(token(client, key)).Want(s.Fresh)
		s.Got(peek(client, key)).Want(s.Peeked)
	}
}
