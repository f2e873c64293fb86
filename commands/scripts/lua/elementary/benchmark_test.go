package elementary

import "testing"

var sink float64

func BenchmarkFunctions(b *testing.B) {
	for i := range functions {
		f := &functions[i]
		b.Run(f.name, func(b *testing.B) {
			x := 0.7
			for b.Loop() {
				sink = f.call(x, 1.7)
			}
		})
	}
}
