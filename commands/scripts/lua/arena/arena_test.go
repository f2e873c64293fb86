package arena

import "testing"

func TestArena(t *testing.T) {
	var a Arena[int]
	use := func() {
		for n := range 200 {
			part := a.Take(n)
			if len(part) != n || cap(part) != n {
				t.Fatalf("Take(%d) has length %d and capacity %d", n, len(part), cap(part))
			}
			for i := range part {
				if part[i] != 0 {
					t.Fatalf("Take(%d)[%d] = %d, want 0", n, i, part[i])
				}
				part[i] = n
			}
		}
	}
	use()
	a.Reset(1 << 20)
	if allocations := testing.AllocsPerRun(10, func() { use(); a.Reset(1 << 20) }); allocations != 0 {
		t.Errorf("%v allocations, want 0", allocations)
	}
	if a.Reset(100); a.total > 100 {
		t.Errorf("%d elements are kept, want at most 100", a.total)
	}
	if part := a.Take(a.largest() + 1); len(part) != a.largest()+1 || a.total > 100 {
		t.Errorf("a large part has length %d, and %d elements are kept", len(part), a.total)
	}
	part := a.Take(3)
	copy(part, []int{1, 2, 3})
	a.Reset(1 << 20)
	if raw := a.Raw(3); &raw[0] != &part[0] || cap(raw) != 3 {
		t.Errorf("Raw(3) is not the first part, but one of capacity %d", cap(raw))
	}
	a.Reset(1 << 20)
	if again := a.Take(3); &again[0] != &part[0] || again[0]|again[1]|again[2] != 0 {
		t.Errorf("Take after Raw returns %v, want zeros in the first part", again)
	}
	one := a.One()
	*one = 7
	if other := a.One(); *other != 0 || other == one {
		t.Error("One returns a value twice")
	}
}
