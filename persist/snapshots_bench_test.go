package persist

import (
	"context"
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// BenchmarkSnapshots writes and loads snapshots on the disk of temporary files. The sink
// does nothing and the source copies, so it measures Snapshots alone. 10 M keys need 500
// MB of memory and twice that on disk.
func BenchmarkSnapshots(b *testing.B) {
	for _, keys := range []int{1e6, 10e6} {
		var state *fakeState
		name := fmt.Sprintf("keys=%dM", keys/1e6)
		b.Run(name+"/write", func(b *testing.B) {
			state = newState(1, keys, 4)
			s := openBench(b)
			b.SetBytes(state.bytes())
			for b.Loop() {
				if _, err := s.Write(context.Background(), state.source(), Meta{}, nil); err != nil {
					b.Fatal(err)
				}
			}
			b.StopTimer()
			size, err := s.DiskBytes()
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(size)/float64(keys), "disk-bytes/key")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(keys)/float64(b.N), "ns/key")
		})
		for _, workers := range []int{1, 2} {
			b.Run(fmt.Sprintf("%s/load/workers=%d", name, workers), func(b *testing.B) {
				if state == nil {
					state = newState(1, keys, 4)
				}
				s := openBench(b)
				info, err := s.Write(context.Background(), state.source(), Meta{}, nil)
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(state.bytes())
				for b.Loop() {
					if err := s.Load(context.Background(), info, blockCheck(anyBlock), workers, nil); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(keys)/float64(b.N), "ns/key")
			})
		}
	}
}

func openBench(b *testing.B) *Snapshots {
	b.Helper()
	s, err := OpenSnapshots(vfs.Default, b.TempDir(), SnapshotOptions{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	return s
}
