package forward

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"limitsrv/engine"
	"limitsrv/engine/answer"
	"limitsrv/internal/testing/testwait"
	"limitsrv/persist"
	"limitsrv/replication/link"
)

// testParams are parameters of several algorithms.
var testParams = []engine.Params{
	{},
	{Alg: engine.Token, Limit: 10, Count: 1, Period: 1e9},
	{Alg: engine.Leaky, Limit: engine.MaxLimit, Count: 1, Period: engine.MaxRatePeriod},
	{Alg: engine.Fixed, Calendar: engine.Month, Limit: 1},
	{Alg: engine.Lease, Limit: engine.MaxListed, Period: engine.MaxPeriod},
}

// randomBatch returns a batch with decisions of any kind.
func randomBatch(r *rand.Rand) *engine.Batch {
	var b engine.Batch
	number := func() int64 {
		return []int64{0, 1, -1, 17, engine.MaxN, math.MaxInt64, math.MinInt64, r.Int64()}[r.IntN(8)]
	}
	span := func() engine.Span {
		return []engine.Span{{}, engine.Never, {Millis: math.MaxInt64, Nanos: maxNanos},
			{Millis: r.Int64N(1e6), Nanos: r.Int64N(1e6)}}[r.IntN(4)]
	}
	params := func() engine.Params { return testParams[r.IntN(len(testParams))] }
	for range r.IntN(20) {
		if r.IntN(4) == 0 {
			c := b.AddCall(0)
			c.Answer = randomAnswer(r, c.Answer, 3)
			b.Decisions = append(b.Decisions,
				engine.Decision{Status: engine.Status(r.IntN(2)) * engine.Aborted, Changed: r.IntN(2) == 0})
			continue
		}
		b.Ops = append(b.Ops, engine.Op{Params: params()})
		b.Decisions = append(b.Decisions, engine.Decision{
			Status: engine.Status(r.IntN(int(engine.Aborted) + 1)), Changed: r.IntN(2) == 0, Params: params(),
			Allowed: number(), Remaining: number(), Wait: span(), Reset: span(),
		})
	}
	return &b
}

// randomAnswer appends an answer with up to depth values around a value.
func randomAnswer(r *rand.Rand, dst []byte, depth int) []byte {
	n := r.IntN(5)
	switch kind := r.IntN(6); {
	case kind == 0:
		return answer.AppendNil(dst)
	case kind == 1:
		return answer.AppendInt(dst, r.Int64()-1<<62)
	case kind == 2 || depth == 0:
		return answer.AppendBulk(dst, make([]byte, r.IntN(200)))
	case kind == 3:
		dst = answer.AppendMap(dst, n)
		n *= 2
	default:
		dst = answer.AppendArray(dst, n)
	}
	for range n {
		dst = randomAnswer(r, dst, depth-1)
	}
	return dst
}

// readAnswerTo reads a frame that answers a batch.
func readAnswerTo(frame []byte, b *engine.Batch) (seq uint64, failed, err error) {
	seq, rest, err := answerNumber(frame[link.FrameHead:])
	if err != nil {
		return seq, nil, err
	}
	failed, err = readBatchAnswer(rest, b)
	return seq, failed, err
}

func TestAnswersRoundTrip(t *testing.T) {
	seed := testwait.Seed(t)
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 2000 {
		b, number := randomBatch(r), r.Uint64()>>r.IntN(64)
		frame := appendBatchAnswer(nil, number, b, nil)
		got := engine.Batch{Ops: b.Ops, Calls: make([]engine.Call, len(b.Calls))}
		seq, failed, err := readAnswerTo(frame, &got)
		if err != nil || failed != nil || seq != number {
			t.Fatalf("answer %d is read as %d, %v, %v", number, seq, failed, err)
		}
		if len(b.Decisions) > 0 && !reflect.DeepEqual(got.Decisions, b.Decisions) {
			t.Fatalf("decisions\n got %+v\nwant %+v", got.Decisions, b.Decisions)
		}
		for i := range b.Ops {
			if b.Ops[i].Kind != engine.Do || b.Decisions[i].Status != engine.OK {
				continue
			}
			if n := b.Ops[i].N; !bytes.Equal(got.Calls[n].Answer, b.Calls[n].Answer) {
				t.Fatalf("answer of call %d is %x, want %x", n, got.Calls[n].Answer, b.Calls[n].Answer)
			}
		}
		for cut := link.FrameHead; cut < len(frame); cut++ {
			if _, _, err := readAnswerTo(frame[:cut], &got); err == nil {
				t.Fatalf("the first %d bytes of %d are an answer", cut, len(frame))
			}
		}
		if _, _, err := readAnswerTo(append(frame, 0), &got); err == nil {
			t.Fatal("an answer with a byte behind it is one")
		}
	}
}

func TestAnswersSize(t *testing.T) {
	params := testParams[1]
	b := engine.Batch{
		Ops: []engine.Op{{Params: params}, {}, {}},
		Decisions: []engine.Decision{{Changed: true, Params: params, Allowed: 1, Remaining: 9,
			Reset: engine.Span{Millis: 1000}}, {Params: params}, {Params: params}},
	}
	sizes := make([]int, 3)
	for i := range sizes {
		sizes[i] = len(appendDecisions(nil, &engine.Batch{Ops: b.Ops[:i+1], Decisions: b.Decisions[:i+1]}))
	}
	if want := []int{6, 6 + 12, 6 + 12 + 3}; !reflect.DeepEqual(sizes, want) {
		t.Errorf("sizes are %v, want %v", sizes, want)
	}
}

func TestAnswersOfErrors(t *testing.T) {
	for _, tt := range []struct {
		name   string
		failed error
		is     error
		code   string
		text   string
	}{
		{"not accepted", fmt.Errorf("not the leader: %w", ErrNotAccepted), ErrNotAccepted, "", ErrNotAccepted.Error()},
		{"uncertain", fmt.Errorf("stepped down: %w", persist.ErrUncertain), persist.ErrUncertain, "UNCERTAIN",
			"the decision may or may not have been applied"},
		{"coded", fmt.Errorf("wrapped: %w", link.NewError("MISCONF", "disk")), nil, "MISCONF", "disk"},
		{"another", errors.New("a text"), nil, "", "a text"},
		{"long", errors.New(strings.Repeat("x", 2*maxText)), nil, "", strings.Repeat("x", maxText)},
	} {
		b := engine.Batch{Ops: make([]engine.Op, 3), Decisions: make([]engine.Decision, 1)}
		seq, failed, err := readAnswerTo(appendBatchAnswer(nil, 300, &b, tt.failed), &b)
		if seq != 300 || err != nil || failed == nil || len(b.Decisions) > 0 {
			t.Fatalf("%s: %d, %v, %v, %d decisions", tt.name, seq, failed, err, len(b.Decisions))
		}
		code := ""
		var coded interface{ Code() string }
		if errors.As(failed, &coded) {
			code = coded.Code()
		}
		if code != tt.code || failed.Error() != tt.text || tt.is != nil && !errors.Is(failed, tt.is) {
			t.Errorf("%s: %q %q, want %q %q", tt.name, code, failed, tt.code, tt.text)
		}
	}
}

func TestAnswersOutOfRange(t *testing.T) {
	for _, tt := range []struct{ name, answer, want string }{
		{"as good as it gets", "\x00\xc4\x02\x02", ""},
		{"an invalid status", "\x00\xc5\x02\x02", "status 5"},
		{"parameters of no algorithm", "\x00\xf0\x09\x00\x01\x01\x01\x02\x02", "unknown algorithm 9"},
		{"a wait before now", "\x00\x80\x02\x02\x03\x00", "span of -2 ms"},
		{"a million nanoseconds", "\x00\x80\x02\x02\x02\xc0\x84\x3d", "1000000 ns"},
		{"a text that is not there", "\x03\x05ERR", "5 bytes"},
		{"an answer to no call", "\x00\x07\x01\x00", "no call"},
	} {
		b := engine.Batch{Ops: make([]engine.Op, 1)}
		_, err := readBatchAnswer([]byte(tt.answer), &b)
		if (err == nil) != (tt.want == "") || !strings.Contains(fmt.Sprint(err), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

// TestAnswersOfCalls: bytes that are no answer are refused, because a connection would panic
// on them.
func TestAnswersOfCalls(t *testing.T) {
	deep := bytes.Repeat([]byte{byte(answer.Array), 1}, answer.MaxDepth)
	for _, tt := range []struct {
		name, answer string
		ok           bool
	}{
		{"a status", string(answer.OK), true},
		{"values in values", "\x09\x02\x03\x02\x0a\x01\x00\x01", true},
		{"values as deep as they may be", string(deep) + "\x00", true},
		{"no bytes", "", false}, // the client would wait for a reply
		{"two values", "\x00\x00", false},
		{"an unknown kind", "\x10", false},
		{"an array without its values", "\x09\x02\x00", false},
		{"a text that ends early", "\x05\x04abc", false},
		{"values too deep", "\x09\x01" + string(deep) + "\x00", false},
	} {
		var b engine.Batch
		b.AddCall(0)
		data := append([]byte{answerDecisions, decisionAnswer, byte(len(tt.answer))}, tt.answer...)
		failed, err := readBatchAnswer(data, &b)
		switch {
		case failed != nil || (err == nil) != tt.ok:
			t.Errorf("%s: %v, %v", tt.name, failed, err)
		case tt.ok && string(b.Calls[0].Answer) != tt.answer:
			t.Errorf("%s: %x is read as %x", tt.name, tt.answer, b.Calls[0].Answer)
		case !tt.ok && (!strings.Contains(err.Error(), "no value") || len(b.Decisions) > 0):
			t.Errorf("%s: %v, and %d decisions", tt.name, err, len(b.Decisions))
		}
	}
}

// TestCallsWithoutAnswer: a decision on a call that was carried out has an answer.
func TestCallsWithoutAnswer(t *testing.T) {
	var b engine.Batch
	b.AddCall(0)
	const noSpans = decisionNoWait | decisionNoReset
	for status, want := range map[engine.Status]string{engine.OK: "without an answer", engine.Aborted: "<nil>"} {
		_, err := readBatchAnswer([]byte{answerDecisions, noSpans | byte(status), 0, 0}, &b)
		if !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("a call of status %d: %v, want %q", status, err, want)
		}
	}
}

// fuzzedBatch returns a batch of two limits with a call between them.
func fuzzedBatch() (b engine.Batch) {
	b.Ops = append(b.Ops, engine.Op{Params: testParams[1]})
	b.AddCall(0)
	b.Ops = append(b.Ops, engine.Op{Params: testParams[2]})
	return b
}

// FuzzAnswers reads any bytes as an answer to a batch of three ops, and renders the call's
// answer.
func FuzzAnswers(f *testing.F) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 20 {
		b := fuzzedBatch()
		b.Calls[0].Answer = randomAnswer(r, nil, 3)
		b.Decisions = make([]engine.Decision, len(b.Ops))
		if others := randomBatch(r); len(others.Ops) > 0 && others.Ops[0].Kind != engine.Do {
			b.Decisions[0] = others.Decisions[0]
		}
		f.Add(appendBatchAnswer(nil, 1, &b, nil)[link.FrameHead:])
	}
	f.Add(appendBatchAnswer(nil, 1, nil, link.NewError("MISCONF", "disk"))[link.FrameHead:])
	f.Add(appendBatchAnswer(nil, 1, nil, ErrNotAccepted)[link.FrameHead:])
	f.Fuzz(func(t *testing.T, data []byte) {
		_, rest, err := answerNumber(data)
		if err != nil {
			return
		}
		b := fuzzedBatch()
		failed, err := readBatchAnswer(rest, &b)
		if err != nil || failed != nil {
			return
		}
		answers := [2][]byte{}
		if b.Decisions[1].Status == engine.OK {
			answers[0] = b.Calls[0].Answer
			answer.AppendTo(nil, answers[0], answer.RESP2)
			answer.AppendTo(nil, answers[0], answer.RESP3)
		}
		again := fuzzedBatch()
		frame := appendBatchAnswer(nil, 1, &b, nil)
		_, _, err = readAnswerTo(frame, &again)
		if again.Decisions[1].Status == engine.OK {
			answers[1] = again.Calls[0].Answer
		}
		if err != nil || !reflect.DeepEqual(again.Decisions, b.Decisions) || !bytes.Equal(answers[0], answers[1]) {
			t.Errorf("%x is %+v, %x, and written and read again %+v, %x, %v", data, b.Decisions, answers[0], again.Decisions,
				answers[1], err)
		}
		if !bytes.Equal(rest[:1], frame[link.FrameHead+1:link.FrameHead+2]) {
			t.Errorf("%x is written as %x", data, frame)
		}
	})
}

// TestLongAnswers: answers that fit no frame are an error, which says that the batch was
// applied.
func TestLongAnswers(t *testing.T) {
	var b engine.Batch
	for range 3 {
		b.AddCall(0).Answer = answer.AppendBulk(nil, make([]byte, 16<<20))
	}
	b.Decisions = make([]engine.Decision, 3)
	got := engine.Batch{Ops: b.Ops, Calls: make([]engine.Call, 3)}
	_, failed, err := readAnswerTo(appendBatchAnswer(nil, 1, &b, nil), &got)
	if err != nil || failed == nil || !strings.Contains(failed.Error(), "the request was applied") {
		t.Errorf("three answers of 16 MB: %v, %v", failed, err)
	}
	limit := appendBatchAnswer(nil, 1, &engine.Batch{Ops: b.Ops[:1], Calls: b.Calls, Decisions: b.Decisions[:1]}, nil)
	got = engine.Batch{Ops: []engine.Op{{}}}
	if _, _, err := readAnswerTo(limit, &got); err == nil || !strings.Contains(err.Error(), "no call") {
		t.Errorf("an answer to a limit: %v", err)
	}
}
