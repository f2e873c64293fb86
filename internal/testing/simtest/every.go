package simtest

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"limitsrv/commands/calls"
	"limitsrv/commands/datatypes"
	"limitsrv/commands/rules"
	"limitsrv/commands/rules/live"
	"limitsrv/commands/rules/source"
	"limitsrv/commands/rules/stored"
	"limitsrv/commands/scripts"
	"limitsrv/commands/spec"
	"limitsrv/commands/spec/spectest"
	"limitsrv/engine"
)

// everyPrefix is the prefix of keys for ops of every kind and mode. A History compares the answers
// to these ops with the log. It checks no invariants of single keys with this prefix.
const everyPrefix = "every:"

// A maker adds ops to a request.
type maker func(w *Workload, r *Request, rng *rand.Rand)

// makers cover all of Members. They are drawn in turn, so that a workload soon covers all.
var makers = append([]maker{
	(*Workload).eachAlgorithm, (*Workload).pair, (*Workload).stalePair, (*Workload).lookAtPair, (*Workload).needed,
	(*Workload).guarded, (*Workload).together, (*Workload).single, (*Workload).looking,
	op(engine.Take, engine.Partial), op(engine.Take, engine.Shadow), op(engine.Take, engine.Partial|engine.Shadow),
	op(engine.Take, 0),
	op(engine.Refund, engine.Fit), op(engine.Charge, engine.Fit), op(engine.Charge, engine.Partial), (*Workload).refund,
	(*Workload).settling,
	op(engine.Peek, 0), op(engine.Refund, 0), op(engine.Charge, 0), op(engine.Forget, 0), (*Workload).acquire,
	(*Workload).acquire, (*Workload).release,
	(*Workload).learn, (*Workload).forgetSources, (*Workload).flushDatabase, (*Workload).everyOnce,
}, append(reservationMakers, callMakers()...)...)

// every adds the ops of the next maker to a request.
func (w *Workload) every(r *Request, rng *rand.Rand) {
	if len(w.deck) == 0 {
		w.deck = rng.Perm(len(makers))
	}
	makers[w.deck[0]](w, r, rng)
	w.deck = w.deck[1:]
}

// Everything returns functions that make requests. For any seed of rng, the requests together cover
// all of Members except Watch and Expect. Known must be set before each call of a function.
func (w *Workload) Everything(rng *rand.Rand) (all []func() Request) {
	for _, make := range makers {
		all = append(all, func() (r Request) {
			make(w, &r, rng)
			r.Atomic = rng.IntN(4) == 0
			return r
		})
	}
	return all
}

// everyParams are the parameters that everyTake chooses from; each has two versions. An algorithm that
// the list does not name has a limit of 5.
var everyParams = withAll([]engine.Params{
	{Alg: engine.Token, Limit: 6, Count: 1, Period: int64(3 * time.Second)},
	{Alg: engine.Leaky, Limit: 4, Count: 1, Period: int64(time.Second)},
	{Alg: engine.Fixed, Limit: 8, Period: int64(20 * time.Second)}, {Alg: engine.Slide, Limit: 7,
		Period: int64(20 * time.Second)}, {Alg: engine.Log, Limit: 5, Period: int64(20 * time.Second)},
})

func withAll(params []engine.Params) []engine.Params {
	for alg := range engine.Algs() {
		if !alg.IsCounted() || slices.ContainsFunc(params, func(p engine.Params) bool { return p.Alg == alg }) {
			continue
		}
		p := engine.Params{Alg: alg, Limit: 5, Period: int64(20 * time.Second)}
		if alg.Usage().Period == engine.Rate {
			p.Count = 1
		}
		params = append(params, p)
	}
	return params
}

var (
	everyLease = engine.Params{Alg: engine.Lease, Limit: 3, Period: int64(20 * time.Second)}
	everyBox   = func() engine.Params {
		p := engine.Penalty{After: 2, Within: int64(30 * time.Second), Block: int64(5 * time.Second), Max: int64(time.Minute),
			Forgive: int64(time.Minute), Growth: 200}
		if err := p.Check(); err != nil {
			panic(err)
		}
		return p.Params()
	}()
)

// everyTake returns a Take on one of a few keys; some are in other databases.
func everyTake(rng *rand.Rand) engine.Op { return takeBy(everyParams[rng.IntN(len(everyParams))], rng) }

// takeBy is everyTake with parameters p.
func takeBy(p engine.Params, rng *rand.Rand) engine.Op {
	if rng.IntN(5) == 0 {
		p.Limit++ // use changed parameters of the key
	}
	return engine.Op{Key: fmt.Appendf(nil, "%s%v:%d", everyPrefix, p.Alg, rng.IntN(3)), DB: uint8(rng.IntN(6) / 5),
		N: 1 + rng.Int64N(3), Params: p}
}

func everyAcquire(rng *rand.Rand) engine.Op {
	return engine.Op{Kind: engine.Acquire, Key: fmt.Appendf(nil, "%slease:%d", everyPrefix, rng.IntN(2)), N: 1,
		Params: everyLease}
}

// group adds ops as a group.
func (r *Request) group(ops ...engine.Op) {
	ops[0].Group = uint8(len(ops))
	r.Ops = append(r.Ops, ops...)
}

// eachAlgorithm adds a Take by each algorithm.
func (w *Workload) eachAlgorithm(r *Request, rng *rand.Rand) {
	for _, p := range everyParams {
		r.Ops = append(r.Ops, takeBy(p, rng))
	}
}

// needs returns a Needs for the documents in w.Known.
func (w *Workload) needs() engine.Op {
	return engine.Op{Kind: engine.Needs, DB: uint8(engine.Rules), N: int64(w.Known.Documents)}
}

// pair adds the group of a request by rules with a limit.
func (w *Workload) pair(r *Request, rng *rand.Rand) {
	r.group(w.needs(), everyTake(rng))
	r.group(w.needs(), everyAcquire(rng))
}

func (w *Workload) stalePair(r *Request, rng *rand.Rand) {
	needs := w.needs()
	needs.N++
	r.group(needs, everyTake(rng))
}

func (w *Workload) lookAtPair(r *Request, rng *rand.Rand) {
	take := everyTake(rng)
	take.N = 0
	r.group(w.needs(), take)
}

// needed adds the group of a request by rules with several limits.
func (w *Workload) needed(r *Request, rng *rand.Rand) {
	ops := []engine.Op{w.needs(), everyTake(rng), everyAcquire(rng)}
	for range rng.IntN(4) {
		take := everyTake(rng)
		take.Mode = []engine.Mode{0, engine.Shadow, engine.AnyOf}[rng.IntN(3)]
		ops = append(ops, take)
	}
	r.group(ops...)
}

// guarded adds groups with a penalty. Most requests get a strike.
func (w *Workload) guarded(r *Request, rng *rand.Rand) {
	guard := engine.Op{Key: fmt.Appendf(nil, "%sbox:%d", everyPrefix, rng.IntN(2)), N: 1, Mode: engine.Guard,
		Params: everyBox}
	take := everyTake(rng)
	take.N += 4
	r.group(w.needs(), guard, take)
	r.group(guard, everyTake(rng), everyTake(rng))
}

// together adds a group as RL.ALL makes it, and a group that passes if one of two limits
// passes.
func (w *Workload) together(r *Request, rng *rand.Rand) {
	r.group(everyTake(rng), everyTake(rng), everyAcquire(rng))
	one, other, shadow := everyTake(rng), everyTake(rng), everyTake(rng)
	one.Mode, other.Mode, shadow.Mode = engine.AnyOf, engine.AnyOf, engine.Shadow
	r.group(one, other, shadow)
}

// single adds groups of a limit.
func (w *Workload) single(r *Request, rng *rand.Rand) {
	for _, mode := range []engine.Mode{engine.AnyOf, engine.Shadow} {
		take := everyTake(rng)
		take.Mode = mode
		r.group(take)
	}
}

func (w *Workload) looking(r *Request, rng *rand.Rand) {
	one, other := everyTake(rng), everyTake(rng)
	one.N, other.N = 0, 0
	other.LookFor(1 + rng.Int64N(3))
	r.group(one, other)
	r.Ops = append(r.Ops, engine.Op{Kind: engine.Acquire, Key: everyAcquire(rng).Key, Params: everyLease})
}

// refund adds a Refund with an age.
func (w *Workload) refund(r *Request, rng *rand.Rand) {
	back := engine.Op{Kind: engine.Refund, Mode: engine.Fit, N: 1 + rng.Int64N(3), Key: everyTake(rng).Key}
	back.SetAge(rng.Int64N(int64(20 * time.Second)))
	r.Ops = append(r.Ops, back)
}

// settling adds the group of a request by rules that settles.
func (w *Workload) settling(r *Request, rng *rand.Rand) {
	charge, back := everyTake(rng), everyTake(rng)
	charge.Kind, charge.Mode = engine.Charge, engine.Fit
	back.Kind, back.Mode = engine.Refund, engine.Fit
	r.group(w.needs(), charge, back, engine.Op{Kind: engine.Peek, Key: everyTake(rng).Key},
		engine.Op{Kind: engine.Release, Key: everyAcquire(rng).Key, ID: []byte("holder 0")})
}

// op returns a maker of single ops with this kind and mode.
func op(kind engine.Kind, mode engine.Mode) maker {
	return func(w *Workload, r *Request, rng *rand.Rand) {
		op := everyTake(rng)
		if op.Kind, op.Mode = kind, mode; kind != engine.Take && (kind != engine.Charge || rng.IntN(2) == 0) {
			op.Params = engine.Params{}
		}
		r.Ops = append(r.Ops, op)
	}
}

func (w *Workload) acquire(r *Request, rng *rand.Rand) { r.Ops = append(r.Ops, everyAcquire(rng)) }

// release adds a Release of the lease that was acquired last, if there is a lease.
func (w *Workload) release(r *Request, rng *rand.Rand) {
	r.Ops = append(r.Ops, engine.Op{Kind: engine.Release, Key: everyAcquire(rng).Key})
}

// learn adds a source that no script runs.
func (w *Workload) learn(r *Request, rng *rand.Rand) {
	r.Ops = append(r.Ops, engine.Op{Kind: engine.Learn, ID: fmt.Appendf(nil, "return %d", rng.IntN(20))})
}

func (w *Workload) forgetSources(r *Request, rng *rand.Rand) {
	r.Ops = append(r.Ops, engine.Op{Kind: engine.Learn, N: rng.Int64N(2)})
}

func (w *Workload) flushDatabase(r *Request, _ *rand.Rand) {
	r.Ops = append(r.Ops, engine.Op{Kind: engine.Flush, N: 1, DB: flushed})
}

// library is a library of functions.
const library = `#!lua name=every
redis.register_function('bump', function(keys, args) return redis.call('INCRBY', keys[1], args[1]) end)
redis.register_function{function_name='peep', callback=function(keys) return redis.call('GET', keys[1]) end, flags={'no-writes'}}`

// everyScripts take a key and a number.
var everyScripts = []*script{
	newScript(`return redis.call('RL.TOKEN', KEYS[1], 5, '1/s', ARGV[1])`),
	newScript(`redis.call('PUBLISH', 'every', ARGV[1]) return redis.call('HINCRBY', KEYS[1], 'n', ARGV[1])`),
	newScript(`return redis.call('RL.ALL', 'FIXED', KEYS[1] .. 'a', 5, '9s', 1, 'SLIDE', KEYS[1] .. 'b', 9, '9s', ARGV[1])`),
}

var everyLook = newScript(`return redis.call('GET', KEYS[1])`)

// everyArgs returns the arguments of a run.
func everyArgs(key string, rng *rand.Rand) [][]byte {
	return [][]byte{[]byte("1"), []byte(everyPrefix + key), strconv.AppendInt(nil, 1+rng.Int64N(3), 10)}
}

// runEvery adds a run of a script that some nodes may not have.
func (r *Request) runEvery(key string, s *script, modes scripts.Modes, rng *rand.Rand) {
	r.Ops = append(r.Ops, engine.Op{Kind: engine.Learn, ID: s.text})
	r.call(0, func(c *engine.Call) {
		scripts.SetRun(c, s.modes|modes, scripts.Steps(scripts.DefaultSteps), s.hash, everyArgs(key, rng))
	})
}

// callMakers returns a maker for each call. TestEverythingIsReplayed finds a call without a maker.
func callMakers() (all []maker) {
	for i := range datatypes.All() {
		if c := &datatypes.All()[i]; c.Name != "" {
			all = append(all, commandMaker(c))
		}
	}
	steps := scripts.Steps(scripts.DefaultSteps)
	for i, s := range everyScripts {
		all = append(all, func(_ *Workload, r *Request, rng *rand.Rand) { r.runEvery(fmt.Sprint("script:", i), s, 0, rng) })
	}
	hash := sha1.Sum([]byte("return 1"))
	known := hex.AppendEncode(nil, hash[:])
	for _, set := range []func(w *Workload, c *engine.Call, rng *rand.Rand){
		func(_ *Workload, c *engine.Call, _ *rand.Rand) { scripts.SetExists(c, [][]byte{known}) },
		func(_ *Workload, c *engine.Call, _ *rand.Rand) { scripts.SetName(c, known) },
		func(_ *Workload, c *engine.Call, _ *rand.Rand) { scripts.SetLoad(c, []byte(library), true) },
		func(_ *Workload, c *engine.Call, _ *rand.Rand) { scripts.SetLoad(c, []byte(library), true) },
		func(_ *Workload, c *engine.Call, _ *rand.Rand) { scripts.SetList(c, nil, true) },
		func(_ *Workload, c *engine.Call, _ *rand.Rand) { scripts.SetStats(c) },
		func(_ *Workload, c *engine.Call, rng *rand.Rand) {
			scripts.SetFunctionRun(c, scripts.Declared, steps, []byte("bump"), everyArgs("bumped", rng))
		},
		func(_ *Workload, c *engine.Call, rng *rand.Rand) {
			scripts.SetFunctionRun(c, scripts.Declared|scripts.Looks, steps, []byte("peep"), everyArgs("bumped", rng))
		},
		func(_ *Workload, c *engine.Call, _ *rand.Rand) { scripts.SetDelete(c, []byte("every")) },
		func(_ *Workload, c *engine.Call, _ *rand.Rand) { scripts.SetFlush(c) },
		func(w *Workload, c *engine.Call, rng *rand.Rand) {
			stored.SetLoad(c, w.Known.Rules, everyRules[rng.IntN(len(everyRules))], "user", "note")
		},
		func(_ *Workload, c *engine.Call, rng *rand.Rand) {
			stored.SetOverride(c, everyOverrides[rng.IntN(len(everyOverrides))], rng.Int64N(2)*30_000, "user")
		},
		func(_ *Workload, c *engine.Call, rng *rand.Rand) {
			stored.SetDropOverride(c, everyOverrides[rng.IntN(len(everyOverrides))])
		},
		func(_ *Workload, c *engine.Call, _ *rand.Rand) { stored.SetVersion(c) },
		func(_ *Workload, c *engine.Call, _ *rand.Rand) { stored.SetText(c, 0) },
		func(_ *Workload, c *engine.Call, _ *rand.Rand) { stored.SetHistory(c) },
		func(_ *Workload, c *engine.Call, _ *rand.Rand) { stored.SetGetOverride(c, everyOverrides[0]) },
		func(_ *Workload, c *engine.Call, _ *rand.Rand) { stored.SetListOverrides(c, []byte("every"), 0, 10) },
	} {
		all = append(all, func(w *Workload, r *Request, rng *rand.Rand) {
			r.call(0, func(c *engine.Call) { set(w, c, rng) })
		})
	}
	return append(all, func(_ *Workload, r *Request, rng *rand.Rand) { r.runEvery("s1", everyLook, scripts.Looks, rng) })
}

// commandMaker returns a maker of a command of datatypes, in one of two databases: with its lines, or
// with a shortest line.
func commandMaker(command *spec.Command) maker {
	all := lines[command.Name]
	if len(all) == 0 {
		all = []string{strings.Join(spectest.Words(command, "s1"), " ")}
	}
	return func(_ *Workload, r *Request, rng *rand.Rand) {
		args := strings.Fields(all[rng.IntN(len(all))])
		var c engine.Call
		command.SetCall(&c, words(args))
		keys, _ := calls.Commands.Keys(&c, nil)
		for _, k := range keys {
			args[k] = everyPrefix + args[k]
		}
		r.do(uint8(rng.IntN(4)/3), command.Name, args...)
	}
}

func words(args []string) (all [][]byte) {
	for _, arg := range args {
		all = append(all, []byte(arg))
	}
	return all
}

// everyRules are texts of rules.
var everyRules = func() (all []*stored.Prepared) {
	for i, limits := range []string{"5/minute", "[5/minute, 20/day]", "7/hour"} {
		p, err := live.Prepare([]source.File{{Name: "every.yaml",
			Text: []byte("domain: every\nrules:\n  - {name: calls, per: [user], limits: " + limits +
				"}\n---\n" + ruledRules[i])}})
		if err != nil {
			panic(err)
		}
		all = append(all, p)
	}
	return all
}()

// everyOverrides are overrides of each effect.
var everyOverrides = func() (all []*rules.Override) {
	for i, effect := range []rules.Effect{rules.Allow, rules.Deny, rules.Replace} {
		v := rules.Override{Domain: "every", Path: []rules.Attribute{{Key: "user", Value: fmt.Sprint(i)}}, Effect: effect}
		if effect == rules.Replace {
			v.Limit = "9/minute"
		}
		one, err := rules.NewOverride(v)
		if err != nil {
			panic(err)
		}
		all = append(all, one)
	}
	return all
}()
