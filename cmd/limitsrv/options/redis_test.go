package options

import "testing"

// Errors about options of redis-server in a file name the equivalent.
func TestRedisOptions(t *testing.T) {
	_, err := parseConfig("f.yaml", []byte("maxmemory: 1gb\n"), nil)
	if want := "f.yaml:1: unknown option maxmemory; for redis-server's maxmemory use --max-memory"; err == nil ||
		err.Error() != want {
		t.Errorf("error of a file: %v, want %s", err, want)
	}
	for _, f := range configFlags(t) {
		if redisAdvice(f.Name) != "" {
			t.Errorf("--%s is an option of limitsrv", f.Name)
		}
	}
}
