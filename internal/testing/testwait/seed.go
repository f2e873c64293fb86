package testwait

import (
	"hash/fnv"
	"os"
	"strconv"
	"testing"
	"time"
)

// seedVariable is the environment variable that changes the result of Seed.
const seedVariable = "TEST_SEED"

// Seed returns the seed of a test's random choices: the hash of the test's name. So it is the same
// in each run, and a failure is due to a change and not to chance. With TEST_SEED=random in the
// environment each run has another seed, and TEST_SEED=N sets it. A test that fails logs its seed.
func Seed(t testing.TB) uint64 {
	t.Helper()
	seed := seedOf(t.Name(), os.Getenv(seedVariable))
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("again: %s=%d in the environment", seedVariable, seed)
		}
	})
	return seed
}

// seedOf returns the seed of a test for the value of seedVariable.
func seedOf(name, value string) uint64 {
	if seed, err := strconv.ParseUint(value, 10, 64); err == nil {
		return seed
	}
	h := fnv.New64a()
	h.Write([]byte(name))
	if value == "random" {
		return h.Sum64() ^ uint64(time.Now().UnixNano())
	}
	return h.Sum64()
}
