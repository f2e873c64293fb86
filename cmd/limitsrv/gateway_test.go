package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"limitsrv/internal/respclient"
)

// asGateway in the environment of this test makes it a gateway: the addresses of the servers, the prefix of
// its ids, its number of streams, and a seed. It ends once its input ends.
const asGateway = "TEST_BINARY_AS_GATEWAY"

const (
	// quotaLimit is the limit of a quota, which all gateways use for quotaTime.
	quotaLimit = 400
	quotaTime  = 2 * time.Second
	// heldFor is the ttl of a reservation.
	heldFor = 3 * time.Second
	// patience bounds the time that a stream repeats a command without an answer.
	patience = 20 * time.Second
)

// A gateway has streams that reserve, extend, and commit or cancel; some die. It prints each step before it
// is sent, and each answer, so that the history of a gateway that is killed has all that may have happened.
type gateway struct {
	addresses []string
	mu        sync.Mutex // of the output
	over      chan struct{}
}

// runGateway runs a gateway as setting describes it.
func runGateway(setting string) {
	words := strings.Fields(setting)
	streams, err := strconv.Atoi(words[2])
	seed, wrong := strconv.ParseUint(words[3], 10, 64)
	if err = errors.Join(err, wrong); err != nil {
		panic(err)
	}
	g := &gateway{addresses: strings.Split(words[0], ","), over: make(chan struct{})}
	go func() {
		io.Copy(io.Discard, os.Stdin)
		close(g.over)
	}()
	var running sync.WaitGroup
	for i := range streams {
		running.Go(func() { g.streams(fmt.Sprintf("%s-%d", words[1], i), rand.New(rand.NewPCG(seed, uint64(i)))) })
	}
	running.Wait()
}

// print prints a line of the history.
func (g *gateway) print(words ...any) {
	g.mu.Lock()
	defer g.mu.Unlock()
	fmt.Println(words...)
}

// streams runs streams one after another.
func (g *gateway) streams(prefix string, rng *rand.Rand) {
	s := &stream{gateway: g, rng: rng}
	defer s.disconnect()
	for i := 0; ; i++ {
		select {
		case <-g.over:
			return
		default:
			s.run(fmt.Sprintf("%s-%d", prefix, i))
		}
	}
}

// A stream is the work of one client of a gateway.
type stream struct {
	*gateway
	rng *rand.Rand
	w   *wire
}

// run makes a reservation, and ends it.
func (s *stream) run(id string) {
	quota := time.Now().UnixNano() / int64(quotaTime)
	n := 1 + s.rng.Int64N(40)
	keep := s.rng.Int64N(n + 1)
	s.print("reserve", id, quota, n, keep)
	reply, again := s.repeat(fmt.Sprintf("RL.RESERVE %s %s KEEP %d FIXED quota:%d %d 3650d %d "+
		"LOG requests:%d 1000000 3650d =1", id, heldFor, keep, quota, quotaLimit, n, quota))
	list, _ := reply.([]any)
	switch {
	case len(list) < 3:
		s.print("error", id, strings.ReplaceAll(fmt.Sprint(reply), " ", "_"))
		return
	case list[0] != int64(1):
		if !again { // otherwise the first may still arrive
			s.print("refused", id)
		}
		s.pause(100)
		return
	}
	s.print("granted", id)
	total := n
	for range s.rng.IntN(3) {
		s.pause(200)
		by := s.rng.Int64N(2) * s.rng.Int64N(10)
		keep := s.rng.Int64N(n + 1)
		s.print("extend", id, by, keep)
		if list, _ := s.once(fmt.Sprintf("RL.EXTEND %s %s BY %d KEEP %d", id, heldFor, by, keep)).([]any); len(list) == 4 &&
			list[0] == int64(1) {
			total += by
			s.print("extended", id, by)
		}
	}
	s.pause(200)
	command := "RL.CANCEL " + id
	switch s.rng.IntN(10) {
	case 0: // it dies
		return
	case 1:
		s.print("cancel", id)
	case 2: // it is late
		time.Sleep(heldFor)
		fallthrough
	default:
		actual := max(0, total-s.rng.Int64N(4)) // so that quotas are used up
		if s.rng.IntN(10) == 0 {
			actual = s.rng.Int64N(total + 2)
		}
		s.print("commit", id, actual)
		command = fmt.Sprintf("RL.COMMIT %s %d", id, actual)
	}
	for range 1 + s.rng.IntN(2) { // an impatient client sends it again
		if reply, _ := s.repeat(command); reply != nil || s.w != nil {
			s.print("settled", id, strings.ReplaceAll(fmt.Sprint(reply), " ", "_"))
		}
	}
}

// pause waits for at most so many milliseconds.
func (s *stream) pause(most int) { time.Sleep(time.Duration(s.rng.IntN(most)) * time.Millisecond) }

func (s *stream) disconnect() {
	if s.w != nil {
		s.w.Close()
		s.w = nil
	}
}

// once sends a command, and returns its reply, or nil without a connection.
func (s *stream) once(command string) any {
	if s.w == nil {
		w, err := wireWithin(s.addresses[s.rng.IntN(len(s.addresses))], patience)
		if err != nil {
			return nil
		}
		s.w = w
	}
	replies, err := s.w.all(command)
	if err != nil {
		s.w = nil
		return nil
	}
	return replies[0]
}

// repeat sends a command until it is answered with more than that it can not be decided, and reports
// whether it was sent again. Without an answer it returns nil, and has no connection.
func (s *stream) repeat(command string) (reply any, again bool) {
	for begin := time.Now(); time.Since(begin) < patience; again = true {
		reply = s.once(command)
		if s.w == nil {
			time.Sleep(50 * time.Millisecond)
			continue
		}
		text, failed := reply.(respclient.Error)
		code, _, _ := strings.Cut(string(text), " ")
		if !failed || !strings.Contains(" UNCERTAIN CLUSTERDOWN LOADING MISCONF TRYAGAIN ", " "+code+" ") {
			return reply, again
		}
		s.disconnect() // another node may know more
		time.Sleep(50 * time.Millisecond)
	}
	s.disconnect()
	return nil, again
}

// A heldHistory has the acts of gateways, by id.
type heldHistory struct {
	mu     sync.Mutex
	all    map[string]*heldByGateway
	faults []string
}

// A heldByGateway is a reservation as the gateways know it.
type heldByGateway struct {
	quota           int64
	n               int64 // reserved, and extended by, as answers say
	granted         bool
	refused         bool
	keeps           []int64 // each KEEP that was sent
	commits         bool
	cancels         bool
	actual          int64
	settled, ending bool // by an answer: committed, or canceled; expired before it was canceled
	late            bool
}

// read reads the output of a gateway.
func (h *heldHistory) read(output io.Reader) {
	for lines := bufio.NewScanner(output); lines.Scan(); {
		words := strings.Fields(lines.Text())
		numbers := make([]int64, len(words))
		for i, word := range words {
			numbers[i], _ = strconv.ParseInt(word, 10, 64)
		}
		if len(words) > 1 {
			h.mu.Lock()
			h.note(words, numbers)
			h.mu.Unlock()
		}
	}
}

// note notes a line.
func (h *heldHistory) note(words []string, numbers []int64) {
	if words[0] == "reserve" {
		h.all[words[1]] = &heldByGateway{quota: numbers[2], n: numbers[3], keeps: numbers[4:5]}
		return
	}
	x := h.all[words[1]]
	switch words[0] {
	case "granted":
		x.granted = true
	case "refused":
		x.refused = true
	case "extend":
		x.keeps = append(x.keeps, numbers[3])
	case "extended":
		x.n += numbers[2]
	case "commit":
		x.commits, x.actual = true, numbers[2]
	case "cancel":
		x.cancels = true
	case "settled":
		h.settle(words[1], x, words[2])
	case "error":
		if !strings.HasPrefix(words[2], "BUSYKEY") && words[2] != "<nil>" {
			h.faults = append(h.faults, fmt.Sprintf("the reservation %s is answered %s", words[1], words[2]))
		}
	}
}

// settle notes the answer to a settlement, which must be its own.
func (h *heldHistory) settle(id string, x *heldByGateway, answer string) {
	was := x.settled
	switch {
	case x.commits && answer == fmt.Sprintf("[1_committed_%d_0]", x.actual):
		x.settled = true
	case x.commits && answer == fmt.Sprintf("[1_late_%d_0]", x.actual) && !was:
		x.settled, x.late = true, true
	case x.cancels && answer == "[1_canceled_0_0]":
		x.settled = true
	case x.cancels && strings.HasPrefix(answer, "[0_expired_") && !was:
		x.ending = true
	default:
		h.faults = append(h.faults, fmt.Sprintf("the settlement of %s is answered %s: %+v", id, answer, *x))
	}
}

// bounds are the numbers of permits that the reservations of a quota may use, and the most that settlements
// may have charged above its limit.
type bounds struct{ least, most, beyond, leastRequests, mostRequests int64 }

// bounds returns the bounds by quota.
func (h *heldHistory) bounds() map[int64]*bounds {
	all := map[int64]*bounds{}
	for _, x := range h.all {
		b := all[x.quota]
		if b == nil {
			b = &bounds{}
			all[x.quota] = b
		}
		x.add(b)
	}
	return all
}

// add adds a reservation. Late, the kept permits count also if fewer were used.
func (x *heldByGateway) add(b *bounds) {
	least, most := slices.Min(x.keeps), slices.Max(x.keeps)
	switch {
	case x.refused, x.settled && x.cancels:
		return
	case x.late:
		least, most = max(least, x.actual), max(most, x.actual)
	case x.settled:
		least, most = x.actual, x.actual
	case !x.granted, x.cancels && !x.ending:
		least = 0
	case x.commits:
		least, most = min(least, x.actual), max(most, x.actual)
	}
	b.least, b.most = b.least+least, b.most+most
	if x.commits {
		b.beyond += x.actual // it may have been late
		if x.settled && !x.late {
			b.beyond -= min(x.actual, x.n)
		}
	}
	b.mostRequests++
	if x.granted && (!x.cancels || x.ending) {
		b.leastRequests++
	}
}
