package commands

import "runtime/metrics"

// memoryUse is in bytes.
type memoryUse struct {
	used     int64 // objects on the heap
	resident int64 // obtained from the system and not returned
	idle     int64 // of resident: free on the heap
}

// readMemory reads the runtime's metrics; it does not stop the world.
func readMemory() memoryUse {
	samples := []metrics.Sample{
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/total:bytes"},
		{Name: "/memory/classes/heap/released:bytes"},
		{Name: "/memory/classes/heap/free:bytes"},
		{Name: "/memory/classes/heap/unused:bytes"},
	}
	metrics.Read(samples)
	return memoryUse{
		used:     int64(samples[0].Value.Uint64()),
		resident: int64(samples[1].Value.Uint64() - samples[2].Value.Uint64()),
		idle:     int64(samples[3].Value.Uint64() + samples[4].Value.Uint64()),
	}
}
