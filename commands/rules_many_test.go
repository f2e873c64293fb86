package commands

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"limitsrv/commands/rules/source"
	"limitsrv/commands/session"
)

// TestManyLoads: few texts of rules are compiled at a time, and the number that wait is bounded. A
// load that waits can be canceled.
func TestManyLoads(t *testing.T) {
	synctest.Test(t, func(*testing.T) {
		h, e := newLateHandler()
		const loads = 40
		ends := make(chan error, loads)
		start := func(ctx context.Context) {
			_, err := h.LoadRules(ctx, session.RulesLoad{Files: []source.File{{Text: []byte(rulesText)}}, Expect: -1})
			ends <- err
		}
		e.holds = true
		ctx, cancel := context.WithCancel(context.Background())
		for range loads {
			go start(ctx)
			synctest.Wait()
		}
		refused := len(ends)
		for range refused {
			if err := <-ends; err == nil || !strings.Contains(err.Error(), "wait to be loaded") {
				t.Errorf("the error is %v", err)
			}
		}
		if refused < loads/2 || refused > loads-3 || len(e.held) > 4 {
			t.Errorf("%d of %d loads are refused, and %d were decided", refused, loads, len(e.held))
		}
		cancel()
		synctest.Wait()
		e.release(nil)
		for range loads - refused {
			<-ends
		}
		go start(context.Background())
		if err := <-ends; err != nil {
			t.Errorf("a load after the other loads: %v", err)
		}
	})
}
