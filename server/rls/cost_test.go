package rls

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	service "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"

	"limitsrv/commands/auth"
	"limitsrv/commands/rules"
	"limitsrv/commands/rules/checks"
	"limitsrv/commands/session"
)

// costEnv makes the test binary a server for BenchmarkCost.
const costEnv = "LIMITSRV_RLS_COST"

// constant is a Decider with one answer.
type constant struct{ answer *checks.Answer }

func (constant) Settle(context.Context, session.Call) (out session.Settled, err error) {
	return out, err
}

func (d constant) CountFailure(session.Protocol) {}

func (d constant) Check(_ context.Context, _ session.Call, _ *checks.Request, answer func(*checks.Answer)) error {
	answer(d.answer)
	return nil
}

func (d constant) Domain(string) *rules.Domain { return nil }

// trivial is a server with generated code that answers a constant.
type trivial struct {
	service.UnimplementedRateLimitServiceServer
	out *service.RateLimitResponse
}

func (s *trivial) ShouldRateLimit(context.Context, *service.RateLimitRequest) (*service.RateLimitResponse, error) {
	return s.out, nil
}

// costServer serves one kind on a free port, which it writes, and answers each line of its
// input with the CPU time that it has used, in nanoseconds.
func costServer(kind string) error {
	d := constant{answered(true)}
	var at net.Addr
	if kind == "trivial" {
		c := newCall(Config{}.Options)
		c.request, c.form = new(checks.Request), c.writer.Append
		c.onAnswer(d.answer)
		out := new(service.RateLimitResponse)
		if err := proto.Unmarshal(c.response, out); err != nil {
			return err
		}
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		at = ln.Addr()
		g := grpc.NewServer()
		service.RegisterRateLimitServiceServer(g, &trivial{out: out})
		go g.Serve(ln)
	} else {
		s, err := New(Config{GRPC: "127.0.0.1:0", Decider: d, Logins: auth.New(auth.Config{})})
		if err != nil {
			return err
		}
		at = s.GRPCAddr()
		go s.Serve()
	}
	fmt.Println("listening", at)
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var used syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
			return err
		}
		fmt.Println("used", used.Utime.Nano()+used.Stime.Nano())
	}
	return nil
}

// TestMain runs the tests, or a server for BenchmarkCost.
func TestMain(m *testing.M) {
	if kind := os.Getenv(costEnv); kind != "" {
		if err := costServer(kind); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// A process is a running costServer.
type process struct {
	in      io.WriteCloser
	answers *bufio.Scanner
	address string
}

func startCost(b *testing.B, kind string) *process {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), costEnv+"="+kind)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		in.Close()
		cmd.Wait()
	})
	p := &process{in: in, answers: bufio.NewScanner(out)}
	p.address = p.read(b, "listening ")
	return p
}

// read returns the rest of the next line.
func (p *process) read(b *testing.B, prefix string) string {
	b.Helper()
	if !p.answers.Scan() || !strings.HasPrefix(p.answers.Text(), prefix) {
		b.Fatalf("the server writes %q, %v", p.answers.Text(), p.answers.Err())
	}
	return strings.TrimPrefix(p.answers.Text(), prefix)
}

// used returns the CPU time used so far, in nanoseconds.
func (p *process) used(b *testing.B) (nanos int64) {
	b.Helper()
	fmt.Fprintln(p.in)
	if _, err := fmt.Sscan(p.read(b, "used "), &nanos); err != nil {
		b.Fatal(err)
	}
	return nanos
}

// BenchmarkCost measures the CPU time of a call in a process of its own, ours beside a
// server with generated code, over 4 connections with 16 calls at once each. Runs alternate,
// because only the ratio within a run means something on a busy machine.
func BenchmarkCost(b *testing.B) {
	kinds := []string{"ours", "trivial"}
	servers := make([]*process, len(kinds))
	clients := make([][]service.RateLimitServiceClient, len(kinds))
	for i, kind := range kinds {
		servers[i] = startCost(b, kind)
		for range 4 {
			conn, err := grpc.NewClient(servers[i].address, grpc.WithTransportCredentials(insecure.NewCredentials()))
			if err != nil {
				b.Fatal(err)
			}
			defer conn.Close()
			clients[i] = append(clients[i], service.NewRateLimitServiceClient(conn))
		}
		load(b, clients[i], 2048)
	}
	const slice = 4096
	used, calls := make([]int64, len(kinds)), 0
	for b.Loop() {
		for i := range kinds {
			before := servers[i].used(b)
			load(b, clients[i], slice)
			used[i] += servers[i].used(b) - before
		}
		calls += slice
	}
	for i, kind := range kinds {
		b.ReportMetric(float64(used[i])/float64(calls)/1000, kind+"-us/call")
	}
	b.ReportMetric(float64(used[0])/float64(used[1]), "ratio")
}

// load makes calls on all clients at once, 16 on each.
func load(b *testing.B, clients []service.RateLimitServiceClient, calls int) {
	var running sync.WaitGroup
	in := asks("api", "path", "/cart")
	each := calls / len(clients) / 16
	for _, client := range clients {
		for range 16 {
			running.Go(func() {
				for range each {
					if _, err := client.ShouldRateLimit(context.Background(), in); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
	}
	running.Wait()
}
