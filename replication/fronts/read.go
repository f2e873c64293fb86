package fronts

import (
	"fmt"

	"limitsrv/engine"
)

// Texts answers a TextsRequest.
func (h *Hub) Texts(q TextsRequest) (t Texts, err error) {
	if int(q.Set) >= engine.TextSets {
		return t, fmt.Errorf("there is no set %d of texts", q.Set)
	}
	e := h.o.Engine()
	if q.States {
		t.States = e.TextStates(q.Set)
	}
	t.Texts, t.More = e.TextsAfter(q.Set, q.After, maxTextsBytes)
	t.Mark = e.TextMark(q.Set)
	return t, nil
}

// Bounds of a scan: keys asked for, keys in an answer and their bytes, and pages visited.
const (
	maxScan      = 10_000
	maxScanBytes = 1 << 20
	maxScanPages = 256
)

// Read answers a ReadRequest of a front.
func (h *Hub) Read(node string, q ReadRequest, now engine.Instant) (r Read, err error) {
	e := h.o.Engine()
	switch q.Kind {
	case ReadCounts:
		r.Counts, r.Now, r.Told = CountsOf(e), now, h.toldOf(node)
		for set := range engine.TextSets {
			r.Marks = append(r.Marks, e.TextMark(engine.TextSet(set)))
		}
	case ReadScan:
		bytes := 0
		r.Cursor = q.Cursor
		for range maxScanPages {
			r.Cursor = e.Scan(q.Now, q.DB, r.Cursor, 1, func(key []byte, alg engine.Alg) {
				bytes += len(key)
				r.Keys = append(r.Keys, ReadKey{append([]byte(nil), key...), alg})
			})
			if r.Cursor == 0 || len(r.Keys) >= min(q.Count, maxScan) || bytes >= maxScanBytes {
				break
			}
		}
	case ReadBytes:
		r.Bytes = e.KeyBytes(q.Now, q.DB, q.Key)
	case ReadTop:
		r.Top = e.Top(q.Now, q.Top, q.Window, q.Count)
	case ReadBoxes:
		r.Boxes = e.ClosedBoxes(q.Now)
	default:
		err = fmt.Errorf("there is no read %q", q.Kind)
	}
	return r, err
}
