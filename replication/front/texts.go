package front

import (
	"context"
	"errors"

	"limitsrv/engine"
	"limitsrv/replication/fronts"
	"limitsrv/replication/storage"
)

// A copier waits until the front has texts at least as new as marks.
type copier struct {
	marks []engine.TextMark
	done  func()
}

// wantTexts has the texts copied, if they differ from the leader's.
func (n *Front) wantTexts() {
	select {
	case n.wanted <- struct{}{}:
	default:
	}
}

// copyTexts copies the texts of the leader whenever they differ. It runs in a goroutine until the
// front stops.
func (n *Front) copyTexts() {
	for {
		select {
		case <-n.stopping.Done():
			return
		case <-n.wanted:
		}
		n.mu.Lock()
		leader, marks, known := n.leader, n.news.Marks, n.news.Level > 0
		n.mu.Unlock()
		if leader.Raft == "" || !known {
			continue
		}
		failed := error(nil)
		for set := range engine.TextSet(engine.TextSets) {
			if n.engine.TextMark(set) == marks[set] {
				continue
			}
			if err := n.copySet(leader, set); err != nil {
				failed = err
				break
			}
		}
		if failed != nil {
			n.log.Debug("the texts of the leader can't be copied", "error", failed)
			n.sleep(findAgain)
			n.wantTexts()
			continue
		}
		n.o.Notices.Send()
		n.textsCopied()
	}
}

// textsCopied releases the copiers that wait for no further text.
func (n *Front) textsCopied() {
	var ready []copier
	n.mu.Lock()
	n.copied = true
	rest := n.copiers[:0]
	for _, c := range n.copiers {
		if n.hasTexts(c.marks) {
			ready = append(ready, c)
		} else {
			rest = append(rest, c)
		}
	}
	n.copiers = rest
	n.mu.Unlock()
	for _, c := range ready {
		c.done()
	}
}

// hasTexts reports whether the texts are at least as new as marks.
func (n *Front) hasTexts(marks []engine.TextMark) bool {
	for set := range marks {
		own := n.engine.TextMark(engine.TextSet(set))
		if own != marks[set] && own.Version <= marks[set].Version {
			return false
		}
	}
	return true
}

var errTexts = errors.New("the texts changed again and again")

// maxCopies bounds the attempts to copy a set that changes meanwhile.
const maxCopies = 10

// copySet copies a set of texts. Texts that the front has already are not sent again.
func (n *Front) copySet(leader storage.Server, set engine.TextSet) error {
	own := n.engine.TextMark(set)
	var (
		added  []engine.Text
		after  = own.Version
		states = false
	)
	for range maxCopies {
		t, err := n.textsAfter(leader, fronts.TextsRequest{Set: set, After: after, States: states}, &added)
		if err != nil {
			return err
		}
		var only []uint64
		if states {
			only = append([]uint64{}, t.States...)
		}
		if n.engine.MergeTexts(set, added, only, t.Mark) {
			return nil
		}
		if states { // perhaps the history is another one
			added, after = nil, 0
		} else if len(added) > 0 {
			after = added[len(added)-1].Version
		}
		states = true
	}
	return errTexts
}

// textsAfter adds the texts of all parts to added, and returns the last part.
func (n *Front) textsAfter(leader storage.Server, q fronts.TextsRequest, added *[]engine.Text) (t fronts.Texts,
	err error) {
	for {
		ctx, cancel := context.WithTimeout(n.stopping, copyTimeout+n.timeout())
		t = fronts.Texts{}
		err = n.callers.call(ctx, leader.Raft, fronts.CallTexts, q, &t)
		cancel()
		if err != nil {
			return t, err
		}
		*added = append(*added, t.Texts...)
		if !t.More {
			return t, nil
		}
		q.After = t.Texts[len(t.Texts)-1].Version
	}
}
