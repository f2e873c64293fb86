package rules

// replaces notes the names that a matched limit replaces.
func (r *Result) replaces(l *Limit) {
	if len(l.replaces) == 0 {
		return
	}
	w := r.work
	if words := (w.d.replaced + 63) / 64; len(w.replaced) < words {
		w.replaced = append(w.replaced, make([]uint64, words-len(w.replaced))...)
	}
	for _, n := range l.replaces {
		if bit := uint64(1) << (n % 64); w.replaced[n/64]&bit == 0 {
			w.replaced[n/64] |= bit
			w.numbers = append(w.numbers, n)
		}
	}
}

// keep drops the limits that kept rejects.
func (r *Result) keep(kept func(*Met) bool) {
	w := r.work
	limits, shared := r.Limits[:0], r.Shared[:0]
	w.moved = w.moved[:0]
	for i := range r.Limits {
		if m := &r.Limits[i]; kept(m) {
			w.moved = append(w.moved, len(limits))
			limits = append(limits, *m)
		} else {
			w.moved = append(w.moved, -1)
		}
	}
	for _, s := range r.Shared {
		if s.Limit = w.moved[s.Limit]; s.Limit >= 0 {
			shared = append(shared, s)
		}
	}
	r.Limits, r.Shared = limits, shared
}

// dropReplaced drops the limits with a name that another limit replaces.
func (r *Result) dropReplaced() {
	w := r.work
	r.keep(func(m *Met) bool {
		return m.set == nil || !w.isReplaced(m.set.names[0]) && !w.isReplaced(m.set.names[1])
	})
	for _, n := range w.numbers {
		w.replaced[n/64] = 0
	}
}

func (w *work) isReplaced(name int32) bool {
	return name >= 0 && w.replaced[name/64]&(1<<(name%64)) != 0
}
