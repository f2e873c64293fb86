package scripts

import (
	"slices"
	"sync"
	"sync/atomic"

	"limitsrv/engine"
)

// stepsPerByte is the number of steps to compile a byte. Measured: 60 to 160 ns.
const stepsPerByte = 2

// CompileSteps returns the number of steps to compile a text of n bytes.
func CompileSteps(n int) int64 { return int64(n) * stepsPerByte }

// StepsTo returns the number of steps that Of(source) takes; 0 if the source is compiled.
func StepsTo(source *engine.Source) int64 {
	if Compiled(source) != nil || compiled.isFresh(source.ID) {
		return 0
	}
	return CompileSteps(len(source.Text))
}

// Compiled returns the compiled form of a source, or nil if the source is not compiled. Cost: a load.
func Compiled(source *engine.Source) *Script {
	s, _ := source.Compiled.Load().(*Script)
	return s
}

// Of returns the compiled form of a source, and compiles the source if necessary. Cost: see StepsTo.
func Of(source *engine.Source) *Script {
	if s := Compiled(source); s != nil {
		return s
	}
	s := compiled.takeFresh(source.ID)
	if s == nil {
		s = compile([]byte(source.Text))
	}
	source.Compiled.Store(s)
	compiled.keep(kept{&source.Compiled, (*Script)(nil), s.size(len(source.Text))})
	return s
}

// StepsTo returns the number of steps that Prepare takes; 0 if the library of the function is
// compiled.
func (f *Function) StepsTo() int64 {
	if l, _ := f.document.Compiled.Load().(*Library); l != nil {
		return 0
	}
	return CompileSteps(len(f.document.Text))
}

// Prepare compiles the library of the function if necessary. Cost: see StepsTo.
func (f *Function) Prepare() { libraryOf(f.document) }

const (
	// maxCompiled bounds the memory of the compiled forms of sources and documents, in bytes.
	maxCompiled = 64 << 20
	// maxFresh bounds the number of scripts that are kept until the engine learns their sources.
	// Texts shorter than leastFresh are not kept but compiled again.
	maxFresh   = 8
	leastFresh = 1 << 10
)

// A keeper keeps the compiled forms of the texts compiled last, within a bound of memory.
// Concurrency: any number of goroutines may use it.
type keeper struct {
	mu    sync.Mutex
	most  int // bound in bytes; the last text is kept in any case
	list  []kept
	bytes int
	fresh []freshScript // in the order of their compilation
}

// kept is the compiled form of a text.
type kept struct {
	compiled *atomic.Value
	none     any // stored in compiled when the form is dropped
	bytes    int // memory of the form
}

// A freshScript is a script that was compiled before the engine learned its source.
type freshScript struct {
	id     engine.SourceID
	script *Script
}

var compiled = keeper{most: maxCompiled}

func (k *keeper) keep(one kept) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.list = append(k.list, one)
	k.bytes += one.bytes
	dropped := 0
	for k.bytes > k.most && dropped < len(k.list)-1 {
		x := &k.list[dropped]
		x.compiled.Store(x.none)
		k.bytes -= x.bytes
		dropped++
	}
	n := copy(k.list, k.list[dropped:])
	clear(k.list[n:])
	k.list = k.list[:n]
}

// keepFresh keeps a script until takeFresh removes it, or until maxFresh other scripts have been
// compiled.
func (k *keeper) keepFresh(id engine.SourceID, s *Script) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.fresh) == maxFresh {
		k.fresh = append(k.fresh[:0], k.fresh[1:]...)
	}
	k.fresh = append(k.fresh, freshScript{id, s})
}

func (k *keeper) isFresh(id engine.SourceID) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.ContainsFunc(k.fresh, func(x freshScript) bool { return x.id == id })
}

// takeFresh removes and returns the fresh script of a source, or returns nil.
func (k *keeper) takeFresh(id engine.SourceID) *Script {
	k.mu.Lock()
	defer k.mu.Unlock()
	i := slices.IndexFunc(k.fresh, func(x freshScript) bool { return x.id == id })
	if i < 0 {
		return nil
	}
	s := k.fresh[i].script
	k.fresh = slices.Delete(k.fresh, i, i+1)
	return s
}
