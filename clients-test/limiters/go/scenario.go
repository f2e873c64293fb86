package main

import (
	"fmt"
	"sync"
	"time"
)

// day is so long that no limit of burst and crowd is refilled.
const day = 24 * time.Hour

// A factory creates a limiter with connections of its own: limit requests per period.
type factory func(limit int, period time.Duration) (*limiter, error)

// A limiter is a library's limiter.
type limiter struct {
	take  func(key string) (taken, error)
	reset func(key string) error // may be nil
}

// taken is the result of a request. remaining is negative if the library doesn't report it.
type taken struct {
	allowed   bool
	remaining int
}

func (t taken) String() string {
	switch {
	case !t.allowed:
		return "-"
	case t.remaining < 0:
		return "+"
	}
	return fmt.Sprintf("+%d", t.remaining)
}

// play prints the transcript of the scenario.
func play(create factory) error {
	one, err := create(5, day)
	if err != nil {
		return err
	}
	if err := burst(one); err != nil {
		return err
	}
	other, err := create(5, day)
	if err != nil {
		return err
	}
	if err := keys(one, other); err != nil {
		return err
	}
	crowded, err := create(20, day)
	if err != nil {
		return err
	}
	if err := crowd(crowded); err != nil {
		return err
	}
	short, err := create(3, time.Second)
	if err != nil {
		return err
	}
	return refill(short)
}

func burst(one *limiter) error {
	fmt.Print("burst")
	for range 8 {
		t, err := one.take("a")
		if err != nil {
			return err
		}
		fmt.Print(" ", t)
	}
	fmt.Println()
	return nil
}

// keys prints that limiters share keys, and the effect of a reset.
func keys(one, other *limiter) error {
	fmt.Print("keys")
	for _, step := range []struct {
		l   *limiter
		key string
	}{{other, "b"}, {other, "a"}, {one, "b"}} {
		t, err := step.l.take(step.key)
		if err != nil {
			return err
		}
		fmt.Print(" ", t)
	}
	fmt.Println()
	if one.reset == nil {
		return nil
	}
	if err := one.reset("a"); err != nil {
		return err
	}
	t, err := other.take("a")
	if err != nil {
		return err
	}
	fmt.Println("reset", t)
	return nil
}

func crowd(l *limiter) error {
	var (
		done  sync.WaitGroup
		mu    sync.Mutex
		count int
		first error
	)
	for range 50 {
		done.Go(func() {
			t, err := l.take("c")
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				first = err
			}
			if t.allowed {
				count++
			}
		})
	}
	done.Wait()
	if first == nil {
		fmt.Println("crowd", count, "of 50")
	}
	return first
}

// refill uses up a limiter of 3 requests per second, and waits until it is full again.
func refill(l *limiter) error {
	for n := 0; ; n++ {
		t, err := l.take("d")
		if err != nil {
			return err
		}
		if !t.allowed {
			break
		}
		if n == 100 {
			fmt.Println("refill: never denied")
			return nil
		}
	}
	time.Sleep(2200 * time.Millisecond)
	fmt.Print("refill")
	for range 3 {
		t, err := l.take("d")
		if err != nil {
			return err
		}
		t.remaining = -1
		fmt.Print(" ", t)
	}
	fmt.Println()
	return nil
}
