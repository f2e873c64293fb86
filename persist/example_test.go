package persist_test

import (
	"context"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"limitsrv/engine"
	"limitsrv/persist"
)

// A clock that stands still.
type clock engine.Instant

func (c clock) Now() engine.Instant { return engine.Instant(c) }

// A decision survives the end of the process.
func Example() {
	o := persist.Options{Dir: "limits", FS: vfs.NewMem(), Policy: persist.EverySecond,
		Clock: clock(1_750_000_000_000_000_000)}
	limit := engine.Params{Alg: engine.Token, Limit: 2, Count: 1, Period: int64(time.Hour)}
	for range 2 {
		s, err := persist.Open(o)
		if err != nil {
			fmt.Println(err)
			return
		}
		if err := s.Recover(context.Background()); err != nil {
			fmt.Println(err)
			return
		}
		b := &engine.Batch{Ops: []engine.Op{{Kind: engine.Take, Key: []byte("user:42"), Params: limit, N: 1}}}
		s.Exec(b, func(err error) {
			if err != nil {
				fmt.Println(err)
			}
		})
		s.Commit() // from now on the decision survives
		fmt.Println(b.Decisions[0].Allowed, b.Decisions[0].Remaining)
		if err := s.Close(context.Background(), persist.SaveNever); err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// 1 1
	// 1 0
}
