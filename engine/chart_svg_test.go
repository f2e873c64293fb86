package engine_test

import (
	"fmt"
	"strings"
)

const (
	chartLeft    = 64
	chartWidth   = 720
	chartPerTick = 10 // units for each second
)

// A chart is an SVG picture under construction: a command, its result, and lines over a
// minute.
type chart struct {
	command, result string
	body            strings.Builder
}

func newChart(command, result string) *chart {
	return &chart{command: command, result: result}
}

// x is the place of a time, in units with one decimal.
func chartX(at int64) string {
	tenths := chartLeft*10 + at*chartPerTick*10/second
	return fmt.Sprintf("%d.%d", tenths/10, tenths%10)
}

func (c *chart) line(class string, from, y1, to, y2 int64) {
	fmt.Fprintf(&c.body, `<path class="%s" d="M%s %dL%s %d"/>`+"\n", class, chartX(from), y1, chartX(to), y2)
}

// label writes at the left of the picture.
func (c *chart) label(y int64, text string) {
	fmt.Fprintf(&c.body, `<text x="%d" y="%d" text-anchor="end">%s</text>`+"\n", chartLeft-8, y, text)
}

// note writes at the right of a time.
func (c *chart) note(at, y int64, text string) {
	fmt.Fprintf(&c.body, `<text x="%s" y="%d" dx="6">%s</text>`+"\n", chartX(at), y, text)
}

// windows marks the start of each window.
func (c *chart) windows(each, top, bottom int64) {
	for at := int64(0); at <= chartSpan; at += each {
		c.line("window", at, top-6, at, bottom+6)
	}
}

// steps draws a value that was sampled every chartSample.
func (c *chart) steps(samples []int64, y func(int64) int64) {
	fmt.Fprintf(&c.body, `<path class="remaining" d="M%s %d`, chartX(0), y(samples[0]))
	for i := 1; i < len(samples); i++ {
		if samples[i] != samples[i-1] || i == len(samples)-1 {
			fmt.Fprintf(&c.body, "H%sV%d", chartX(int64(i)*chartSample), y(samples[i]))
		}
	}
	c.body.WriteString(`"/>` + "\n")
}

// ticks draws a stroke for each time.
func (c *chart) ticks(class string, y, height int64, at []int64) {
	if len(at) == 0 {
		return
	}
	fmt.Fprintf(&c.body, `<path class="%s" d="`, class)
	for _, each := range at {
		fmt.Fprintf(&c.body, "M%s %dv%d", chartX(each), y, height)
	}
	c.body.WriteString(`"/>` + "\n")
}

func (c *chart) bar(class string, from, to, y, height int64) {
	fmt.Fprintf(&c.body, `<path class="%s" d="M%s %dH%sv%dH%sz"/>`+"\n", class, chartX(from), y, chartX(to), height,
		chartX(from))
}

const chartStyle = `text{font:11px sans-serif;fill:#57606a}.title{font:600 13px monospace;fill:#1f2328}
path{fill:none;stroke-width:1.5}.frame{fill:#fff;stroke:#d0d7de;stroke-width:1}.grid{stroke:#eaeef2;stroke-width:1}.window{stroke:#afb8c1;stroke-dasharray:3 3;stroke-width:1}
.remaining{stroke:#0969da}.allowed{stroke:#1a7f37;stroke-width:2}.leaves{stroke:#8250df;stroke-width:2}.denied{stroke:#cf222e;stroke-width:2}
.held{fill:#1a7f37}.expires{fill:#eac54f}`

// end draws the axis of time at y, and returns the picture.
func (c *chart) end(y int64) string {
	c.line("window", 0, y, chartSpan, y)
	for at := int64(0); at <= chartSpan; at += 10 * second {
		fmt.Fprintf(&c.body, `<text x="%s" y="%d" text-anchor="middle">%d s</text>`+"\n", chartX(at), y+15, at/second)
	}
	height := y + 26
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-label="%s: %s">
<style>%s</style>
<rect class="frame" x=".5" y=".5" width="%d" height="%d" rx="6"/>
<text class="title" x="16" y="24">%s</text>
<text x="%d" y="24" text-anchor="end">%s</text>
%s</svg>
`, chartWidth, height, chartWidth, height, c.command, c.result, chartStyle, chartWidth-1, height-1, c.command,
		chartWidth-16, c.result, c.body.String())
}
