package scripts

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"limitsrv/commands/datatypes"
	"limitsrv/engine"
	"limitsrv/engine/answer"
	"limitsrv/engine/values/numbers"
)

const (
	notInt      = "ERR value is not an integer or out of range"
	syntaxError = "ERR syntax error"
)

// selectCommand is SELECT. It holds until the end of the run.
func selectCommand(m *machine, out []byte) []byte {
	switch n, ok := numbers.ParseInt(m.words[1]); {
	case !ok:
		return answer.AppendError(out, notInt)
	case n != int64(int32(n)):
		return answer.AppendError(out, "ERR "+datatypes.NotInt32)
	case n < 0 || n >= engine.Databases:
		return answer.AppendError(out, "ERR "+datatypes.DBRange)
	default:
		m.tx.Select(uint8(n))
		return answer.AppendStatus(out, "OK")
	}
}

// infoSections are the sections of INFO in scripts. They depend only on the state that all nodes
// share, and on the time of the run.
var infoSections = []struct {
	name  string
	write func(m *machine, text []byte) []byte
}{
	{"Server", func(m *machine, text []byte) []byte {
		return fmt.Appendf(text, "redis_version:%s\r\nserver_time_usec:%d\r\n", redisVersion, m.tx.Micros())
	}},
	{"Replication", func(_ *machine, text []byte) []byte { return append(text, "role:master\r\n"...) }},
	{"Keyspace", infoKeyspace},
}

// infoCommand is INFO. Sections that scripts do not have are empty.
func infoCommand(m *machine, out []byte) []byte {
	var text []byte
	for _, section := range infoSections {
		if !isAsked(section.name, m.words[1:]) {
			continue
		}
		if len(text) > 0 {
			text = append(text, "\r\n"...)
		}
		text = section.write(m, fmt.Appendf(text, "# %s\r\n", section.name))
	}
	m.st.PrepayMemory(len(text))
	return answer.AppendVerbatim(out, "txt", text)
}

// isAsked reports whether the arguments of INFO ask for a section.
func isAsked(section string, args [][]byte) bool {
	return len(args) == 0 || slices.ContainsFunc(args, func(arg []byte) bool {
		return slices.ContainsFunc([]string{section, "default", "all", "everything"},
			func(name string) bool { return strings.EqualFold(name, string(arg)) })
	})
}

// infoKeyspace writes the numbers of keys of all databases. Each key costs a step.
func infoKeyspace(m *machine, text []byte) []byte {
	var keys, lasting [engine.Databases]int64
	steps, left := int64(0), m.st.StepsLeft()
	m.tx.EachKey(func(db uint8, _ []byte, _ engine.Alg, lasts bool) bool {
		steps++
		keys[db]++
		if lasts {
			lasting[db]++
		}
		return steps <= left
	})
	m.st.Charge(int(steps))
	for db, n := range keys {
		if n > 0 {
			text = fmt.Appendf(text, "db%d:keys=%d,expires=%d,avg_ttl=0\r\n", db, n, n-lasting[db])
		}
	}
	return text
}

const (
	// usageSamples is the default of the option SAMPLES.
	usageSamples = 5
	// elementBytes is about the memory of an element of a collection besides its bytes. elementSteps
	// is the number of steps for a look at an element.
	elementBytes = 8
	elementSteps = 4
)

// memoryCommand is MEMORY USAGE. The answer is an estimate that depends only on the contents of the
// key: nodes differ in the memory that they use.
func memoryCommand(m *machine, out []byte) []byte {
	switch {
	case !strings.EqualFold(string(m.words[1]), "USAGE"):
		return answer.AppendError(out, unknownCommand)
	case len(m.words) == 2:
		return answer.AppendError(out, wrongArity)
	}
	samples := int64(usageSamples)
	for options := m.words[3:]; len(options) > 0; options = options[2:] {
		if len(options) == 1 || !strings.EqualFold(string(options[0]), "SAMPLES") {
			return answer.AppendError(out, syntaxError)
		}
		ok := false
		switch samples, ok = numbers.ParseInt(options[1]); {
		case !ok:
			return answer.AppendError(out, notInt)
		case samples < 0:
			return answer.AppendError(out, syntaxError)
		case samples == 0:
			samples = math.MaxInt64
		}
	}
	key := m.words[2]
	if n := len(key); n == 0 || n > engine.MaxKeyBytes {
		return datatypes.AppendWrongKey(out, n)
	}
	e, there := m.tx.Find(key)
	if !there {
		return answer.AppendNil(out)
	}
	return answer.AppendInt(out, m.tx.Size(e)+m.elementsSize(e, samples))
}

// elementsSize returns about the memory of the elements of a collection in bytes, from the first
// elements, 0 for other keys. An element that is looked at costs elementSteps.
func (m *machine) elementsSize(e engine.Entry, samples int64) int64 {
	count, next := m.elementsOf(e)
	if count == 0 {
		return 0
	}
	n := min(samples, int64(count))
	m.st.Charge(int(elementSteps * n))
	bytes := int64(0)
	for range n {
		bytes += next()
	}
	return bytes * int64(count) / n
}

// elementsOf returns the number of elements of a collection and a function for the size of the next
// element; 0 for a key that is no collection.
func (m *machine) elementsOf(e engine.Entry) (count int, next func() (bytes int64)) {
	switch e.Alg() {
	case engine.Hash:
		h := m.tx.Hash(e)
		walk := h.Walk()
		return h.Count, func() int64 {
			field, v, _ := walk.Next()
			return int64(2*elementBytes + field.Len() + v.Len())
		}
	case engine.List:
		l := m.tx.List(e)
		walk := l.Walk(0)
		return l.Count, func() int64 {
			v, _ := walk.Next()
			return int64(elementBytes + v.Len())
		}
	case engine.Set:
		t := m.tx.Set(e)
		walk := t.Walk()
		return t.Count, func() int64 {
			v, _ := walk.Next()
			return int64(elementBytes + v.Len())
		}
	case engine.SortedSet:
		z := m.tx.SortedSet(e)
		walk := z.Walk(0)
		return z.Count, func() int64 {
			v, _, _ := walk.Next()
			return int64(2*elementBytes + v.Len())
		}
	}
	return 0, nil
}

func timeNow(m *machine, out []byte) []byte {
	micros := m.tx.Micros()
	var b [20]byte
	out = answer.AppendArray(out, 2)
	out = answer.AppendBulk(out, strconv.AppendInt(b[:0], micros/1e6, 10))
	return answer.AppendBulk(out, strconv.AppendInt(b[:0], micros%1e6, 10))
}

// wait answers WAIT at once: 0 nodes have the writes of the run, because they are in no log yet.
func wait(m *machine, out []byte) []byte {
	if _, ok := numbers.ParseInt(m.words[1]); !ok {
		return answer.AppendError(out, notInt)
	}
	switch timeout, ok := numbers.ParseInt(m.words[2]); {
	case !ok:
		return answer.AppendError(out, "ERR timeout is not an integer or out of range")
	case timeout < 0:
		return answer.AppendError(out, "ERR timeout is negative")
	}
	return answer.AppendInt(out, 0)
}

func echo(m *machine, out []byte) []byte { return answer.AppendBulk(out, m.words[1]) }

func ping(m *machine, out []byte) []byte {
	if len(m.words) > 1 {
		return answer.AppendBulk(out, m.words[1])
	}
	return answer.AppendStatus(out, "PONG")
}
