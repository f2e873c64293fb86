package commands

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"limitsrv/commands/session"
)

// corpusArgs are the keys and arguments of BenchmarkEVALSHA for the scripts of tools/bench,
// "#" being a number of a key.
var corpusArgs = map[string]string{
	"bucket_hash":     "1 bucket:# 1000000 0.001 1700000000000",
	"bucket_strings":  "2 tokens:# at:# 1 1000000 1700000000",
	"checked_window":  "1 checked:# 1000000 3600",
	"derived_key":     "1 derived:# 1000000 3600",
	"fixed_window":    "1 fixed:# 1000000 3600000",
	"gcra":            "1 gcra:# 1000000 0.5",
	"penalty":         "2 counter:# block:# 1000000 3600 60",
	"points":          "1 points:# 1 3600",
	"release":         "1 lock:# token 3600",
	"sliding_counter": "2 now:# before:# 1000000 3600000 1700000001000",
	"sliding_log":     "1 log:# 100 3600000",
	"windows":         "3 minute:# hour:# day:# 1000000 60 1000000 3600 1000000 86400",
}

// BenchmarkEVALSHA measures whole scripts, arguments in to bytes out, in pipelines over keys
// that fit the processor's caches.
func BenchmarkEVALSHA(b *testing.B) {
	const pipeline, keys = 64, 500
	for _, file := range corpusFiles(b) {
		name := strings.TrimSuffix(filepath.Base(file), ".lua")
		b.Run(name, func(b *testing.B) {
			text, err := os.ReadFile(file)
			if err != nil {
				b.Fatal(err)
			}
			s := newTestHandler("").NewSession(session.Client{})
			s.Do([][]byte{[]byte("SCRIPT"), []byte("LOAD"), text})
			s.Flush()
			sha := string(s.Out[len("$40\r\n") : len("$40\r\n")+40])
			s.Out = s.Out[:0]
			var lines [keys][][]byte
			for i := range lines {
				lines[i] = words("EVALSHA " + sha + " " + strings.ReplaceAll(corpusArgs[name], "#", fmt.Sprintf("%012d", i)))
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				s.Do(lines[i*7%keys])
				if i%pipeline == 0 {
					s.Flush()
					s.Out = s.Out[:0]
				}
			}
		})
	}
}

// corpusFiles returns the files of the scripts of tools/bench.
func corpusFiles(tb testing.TB) []string {
	files, err := filepath.Glob("../tools/bench/scripts/dropin/*.lua")
	if err != nil || len(files) != len(corpusArgs) {
		tb.Fatalf("%d scripts, want %d (%v)", len(files), len(corpusArgs), err)
	}
	return files
}
