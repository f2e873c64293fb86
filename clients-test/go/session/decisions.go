package session

// Do sends a command and returns its reply, nil for the protocol's null.
type Do func(args ...any) (any, error)

// With returns the cases of a client: connect, the common cases of single commands sent by
// do, and further cases.
func With(connect Case, do Do, others ...Case) []Case {
	cases := []Case{
		connect,
		{"decide-token", do.token}, {"decide-leaky", do.leaky}, {"decide-fixed", do.fixed},
		{"decide-slide", do.slide}, {"decide-log", do.log}, {"acquire-release", do.acquire},
		{"all", do.all}, {"peek-refund-charge", do.peek}, {"errors", do.errors}, {"wrongtype", do.wrongType},
	}
	return append(cases, others...)
}

func (do Do) token() {
	Got(do("RL.TOKEN", "token", 10, "10/h")).Want(Fresh)
	Got(do("RL.TOKEN", "token", 10, "10/h", 9)).Want(L{1, 10, 0, 0, Lately(3_600_000)})
	Got(do("RL.TOKEN", "token", 10, "10/h")).Want(L{0, 10, 0, Lately(360_000), Lately(3_600_000)})
	Got(do("RL.TOKEN", "token", 10, "10/h", 11)).Want(L{0, 10, 0, -1, Lately(3_600_000)})
}

func (do Do) leaky() {
	Got(do("RL.LEAKY", "leaky", 2, "2/h")).Want(L{1, 2, 1, 0, 1_800_000})
	Got(do("RL.LEAKY", "leaky", 2, "2/h")).Want(L{1, 2, 0, Lately(1_800_000), Lately(3_600_000)})
	Got(do("RL.LEAKY", "leaky", 2, "2/h")).Want(L{0, 2, 0, Lately(1_800_000), Lately(3_600_000)})
}

func (do Do) fixed() {
	first := Got(do("RL.FIXED", "fixed", 2, "year"))
	first.Want(L{1, 2, 1, 0, Range{1, 31_622_400_000}})
	second := Got(do("RL.FIXED", "fixed", 2, "year", 2))
	left := Lately(first.At(4))
	second.Want(L{0, 2, 1, left, left})
	second.Want(L{0, 2, 1, int(second.At(4)), left})
}

func (do Do) slide() {
	first := Got(do("RL.SLIDE", "slide", 2, "365d"))
	first.Want(L{1, 2, 1, 0, Range{1, 63_072_000_000}})
	reset := first.At(4)
	Got(do("RL.SLIDE", "slide", 2, "365d", 2)).Want(L{0, 2, 1, Range{1, reset}, Lately(reset)})
}

func (do Do) log() {
	hour := Lately(3_600_000)
	Got(do("RL.LOG", "log", 2, "1h")).Want(L{1, 2, 1, 0, 3_600_000})
	Got(do("RL.LOG", "log", 2, "1h", 2)).Want(L{0, 2, 1, hour, hour})
	Got(do("RL.LOG", "log", 2, "1h", 2, "PARTIAL")).Want(L{1, 2, 0, 0, hour})
	Got(do("RL.LOG", "log", 2, "1h", 1, "SHADOW")).Want(L{1, 2, 0, hour, hour})
}

func (do Do) acquire() {
	Got(do("RL.ACQUIRE", "places", 1, "1h", "a")).Want(L{1, 1, 0, 0, 3_600_000})
	Got(do("RL.ACQUIRE", "places", 1, "1h", "b")).Want(L{0, 1, 0, Lately(3_600_000), Lately(3_600_000)})
	Got(do("RL.RELEASE", "places", "a")).Want(1)
	Got(do("RL.RELEASE", "places", "a")).Want(0)
	Got(do("RL.ACQUIRE", "places", 1, "1h", "b")).Want(L{1, 1, 0, 0, 3_600_000})
}

func (do Do) all() {
	group := []any{"RL.ALL", "TOKEN", "all:user", 10, "10/h", 1, "LOG", "all:ip", 1, "1h", 1}
	Got(do(group...)).Want(L{1, 1, Fresh, L{1, 1, 0, 0, 3_600_000}})
	Got(do(group...)).Want(L{0, 1,
		L{1, 10, 9, 0, Lately(360_000)},
		L{0, 1, 0, Lately(3_600_000), Lately(3_600_000)}})
}

func (do Do) peek() {
	Got(do("RL.PEEK", "peek")).Want(nil)
	Got(do("RL.REFUND", "peek", 1)).Want(nil)
	Got(do("RL.CHARGE", "peek", 1)).Want(nil)
	Got(do("RL.TOKEN", "peek", 10, "10/h", 4)).Want(L{1, 10, 6, 0, 1_440_000})
	Got(do("RL.PEEK", "peek")).Want(L{"TOKEN", 10, 6, 0, Lately(1_440_000)})
	Got(do("RL.REFUND", "peek", 2)).Want(L{1, 10, 8, 0, Lately(720_000)})
	Got(do("RL.CHARGE", "peek", 10)).Want(L{1, 10, 0, Lately(720_000), Lately(4_320_000)})
	Got(do("RL.RESET", "peek")).Want(1)
}

func (do Do) errors() {
	Got(do("RL.NOSUCH", "k")).WantError("ERR unknown command 'RL.NOSUCH', with args beginning with: 'k'")
	Got(do("RL.TOKEN", "k")).WantError(ErrArguments)
	Got(do("RL.TOKEN", "k", -1, 1)).WantError("ERR capacity must be a whole number from 0 to 1000000000000, got '-1'")
	Got(do("PING")).Want("PONG")
}

func (do Do) wrongType() {
	Got(do("RL.TOKEN", "type", 10, "10/h")).Want(Fresh)
	Got(do("RL.FIXED", "type", 10, 60)).WantError("WRONGTYPE")
}

// WantPiped fails unless a reply is the i-th of a pipeline of 100 times RL.TOKEN with
// 50 50/h.
func WantPiped(i int, r Reply) {
	hour := Range{0, 3_600_000}
	if i < 50 {
		r.Want(L{1, 50, 49 - i, 0, hour})
	} else {
		r.Want(L{0, 50, 0, Lately(72_000), hour})
	}
}

// BinaryKeys are keys with arbitrary bytes.
var BinaryKeys = []string{everyByte(), "a\r\nb", "\x00"}

func everyByte() string {
	var all [256]byte
	for i := range all {
		all[i] = byte(i)
	}
	return string(all[:])
}

// ClusterKeys are keys in different slots: CRC16 differs if only the last byte differs.
var ClusterKeys = clusterKeys()

func clusterKeys() (keys []string) {
	for c := 'A'; len(keys) < 32; c++ {
		keys = append(keys, "cluster:"+string(c))
	}
	return keys
}
