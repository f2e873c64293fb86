package testwait

import "testing"

func TestSeed(t *testing.T) {
	if a, b := seedOf("TestA", ""), seedOf("TestA", ""); a != b {
		t.Errorf("seeds %d and %d of one test", a, b)
	}
	if a, b := seedOf("TestA", ""), seedOf("TestB", ""); a == b {
		t.Errorf("the seed %d of two tests", a)
	}
	if a, b := seedOf("TestA", "random"), seedOf("TestA", "random"); a == b {
		t.Errorf("the random seed %d twice", a)
	}
	if got := seedOf("TestA", "18446744073709551615"); got != 18446744073709551615 {
		t.Errorf("the seed that is repeated is %d", got)
	}
}
