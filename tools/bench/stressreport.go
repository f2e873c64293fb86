package main

import (
	"fmt"
	"strings"
	"time"
)

// stressLegend describes the rows of the stress tests.
const stressLegend = `Under stress: others are well-behaved clients; their requests are sent at a fixed rate, independently of replies, and their
latency counts from the due time. A flood is compared with decisions on existing keys at the same rate and with the same
pipelines, round by round; the figures are medians of the rounds, µs are of server CPU.
`

// Targets of the stress tests.
const (
	wantIdleBytes     = 12 << 10
	wantSlowdown      = 2.0
	wantSlowAtOnceP99 = 5 * time.Millisecond
	wantResident      = 1.6 // resident bytes over --max-memory
)

// rows is the table of the stress tests.
func (s *stressResult) rows(o options) []row {
	b := o.stress
	rows := []row{{"under stress", "wanted", "limitsrv", "Redis + Lua", "verdict"}}
	add := func(name, wanted, ours, theirs string, met bool) {
		verdict := ""
		switch {
		case wanted == "" || o.quick:
		case met:
			verdict = "met"
		default:
			verdict = "NOT MET"
		}
		rows = append(rows, row{name, wanted, ours, theirs, verdict})
	}
	conns := countText(float64(b.connections))
	add("resident bytes of each of "+conns+" idle connections: new / after a decision", "at most 12 KB",
		s.idle[0].text(), s.idle[1].text(), max(s.idle[0].fresh, s.idle[0].used) <= wantIdleBytes)
	add(fmt.Sprintf("decisions per second, %s connections over %d", conns, fewConnections), "",
		s.manyClients[0].speedText(), s.manyClients[1].speedText(), true)
	add(fmt.Sprintf("p50 / p99 at %s/s, %s connections (%d)", countText(float64(b.rate)), conns, fewConnections), "",
		s.manyClients[0].rateText(), s.manyClients[1].rateText(), true)
	add(fmt.Sprintf("%d clients that do not read their replies", s.slow.readers), "closed", s.slow.text(), "",
		s.slow.longest() < 2*s.slow.writeWait+time.Second)
	add(fmt.Sprintf("%d clients that request %s simultaneously and do not read: p99 of others", s.slowAtOnce.readers, strings.Join(slowRequest, " ")),
		"below "+millisText(wantSlowAtOnceP99), s.slowAtOnce.text(), "", s.slowAtOnce.during.p99 < wantSlowAtOnceP99)
	for _, p := range s.long {
		add(p.name(), "answered in order", p.text(), "", p.answered == p.commands)
	}
	for _, f := range s.floods {
		name := fmt.Sprintf("%s new keys, --max-memory %d MB, %s: ", countText(float64(f.asked)), f.bound>>20, f.policy)
		add(name+"p99 of existing keys over that under the same load", "at most 2x",
			f.latencyText(), "", f.slower(f.loaded).median <= wantSlowdown)
		add(name+"limits_memory_bytes / resident bytes at most", "the bound / 1.6x of it", f.memoryText(), "",
			f.peak.limits <= f.bound && float64(f.peak.resident) <= wantResident*float64(f.bound))
		if f.policy == "refuse" {
			add(name+"live limits as they were", "all", f.intactText(), "", f.intact == f.live)
		} else {
			add(name+"live limits as they were", "", f.intactText(), "", true)
		}
	}
	for i, h := range s.attacks[0] {
		add(fmt.Sprintf("%d unauthenticated clients that %s: p99 of others over before", b.hostile, h.kind), "at most 2x", h.text(), s.attacks[1][i].text(),
			slowdown(h.before, h.during) <= wantSlowdown)
	}
	return rows
}

func (c idleCost) text() string {
	return fmt.Sprintf("%.1f / %.1f KB (heap %.1f KB)", c.fresh/1024, c.used/1024, c.heap/1024)
}

// speedText formats the speed ratio and the speeds.
func (c clientScaling) speedText() string {
	many, few := figureOf(column(c.many, perSecond)), figureOf(column(c.few, perSecond))
	return fmt.Sprintf("%s: %s/s, p50 / p99 %.1f / %.1f ms (%s/s, %.2f / %.2f ms)", ratioText(c.speedRatio()),
		countText(many.median), figureOf(column(c.many, p50Millis)).median, figureOf(column(c.many, p99Millis)).median,
		countText(few.median), figureOf(column(c.few, p50Millis)).median, figureOf(column(c.few, p99Millis)).median)
}

func (c clientScaling) rateText() string {
	return fmt.Sprintf("%s (%s)", millisTexts(c.manyAtRate.p50, c.manyAtRate.p99), millisTexts(c.fewAtRate.p50, c.fewAtRate.p99))
}

// othersText formats the slowdown of other clients.
func othersText(before, during latency) string {
	return fmt.Sprintf("%.2fx: p99 %s, before %s", slowdown(before, during), millisText(during.p99), millisText(before.p99))
}

func (s slowReaderResult) text() string {
	return fmt.Sprintf("%d closed within %s (--write-timeout %s), %.0f KB each; others %s", len(s.closedIn),
		secondsText(s.longest()), secondsText(s.writeWait), s.perReader()/1024, othersText(s.before, s.during))
}

func (p longPipeline) name() string {
	if p.late {
		return fmt.Sprintf("pipeline of %s commands, sent whole before a reply is read", countText(float64(p.commands)))
	}
	return fmt.Sprintf("pipeline of %s commands, read meanwhile", countText(float64(p.commands)))
}

func (p longPipeline) text() string {
	text := fmt.Sprintf("%d in order in %s, %.1f MB more at the peak; others %s", p.answered, secondsText(p.took),
		float64(p.grown)/1e6, othersText(p.before, p.during))
	if p.problem != nil {
		text += "; " + p.problem.Error()
	}
	return text
}

func (f floodResult) latencyText() string {
	p99 := func(all []latency) time.Duration {
		var rounds []float64
		for _, l := range all {
			rounds = append(rounds, float64(l.p99))
		}
		return time.Duration(figureOf(rounds).median)
	}
	text := func(all []latency, cost []sample) string {
		return fmt.Sprintf("%s at %s/s, %.2f µs each", millisText(p99(all)),
			countText(figureOf(column(cost, perSecond)).median), figureOf(column(cost, cpuMicros)).median)
	}
	return fmt.Sprintf("%s: %s; loaded %s; calm %s, %.2fx", ratioText(f.slower(f.loaded)),
		text(f.flooded, f.flood), text(f.loaded, f.load), millisText(p99(f.calm)), f.slower(f.calm).median)
}

func (f floodResult) memoryText() string {
	return fmt.Sprintf("%.1f MB / %.1f MB, %.2fx the bound", float64(f.peak.limits)/(1<<20),
		float64(f.peak.resident)/(1<<20), float64(f.peak.resident)/float64(f.bound))
}

func (f floodResult) intactText() string {
	return fmt.Sprintf("%d of %d; %s of the flood refused", f.intact, f.live, countText(float64(f.refused)))
}

func (h attackResult) text() string {
	return fmt.Sprintf("%s; %s/s, %.1f MB more at most", othersText(h.before, h.during), countText(h.tries), float64(h.grown)/1e6)
}
