package checks

import (
	"limitsrv/commands/rules"
	"limitsrv/engine"
)

// bind sets the binding limit and the reason.
func (a *Answer) bind(ds []engine.Decision) {
	if len(a.Rows) == 1 && a.Met[0].Mode != rules.Shadow {
		a.bindOnly(&a.Rows[0], &a.Met[0], &ds[a.Met[0].op])
		return
	}
	a.bindAny(ds)
}

// bindAny is bind for any limits.
func (a *Answer) bindAny(ds []engine.Decision) {
	rows := a.Rows
	met := a.Met[:len(rows)]
	passed, reason := passes(rows, met)
	binding, hold := -1, int64(0)
	for i := range rows {
		r, mode := &rows[i], met[i].Mode
		if mode == rules.Shadow || r.Allowed != passed || !passed && (mode == rules.Enforced) != (reason == Limited) {
			continue
		}
		hold = max(hold, r.WaitMillis)
		if binding < 0 || binds(r, &rows[binding], passed) {
			binding = i
		}
	}
	if binding < 0 { // only shadow limits
		a.Row, a.Reason = unbound, None
		return
	}
	a.Row, a.Binding, a.Descriptor, a.Reason = rows[binding], binding, int(met[binding].Descriptor), reason
	if passed {
		a.Reason = use(met[binding].Limit, &ds[met[binding].op])
		a.WaitMillis = hold // the longest time to hold the request
	}
}

// bindOnly is bind for an only limit, which is no shadow limit.
func (a *Answer) bindOnly(r *Row, m *Met, d *engine.Decision) {
	a.Row, a.Binding, a.Descriptor = *r, 0, int(m.Descriptor)
	switch {
	case r.Allowed:
		a.Reason, a.WaitMillis = use(m.Limit, d), max(0, r.WaitMillis)
	case m.Mode == rules.Quota:
		a.Reason = Quota
	default:
		a.Reason = Limited
	}
}

// passes reports whether limits pass together, as engine.Passed does; if not, the reason is
// Limited or Quota.
func passes(rows []Row, met []Met) (passed bool, reason Reason) {
	quotas, one := false, false
	for i := range rows {
		switch met[i].Mode {
		case rules.Quota:
			quotas, one = true, one || rows[i].Allowed
		case rules.Enforced:
			if !rows[i].Allowed {
				return false, Limited
			}
		}
	}
	return one || !quotas, Quota
}

// binds reports whether row r binds rather than an earlier row.
func binds(r, earlier *Row, passed bool) bool {
	if passed {
		return r.Remaining < earlier.Remaining
	}
	return earlier.WaitMillis >= 0 && (r.WaitMillis < 0 || r.WaitMillis > earlier.WaitMillis)
}

// use returns the reason for a request that passed.
func use(l *rules.Limit, d *engine.Decision) Reason {
	switch used := l.Quota + l.Grace - d.Remaining; {
	case d.Params.Limit == 0: // the key is missing, or there was no memory for it
	case used > l.Quota:
		return Grace
	case used > l.NearAbove:
		return Near
	}
	return OK
}
