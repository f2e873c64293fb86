package main

import (
	"io"
	"slices"
	"testing"
	"time"
)

func TestParseOptions(t *testing.T) {
	o, err := parseOptions([]string{"-only", "growth", "-conns", "5,10", "-duration", "3s"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(o.parts, []string{"growth"}) || !slices.Equal(o.connections, []int{5, 10}) ||
		o.duration != 3*time.Second {
		t.Errorf("got %+v", o)
	}
	if o.keys != defaults.keys {
		t.Errorf("-keys = %d, want the default %d", o.keys, defaults.keys)
	}
}

func TestFlagsOverrideQuickInAnyOrder(t *testing.T) {
	o, err := parseOptions([]string{"-rounds", "5", "-quick"}, io.Discard)
	if err != nil || o.rounds != 5 || o.keys != smoke.keys || !o.quick {
		t.Errorf("parseOptions = %+v, %v, want the values of -quick with 5 rounds", o, err)
	}
}

func TestParseOptionsRejects(t *testing.T) {
	for _, args := range [][]string{
		{"-only", "speed"}, {"-algorithms", ""}, {"-distributions", "normal"}, {"-conns", "0"}, {"-pipelines", "x"},
		{"-sizes", "3,2"}, {"-rounds", "0"}, {"-keys", "-1"}, {"-duration", "0s"}, {"-siege-conns", "30000"},
		{"-flood-keys", "1"}, {"surplus"}, {"-nonsense"},
	} {
		if o, err := parseOptions(args, io.Discard); err == nil {
			t.Errorf("parseOptions(%q) = %+v, want an error", args, o)
		}
	}
}

func TestLoadsAreEveryCombinationOnce(t *testing.T) {
	all := defaults.loads()
	if want := 2 * 2 * 3 * 3; len(all) != want {
		t.Fatalf("%d loads, want %d", len(all), want)
	}
	seen := map[load]bool{}
	for _, l := range all {
		if seen[l] {
			t.Errorf("load %v occurs twice", l)
		}
		seen[l] = true
	}
	for _, pipeline := range []int{1, 16, 64} {
		if !seen[targetLoad(tokenBucket, pipeline)] {
			t.Errorf("the load of a target, %v, is not among the defaults", targetLoad(tokenBucket, pipeline))
		}
	}
}
