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

	"limitsrv/internal/testing/testwait"
)

const (
	testSecret   = "correct horse battery staple"
	secondSecret = "tr0ub4dor & 3 and some more"
)

// secretFile writes a file of cluster secrets.
func secretFile(t *testing.T, lines ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "secrets")
	rewriteConfig(t, file, strings.Join(lines, "\n"))
	return file
}

// A permitLoad takes permits from nodes continuously, and counts error replies.
type permitLoad struct {
	clusterDown, uncertain, decided atomic.Int64
	stopped                         chan struct{}
	wait                            sync.WaitGroup
}

func startPermitLoad(addresses []string) *permitLoad {
	l := &permitLoad{stopped: make(chan struct{})}
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
				time.Sleep(5 * time.Millisecond) // the node is restarting
			}
		})
	}
	return l
}

func (l *permitLoad) answered(reply any) {
	switch {
	case isError(reply, "CLUSTERDOWN"):
		l.clusterDown.Add(1)
	case isError(reply, "UNCERTAIN"):
		l.uncertain.Add(1)
	default:
		l.decided.Add(1)
	}
}

// awaitDecisions waits until further decisions are made.
func (l *permitLoad) awaitDecisions(t *testing.T) {
	t.Helper()
	before := l.decided.Load()
	until(t, "permits are granted", func() bool { return l.decided.Load() >= before+30 })
}

func (l *permitLoad) stop() {
	close(l.stopped)
	l.wait.Wait()
}

// Three nodes under load change from no secret to a secret, and to another secret, without
// ever losing the majority.
func TestClusterSecretRolls(t *testing.T) {
	testwait.Long(t)
	var raft, files, dirs, clients []string
	for range 3 {
		raft, clients = append(raft, freeAddress(t)), append(clients, freeAddress(t))
		files, dirs = append(files, secretFile(t, "none", testSecret)), append(dirs, t.TempDir())
	}
	nodes := make([]*running, 3)
	start := func(i int, more ...string) {
		t.Helper()
		nodes[i] = launchAt(t, clients[i], append([]string{"--data", dirs[i], "--raft", raft[i], "--peers",
			strings.Join(raft, ","), "--election-timeout", "4s"}, more...)...)
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
			return err == nil && strings.HasPrefix(fmt.Sprint(replies[0]), "[1 ") &&
				strings.Count(fmt.Sprint(replies[1]), "\n") == 3
		})
	}
	for i := range nodes {
		start(i)
	}
	for i := range nodes {
		follows(i)
	}
	l := startPermitLoad(clients)
	defer func() { l.stop() }()
	for i := range nodes {
		nodes[i].end(t)
		start(i, "--cluster-secret-file", files[i])
		follows(i)
		l.awaitDecisions(t)
	}
	if down := l.clusterDown.Load(); down > 0 {
		t.Errorf("%d requests without a majority while nodes were restarted", down)
	}
	w := wired(t, clients[0])
	if by := w.info(t, "raft_links"); by != "secret-or-open" {
		t.Errorf("links are %q, want secret-or-open", by)
	}
	until(t, "it is warned of",
		func() bool { return strings.Contains(nodes[0].logged(), "links without a cluster secret are accepted") })
	term, uncertain := w.info(t, "raft_term"), l.uncertain.Load()
	for step, lines := range [][]string{{testSecret, "none"}, {testSecret}, {testSecret, secondSecret},
		{secondSecret, testSecret}, {secondSecret}} {
		for i, r := range nodes {
			rewriteConfig(t, files[i], strings.Join(lines, "\n"))
			if step%2 == 0 { // otherwise the change is detected
				r.hangUp(t, "cluster secrets have changed", step+1)
			}
			until(t, "the file is reloaded",
				func() bool { return strings.Count(r.logged(), "cluster secrets have changed") > step })
			l.awaitDecisions(t)
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
		t.Errorf("%d requests without a majority and %d uncertain while secrets changed", down, doubts)
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

// A host without the secret gets no information from the port, and many such hosts do not
// block a node.
func TestClusterSecretRejectsUnknownHosts(t *testing.T) {
	file, raft := secretFile(t, testSecret), freeAddress(t)
	node, w := joined(t, "--cluster-secret-file", file, "--data", t.TempDir(), "--raft", raft, "--peers", raft)
	w.do(t, "RL.FIXED k 10 3650d 4")
	if reply := fmt.Sprint(w.do(t, "CONFIG GET *secret*")); strings.Contains(reply, "horse") {
		t.Errorf("CONFIG GET = %s", reply)
	}
	for name, args := range map[string][]string{
		"no secret":      nil,
		"another secret": {"--cluster-secret", secondSecret},
	} {
		r := serve(t, append(args, "--data", t.TempDir(), "--raft", freeAddress(t), "--join", raft)...)
		until(t, "a node with "+name+" is rejected", func() bool { return strings.Contains(r.logged(), "refused") })
		unknown := wired(t, r.address)
		for _, command := range []string{"RL.PEEK k", "FLUSHALL", "CLUSTER FORGET " + raft} {
			if reply := fmt.Sprint(unknown.do(t, command)); strings.Contains(reply, "FIXED") || reply == "OK" {
				t.Errorf("%s at a node with %s = %s", command, name, reply)
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
	for kind := range byte(4) { // greetings with valid ids, but without a secret
		body := slices.Concat([]byte{kind}, cluster, make([]byte, 19), []byte{1}, id, []byte("127.0.0.1:9"))
		answer := replyOf(t, raft, append([]byte{'L', 'I', 'M', 'I', 'T', 'S', 'R', 'V', 2, 1, 0, byte(len(body))}, body...))
		if strings.Contains(answer, string(cluster)) || strings.Contains(answer, string(id)) ||
			!strings.Contains(answer, "requires proof") {
			t.Errorf("reply to a greeting of kind %d = %q", kind, answer)
		}
	}
	for range 300 { // connections that send nothing or half a greeting
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
	rejected := func() int { return strings.Count(node.logged(), "refused a link") }
	until(t, "rejected links are logged", func() bool { return rejected() >= 2 })
	if lines := rejected(); lines > 4 {
		t.Errorf("rejected links are logged %d times, want once for each reason\n%s", lines, node.logged())
	}
	if w.info(t, "raft_refused_links") == "0" {
		t.Error("rejected links are not counted")
	}
}

// replyOf returns all bytes that a port sends after some bytes.
func replyOf(t *testing.T, address string, sent []byte) string {
	t.Helper()
	conn := dial(t, "tcp", address)
	conn.Write(sent)
	conn.(*net.TCPConn).CloseWrite()
	answer, _ := io.ReadAll(conn)
	return string(answer)
}

// A corruptingProxy forwards connections, and changes a byte of each while enabled.
type corruptingProxy struct {
	net.Listener
	meddles atomic.Bool
}

func startCorruptingProxy(t *testing.T, target string) *corruptingProxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	m := &corruptingProxy{Listener: listener}
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

// carry forwards bytes; after the greeting it may change a byte.
func (m *corruptingProxy) carry(from, to net.Conn) {
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

// Changed bytes between two nodes are detected and end the link; the next link works.
func TestClusterSecretDetectsCorruption(t *testing.T) {
	file := secretFile(t, testSecret)
	var inside, outside []string
	var meddlers []*corruptingProxy
	for range 2 {
		at := freeAddress(t)
		m := startCorruptingProxy(t, at)
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
	if got := reply[2].(int64); got > int64(left) { // fewer if a reply was uncertain
		t.Errorf("%d permits remain, want at most %d", got, left)
	}
}

// A node with the same secret in its environment can join, and the secret is never shown.
func TestClusterSecretInEnvironment(t *testing.T) {
	out, log, code := runs(t, limitsrv([]string{"LIMITSRV_CLUSTER_SECRET=" + testSecret}, "config", "show", "--raft",
		"127.0.0.1:1", "--data", "d", "--join", "127.0.0.1:2"))
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
