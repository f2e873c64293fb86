package main

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
)

// redisBenchmark runs redis-benchmark against s: n requests of l, with uniform keys. It
// uses a single thread, which generates 1.2 million requests a second; with several,
// redis-benchmark checks only every 250 ms whether it is done, and includes that time.
func redisBenchmark(ctx context.Context, s *side, l load, n int) (outcome, error) {
	host, port, err := net.SplitHostPort(s.address)
	if err != nil {
		return outcome{}, err
	}
	args := []string{
		"-h", host, "-p", port, "--precision", "3", "-n", strconv.Itoa(n),
		"-c", strconv.Itoa(l.connections), "-P", strconv.Itoa(l.pipeline), "-r", strconv.Itoa(l.keys),
	}
	command := exec.CommandContext(ctx, "redis-benchmark", append(args, s.commands[l.algorithm]...)...)
	command.SysProcAttr = killWithParent()
	out, err := command.CombinedOutput()
	if err != nil {
		return outcome{}, fmt.Errorf("redis-benchmark against %s: %w: %s", s.name, err, lastLine(string(out)))
	}
	o, err := parseRedisBenchmark(string(out))
	o.decisions = int64(n)
	return o, err
}

// parseRedisBenchmark parses the report that redis-benchmark prints without --csv.
// Unlike the CSV it has a quantile beyond 99 %.
func parseRedisBenchmark(report string) (outcome, error) {
	var o outcome
	lines := strings.Split(report, "\n")
	for i, line := range lines {
		var err error
		fields := strings.Fields(line)
		switch {
		case strings.Contains(line, "throughput summary:"):
			o.perSecond, err = strconv.ParseFloat(fields[2], 64)
		case strings.Contains(line, "p99") && i+1 < len(lines):
			values := strings.Fields(lines[i+1])
			if o.p50, err = parseColumn(fields, values, "p50"); err == nil {
				o.p99, err = parseColumn(fields, values, "p99")
			}
		case o.p999 == 0 && strings.Contains(line, "% <= "):
			o.p999, err = parseBeyond(fields, 99.9)
		}
		if err != nil {
			return outcome{}, fmt.Errorf("redis-benchmark: line %q: %w", line, err)
		}
	}
	if o.perSecond <= 0 || o.p50 <= 0 || o.p99 <= 0 || o.p999 <= 0 {
		return outcome{}, fmt.Errorf("redis-benchmark: incomplete report: %q", report)
	}
	return o, nil
}

// parseColumn parses a column of the latency summary by its name.
func parseColumn(names, values []string, name string) (time.Duration, error) {
	at := slices.Index(names, name)
	if at < 0 || at >= len(values) {
		return 0, fmt.Errorf("no value for %s", name)
	}
	return parseMillis(values[at])
}

// parseBeyond parses a line "99.902% <= 1.495 milliseconds ..." of the latency
// distribution. It returns 0 if its share is below percent.
func parseBeyond(fields []string, percent float64) (time.Duration, error) {
	share, err := strconv.ParseFloat(strings.TrimSuffix(fields[0], "%"), 64)
	if err != nil || share < percent {
		return 0, err
	}
	return parseMillis(fields[2])
}

// parseMillis parses milliseconds with decimals.
func parseMillis(text string) (time.Duration, error) {
	millis, err := strconv.ParseFloat(text, 64)
	return time.Duration(millis * float64(time.Millisecond)), err
}
