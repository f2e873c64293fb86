package main

import (
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const (
	testSecret   = "correct horse battery staple"
	secondSecret = "tr0ub4dor & 3 and some more"
)

// secretFile makes a file of cluster secrets.
func secretFile(t *testing.T, lines ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "secrets")
	rewriteConfig(t, file, strings.Join(lines, "\n"))
	return file
}

// A demand asks a node for permits all the time, and counts the answers that are none.
type demand struct {
	clusterDown, uncertain, decided atomic.Int64
	stopped                         chan struct{}
	wait                            sync.WaitGroup
}

func startDemand(addresses []string) *demand {
	l := &demand{stopped: make(chan struct{})}
	for _, address := range addresses {
		l.wait.Go(func() {
			for {
				select {
				case <-l.stopped:
					return
				default:
				}
				w, err := wireWithin(address, 6*wait)
				for n := 0; err == nil && n < 100; n++ {
					var replies []any
					if replies, err = w.all("RL.FIXED load 1000000000 3650d"); err == nil {
						l.answered(replies[0])
					}
					time.Sleep(time.Millisecond)
				}
				if w != nil {
					w.Close()
				}
				time.Sleep(5 * time.Millisecond) // of a node that restarts
			}
		})
	}
	return l
}

func (l *demand) answered(reply any) {
	switch {
	case isError(reply, "CLUSTERDOWN"):
		l.clusterDown.Add(1)
	case isError(reply, "UNCERTAIN"):
		l.uncertain.Add(1)
	default:
		l.decided.Add(1)
	}
}

// moves waits until some more was decided.
func (l *demand) moves(t *testing.T) {
	t.Helper()
	before := l.decided.Load()
	until(t, "permits are given", func() bool { return l.decided.Load() >= before+30 })
}

func (l *demand) stop() {
	close(l.stopped)
	l.wait.Wait()
}

// Three nodes under load go from no secret to one, and on to another, and no majority is
// ever lost.
func TestClusterSecretRolls(t *testing.T) {
	var raft, files, dirs, clients []string
	for range 3 {
		raft, clients = append(raft, freeAddress(t)), append(clients, freeAddress(t))
		files, dirs = append(files, secretFile(t, "none", testSecret)), append(dirs, t.TempDir())
	}
	nodes := make([]*running, 3)
	start := func(i int, more ...string) {
		t.Helper()
		nodes[i] = launchAt(t, clients[i], append([]string{"--data", dirs[i], "--raft", raft[i], "--peers", strings.Join(raft, ","), "--election-timeout", "2s"}, more...)...)
	}
	follows := func(i int) {
		t.Helper()
		await(t, "it is a member again", func() bool {
			w, err := wireWithin(clients[i], 6*wait)
			if err != nil {
				return false
			}
			defer w.Close()
			replies, err := w.all("RL.FIXED ready 1000000000 3650d", "CLUSTER NODES")
			return err == nil && strings.HasPrefix(fmt.Sprint(replies[0]), "[1 ") && strings.Count(fmt.Sprint(replies[1]), "\n") == 3
		})
	}
	for i := range nodes {
		start(i)
	}
	for i := range nodes {
		follows(i)
	}
	l := startDemand(clients)
	defer func() { l.stop() }()
	for i := range nodes {
		nodes[i].end(t)
		start(i, "--cluster-secret-file", files[i])
		follows(i)
		l.moves(t)
	}
	if down := l.clusterDown.Load(); down > 0 {
		t.Errorf("%d requests found no majority while nodes were restarted", down)
	}
	w := wired(t, clients[0])
	if by := w.info(t, "raft_links"); by != "secret-or-open" {
		t.Errorf("links are %q, want secret-or-open", by)
	}
	until(t, "it is warned of", func() bool { return strings.Contains(nodes[0].logged(), "links without a cluster secret are accepted") })
	term, uncertain := w.info(t, "raft_term"), l.uncertain.Load()
	for step, lines := range [][]string{{testSecret, "none"}, {testSecret}, {testSecret, secondSecret}, {secondSecret, testSecret}, {secondSecret}} {
		for i, r := range nodes {
			rewriteConfig(t, files[i], strings.Join(lines, "\n"))
			if step%2 == 0 { // else it is found by itself
				r.hangUp(t, "cluster secrets have changed", step+1)
			}
			until(t, "the file is read again", func() bool { return strings.Count(r.logged(), "cluster secrets have changed") > step })
			l.moves(t)
		}
	}
	await(t, "old links are closed", func() bool {
		return slices.ContainsFunc(nodes, func(r *running) bool {
			return strings.Contains(r.logged(), "links made with a former cluster secret were closed")
		})
	})
	for i := range nodes {
		follows(i)
	}
	if down, doubts := l.clusterDown.Load(), l.uncertain.Load()-uncertain; down > 0 || doubts > 0 {
		t.Errorf("%d requests found no majority, %d were uncertain, while secrets changed", down, doubts)
	}
	if after := w.info(t, "raft_term"); after != term {
		t.Errorf("the term went from %s to %s while secrets changed", term, after)
	}
	if by := w.info(t, "raft_links"); by != "secret" {
		t.Errorf("links are %q, want secret", by)
	}
	for _, r := range nodes {
		if strings.Contains(r.logged(), "horse") || strings.Contains(r.logged(), "tr0ub") {
			t.Errorf("the log has a secret\n%s", r.logged())
		}
	}
}

// A stranger that reaches the port learns nothing, and a crowd of them keeps no node out.
func TestClusterSecretStranger(t *testing.T) {
	file, raft := secretFile(t, testSecret), freeAddress(t)
	node, w := joined(t, "--cluster-secret-file", file, "--data", t.TempDir(), "--raft", raft, "--peers", raft)
	w.do(t, "RL.FIXED k 10 3650d 4")
	if reply := fmt.Sprint(w.do(t, "CONFIG GET *secret*")); strings.Contains(reply, "horse") {
		t.Errorf("CONFIG GET tells %s", reply)
	}
	for name, args := range map[string][]string{
		"no secret":      nil,
		"another secret": {"--cluster-secret", secondSecret},
	} {
		r := serve(t, append(args, "--data", t.TempDir(), "--raft", freeAddress(t), "--join", raft)...)
		until(t, "a stranger with "+name+" is refused", func() bool { return strings.Contains(r.logged(), "refused") })
		stranger := wired(t, r.address)
		for _, command := range []string{"RL.PEEK k", "FLUSHALL", "CLUSTER FORGET " + raft} {
			if reply := fmt.Sprint(stranger.do(t, command)); strings.Contains(reply, "FIXED") || reply == "OK" {
				t.Errorf("%s of a stranger with %s is answered %s", command, name, reply)
			}
		}
	}
	cluster, err := hex.DecodeString(w.info(t, "raft_cluster_id"))
	if err != nil {
		t.Fatal(err)
	}
	id, err := hex.DecodeString(w.info(t, "raft_node_id"))
	if err != nil {
		t.Fatal(err)
	}
	for kind := range byte(4) { // greetings without a secret, that know the ids
		body := slices.Concat([]byte{kind}, cluster, make([]byte, 19), []byte{1}, id, []byte("127.0.0.1:9"))
		answer := toldBy(t, raft, append([]byte{'L', 'I', 'M', 'I', 'T', 'S', 'R', 'V', 2, 1, 0, byte(len(body))}, body...))
		if strings.Contains(answer, string(cluster)) || strings.Contains(answer, string(id)) || !strings.Contains(answer, "requires proof") {
			t.Errorf("a greeting of kind %d is answered %q", kind, answer)
		}
	}
	for range 300 { // which say nothing, or not all
		conn := dial(t, "tcp", raft)
		io.WriteString(conn, "LIMITSRV\x02")
	}
	if nodes := strings.Count(fmt.Sprint(w.do(t, "CLUSTER NODES")), "\n"); nodes != 1 {
		t.Errorf("there are %d nodes", nodes)
	}
	_, second := joined(t, "--cluster-secret", testSecret, "--data", t.TempDir(), "--raft", freeAddress(t), "--join", raft)
	if got := fmt.Sprint(second.do(t, "RL.FIXED k 10 3650d 6")); !strings.HasPrefix(got, "[1 10 0 ") {
		t.Errorf("the key is %v, want 0 left of 10", got)
	}
	if lines := strings.Count(node.logged(), "refused a link"); lines < 2 || lines > 4 {
		t.Errorf("refused links are logged %d times, want once for each reason\n%s", lines, node.logged())
	}
	if w.info(t, "raft_refused_links") == "0" {
		t.Error("refused links are not counted")
	}
}

// toldBy is all that a port answers to some bytes.
func toldBy(t *testing.T, address string, sent []byte) string {
	t.Helper()
	conn := dial(t, "tcp", address)
	conn.Write(sent)
	conn.(*net.TCPConn).CloseWrite()
	answer, _ := io.ReadAll(conn)
	return string(answer)
}

// A meddler passes on connections, and changes a byte of each when it is told to.
type meddler struct {
	net.Listener
	meddles atomic.Bool
}

func meddle(t *testing.T, target string) *meddler {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	m := &meddler{Listener: listener}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial("tcp", target)
			if err != nil {
				conn.Close()
				continue
			}
			go m.carry(conn, to)
			go m.carry(to, conn)
		}
	}()
	return m
}

// carry passes on what comes; behind the greeting it may change a byte.
func (m *meddler) carry(from, to net.Conn) {
	defer from.Close()
	defer to.Close()
	buffer, passed := make([]byte, 4096), 0
	for {
		n, err := from.Read(buffer)
		if passed > 400 && n > 0 && m.meddles.CompareAndSwap(true, false) {
			buffer[n-1] ^= 1
		}
		passed += n
		if _, failed := to.Write(buffer[:n]); failed != nil || err != nil {
			return
		}
	}
}

// Bytes that are changed between two nodes are found, and end the link; the next goes on.
func TestClusterSecretMeddler(t *testing.T) {
	file := secretFile(t, testSecret)
	var inside, outside []string
	var meddlers []*meddler
	for range 2 {
		at := freeAddress(t)
		m := meddle(t, at)
		inside, outside, meddlers = append(inside, at), append(outside, m.Addr().String()), append(meddlers, m)
	}
	args := func(i int) []string {
		return []string{"--cluster-secret-file", file, "--data", t.TempDir(), "--raft", outside[i], "--raft-bind", inside[i],
			"--peers", strings.Join(outside, ","), "--election-timeout", "1s"}
	}
	one := serve(t, args(0)...)
	two, w := joined(t, args(1)...)
	found := func() int {
		return strings.Count(one.logged()+two.logged(), "failed authentication")
	}
	defer func() {
		if t.Failed() {
			t.Logf("one:\n%s\ntwo:\n%s", one.logged(), two.logged())
		}
	}()
	left := 1000
	for _, m := range meddlers {
		m.meddles.Store(true)
	}
	await(t, "a changed byte is found", func() bool {
		if reply := fmt.Sprint(w.do(t, "RL.FIXED k 1000 3650d")); strings.HasPrefix(reply, "[1 ") {
			left--
		}
		return found() > 0
	})
	await(t, "it goes on", func() bool {
		return strings.HasPrefix(fmt.Sprint(w.do(t, "RL.FIXED k 1000 3650d 0")), "[1 ")
	})
	reply, ok := w.do(t, "RL.PEEK k").([]any)
	if !ok || len(reply) < 3 {
		t.Fatalf("the key is %v", reply)
	}
	if got := reply[2].(int64); got > int64(left) { // less where an answer was uncertain
		t.Errorf("%d are left, at most %d may be", got, left)
	}
}

// A node that is given the same secret in its environment is let in, and nothing shows it.
func TestClusterSecretInEnvironment(t *testing.T) {
	out, log, code := runs(t, limitsrv([]string{"LIMITSRV_CLUSTER_SECRET=" + testSecret}, "config", "show", "--raft", "127.0.0.1:1", "--data", "d", "--join", "127.0.0.1:2"))
	if code != exitOK || strings.Contains(out+log, "horse") || !strings.Contains(out, "LIMITSRV_CLUSTER_SECRET") {
		t.Errorf("exit %d, %s%s", code, out, log)
	}
	file := secretFile(t, testSecret)
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	raft := freeAddress(t)
	r := serve(t, "--cluster-secret-file", file, "--data", t.TempDir(), "--raft", raft, "--peers", raft)
	until(t, "it is warned of", func() bool {
		return strings.Contains(r.logged(), "everybody on this machine may read the cluster secrets")
	})
}
