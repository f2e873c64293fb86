package main

import (
	"slices"
	"testing"
)

func TestComparedModesAreMeasured(t *testing.T) {
	for _, c := range comparisons {
		for _, m := range []mode{c.one, c.other} {
			if !slices.Contains(modes, m) {
				t.Errorf("%s is compared but not measured", m)
			}
		}
	}
}

func TestModeOptions(t *testing.T) {
	for _, tt := range []struct {
		mode mode
		want []string
	}{
		{mode{limitsrv, ""}, nil},
		{mode{limitsrv, "everysec"}, []string{"--data", "/d", "--fsync", "everysec"}},
		{mode{limitsrv, "always"}, []string{"--data", "/d", "--fsync", "always"}},
		{mode{redisLua, ""}, nil},
		{mode{redisLua, "always"}, []string{"--dir", "/d", "--appendonly", "yes", "--appendfsync", "always"}},
	} {
		if got := tt.mode.options("/d"); !slices.Equal(got, tt.want) {
			t.Errorf("options of %s = %q, want %q", tt.mode, got, tt.want)
		}
	}
}

func TestSlowdown(t *testing.T) {
	if got := slowdown(waits(2), waits(5)); got != 2.5 {
		t.Errorf("slowdown from 2 to 5 ms = %v, want 2.5", got)
	}
}
