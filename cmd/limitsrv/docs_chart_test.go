package main

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// measuredChart is the README's picture of figures in docs/measured.md.
const measuredChart = root + "docs/measured.svg"

// measuredRow matches the rows of docs/measured.md with the speed of token buckets: the pipeline,
// and decisions per second of limitsrv and of Redis.
var measuredRow = regexp.MustCompile(`(?m)^\| token, uniform, 50 conn, pipeline (\d+) \|[^|]*\|[^|]*\| ([\d.]+) ([kM])/s,[^|]*\| ([\d.]+) ([kM])/s,`)

// TestMeasuredChart requires the picture to show the figures of docs/measured.md. With -rewrite it
// writes the picture.
func TestMeasuredChart(t *testing.T) {
	rows := measuredRow.FindAllStringSubmatch(readPage(t, "docs/measured.md"), 6)
	if len(rows) < 3 {
		t.Fatalf("docs/measured.md has %d rows of token buckets, want 3 or more", len(rows))
	}
	want := drawMeasured(rows[:3])
	if rewrite.Value.String() == "true" {
		if err := os.WriteFile(measuredChart, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(measuredChart); err != nil || string(got) != want {
		t.Errorf("%s does not show the figures of docs/measured.md (%v): go test ./cmd/limitsrv -run %s -rewrite",
			measuredChart, err, t.Name())
	}
}

// drawMeasured draws a bar for each of the two speeds of the rows.
func drawMeasured(rows [][]string) string {
	const (
		width, height = 720, 212
		left, scale   = 190, 400 // scale is the length of the longest bar
		title         = "Decisions per second on two cores: token buckets, 50 connections"
	)
	speed := func(number, unit string) float64 {
		n, _ := strconv.ParseFloat(number, 64)
		return n * map[string]float64{"k": 1e3, "M": 1e6}[unit]
	}
	fastest := 1.0
	for _, r := range rows {
		fastest = max(fastest, speed(r[2], r[3]), speed(r[4], r[5]))
	}
	var b strings.Builder
	for i, r := range rows {
		y := 46 + 54*i
		load := "pipelines of " + r[1]
		if r[1] == "1" {
			load = "one request at a time"
		}
		fmt.Fprintf(&b, `<text x="16" y="%d">%s</text>`+"\n", y+25, load)
		for j, who := range []string{"limitsrv", "redis"} {
			number, unit := r[2+2*j], r[3+2*j]
			length := scale * speed(number, unit) / fastest
			fmt.Fprintf(&b, `<rect class="%s" x="%d" y="%d" width="%.1f" height="18" rx="2"/>`+"\n", who, left, y+20*j, length)
			fmt.Fprintf(&b, `<text x="%.1f" y="%d">%s %s/s %s</text>`+"\n",
				left+length+8, y+20*j+13, number, unit, []string{"limitsrv", "Redis with Lua"}[j])
		}
	}
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %[1]d %[2]d" width="%[1]d" height="%[2]d" role="img" aria-label="%[5]s">
<style>text{font:12px sans-serif;fill:#57606a}.title{font:600 13px sans-serif;fill:#1f2328}
.frame{fill:#fff;stroke:#d0d7de}.limitsrv{fill:#0969da}.redis{fill:#afb8c1}</style>
<rect class="frame" x=".5" y=".5" width="%[3]d" height="%[4]d" rx="6"/>
<text class="title" x="16" y="26">%[5]s</text>
%[6]s</svg>
`, width, height, width-1, height-1, title, b.String())
}
