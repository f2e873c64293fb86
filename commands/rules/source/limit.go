package source

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"limitsrv/commands/limiters"
	"limitsrv/commands/word"
	"limitsrv/engine"
)

// DefaultWarnAt is warn_at of limits without the word, in percent.
const DefaultWarnAt = 80

// limitForm is the form of a limit in a line.
var limitForm = "COUNT/WINDOW [" + strings.Join(algorithmNames, "|") + "] [burst N] [name N] [grace N] " +
	"[warn_at PERCENT] [events] [hits 1] [weights NAME=WEIGHT ...], N at once ttl DURATION, unlimited or none"

// A draft is a limit as it is read.
type draft struct {
	count    int64
	window   int64 // nanoseconds, or:
	calendar engine.Calendar
	alg      engine.Alg
	algGiven bool
	burst    int64 // 0: not given
	name     string
	grace    int64
	warnAt   int64
	events   bool
	requests bool     // hits: 1
	weights  []Weight // in the order of their names
}

// algorithms are the algorithms that count tokens. The order is of the form in errors and docs: windows
// before rates, and algorithms with a lower limit at the end.
var algorithms = func() []engine.Alg {
	all := slices.DeleteFunc(slices.Collect(engine.Algs()), func(a engine.Alg) bool { return !a.IsCounted() })
	slices.SortStableFunc(all, func(a, b engine.Alg) int {
		x, y := a.Usage(), b.Usage()
		return cmp.Or(cmp.Compare(y.MaxLimit, x.MaxLimit), cmp.Compare(y.Period, x.Period))
	})
	return all
}()

var algorithmNames = namesOf(algorithms)

// namesOf returns the names of algorithms, in lower case.
func namesOf(algs []engine.Alg) (names []string) {
	for _, a := range algs {
		names = append(names, strings.ToLower(a.String()))
	}
	return names
}

// takers returns the names of the algorithms with a kind of second parameter, as in "A, B and C".
func takers(kind engine.PeriodKind) string {
	names := namesOf(slices.DeleteFunc(slices.Clone(algorithms), func(a engine.Alg) bool {
		return a.Usage().Period != kind
	}))
	last := len(names) - 1
	return strings.Join(append(names[:max(0, last-1)], strings.Join(names[max(0, last-1):], " and ")), ", ")
}

// algorithm finds an algorithm by its name in lower case.
func (d *draft) algorithm(name string) bool {
	for i, n := range algorithmNames {
		if n == name {
			d.alg, d.algGiven = algorithms[i], true
			return true
		}
	}
	return false
}

// setWindow parses a window: a unit, a duration, or a period of the calendar.
func (d *draft) setWindow(text string) error {
	arg := []byte(text)
	if text != "" && text[0]|0x20 >= 'a' && text[0]|0x20 <= 'z' {
		calendar, nanos, err := limiters.ParseWindow(arg)
		if err == nil {
			d.calendar, d.window = calendar, nanos
			return nil
		}
		arg = append([]byte("1"), arg...) // a unit
	}
	var err error
	if d.window, err = limiters.ParseDuration("window", arg); err != nil {
		return fmt.Errorf("a window must be s, m, h, second, minute, hour, day, week, month, year, or a duration of 1us to "+
			"10 years such as 15m, got %s", word.Excerpt([]byte(text)))
	}
	return nil
}

// calendarDays are the lengths of periods of the calendar that are a duration as well.
var calendarDays = map[engine.Calendar]int64{engine.Day: 1, engine.Week: 7}

// check completes a draft and sets the parameters of l, or returns the mistake between its
// values.
func (d *draft) check(l *Limit) error {
	if !d.algGiven {
		if d.alg = engine.Slide; d.calendar != engine.NoCalendar || d.count == 0 && d.window == 0 {
			d.alg = engine.Fixed
		}
	}
	name := strings.ToLower(d.alg.String())
	usage := d.alg.Usage()
	if d.calendar != engine.NoCalendar && usage.Period != engine.CalendarWindow {
		days := calendarDays[d.calendar]
		if days == 0 {
			return fmt.Errorf("%s needs a window with a length, such as 30d, got a month or year of the calendar, which is "+
				"for %s", name, takers(engine.CalendarWindow))
		}
		d.window, d.calendar = days*24*3600*1e9, engine.NoCalendar
	}
	rated := usage.Period == engine.Rate
	if d.burst != 0 && !rated {
		return fmt.Errorf("burst is for %s, got it for %s", takers(engine.Rate), name)
	}
	if d.burst == 0 {
		d.burst = d.count
	}
	if !rated {
		d.burst = 0
	}
	if most := usage.MaxLimit; max(d.count, d.burst)+d.grace > most {
		return fmt.Errorf("the limit of %s, with grace, may be %d at most, got %d", name, most, max(d.count, d.burst)+d.grace)
	}
	if rated && d.count > d.window {
		return fmt.Errorf("a rate may be one per nanosecond at most, got %d per %d ns", d.count, d.window)
	}
	if len(d.weights) > 0 && !d.alg.IsCounted() {
		return fmt.Errorf("weights are for %s, got them for a number at once", anyOf(algorithmNames))
	}
	if d.requests && !d.alg.IsCounted() {
		return fmt.Errorf("hits is for %s, got it for a number at once", anyOf(algorithmNames))
	}
	if d.requests && len(d.weights) > 0 {
		return errors.New("a limit can not have hits: 1 and weights: hits: 1 counts requests, weights count amounts")
	}
	l.Count, l.Alg, l.Window, l.Calendar, l.Burst, l.Name, l.Grace, l.WarnAt, l.Events, l.Weights = d.count, d.alg,
		d.window, d.calendar, d.burst, d.name, d.grace, d.warnAt, d.events, d.weights
	l.Requests = d.requests
	if d.count == 0 && d.grace > 0 {
		return errors.New("grace needs a limit above 0, got 0")
	}
	return nil
}

// ParseLimit reads a limit in a line, such as 5/minute slide. The error names the allowed
// and the given value.
func ParseLimit(text string) (l Limit, err error) {
	words := strings.Fields(text)
	d := draft{warnAt: DefaultWarnAt}
	switch {
	case len(words) == 0:
		err = errForm(text)
	case words[0] == "unlimited" && len(words) == 1:
		return Limit{Unlimited: true, WarnAt: DefaultWarnAt}, nil
	case words[0] == "none":
		words, err = d.options(words[1:])
	case len(words) >= 5 && words[1] == "at" && words[2] == "once" && words[3] == "ttl":
		err = d.leases(words[0], words[4])
		if err == nil {
			words, err = d.options(words[5:])
		}
	default:
		count, window, ok := strings.Cut(words[0], "/")
		if !ok {
			return l, errForm(text)
		}
		if d.count, err = parseCount("the COUNT of a limit", count); err != nil {
			return l, err
		}
		if err = d.setWindow(window); err != nil {
			return l, err
		}
		if words = words[1:]; len(words) > 0 && d.algorithm(words[0]) {
			words = words[1:]
		}
		words, err = d.options(words)
	}
	if err == nil && len(words) > 0 {
		err = fmt.Errorf("a limit must be %s, got %s before %s", limitForm, word.Excerpt([]byte(text)),
			word.Excerpt([]byte(words[0])))
	}
	if err != nil {
		return l, err
	}
	return l, d.check(&l)
}

func errForm(text string) error {
	return fmt.Errorf("a limit must be %s, got %s", limitForm, word.Excerpt([]byte(text)))
}

// leases sets the parameters of leases.
func (d *draft) leases(count, ttl string) (err error) {
	d.alg, d.algGiven = engine.Lease, true
	if d.count, err = parseCount("the number at once", count); err != nil {
		return err
	}
	if d.window, err = limiters.ParseDuration("ttl", []byte(ttl)); err != nil {
		return fmt.Errorf("ttl must be a duration of 1us to 10 years such as 30s, got %s", word.Excerpt([]byte(ttl)))
	}
	return nil
}

// parseCount parses a number of requests, 0 to engine.MaxLimit.
func parseCount(name, text string) (int64, error) {
	n, ok := limiters.ParseWhole([]byte(text))
	if !ok || n > engine.MaxLimit {
		return 0, fmt.Errorf("%s must be a whole number from 0 to %d, got %s", name, int64(engine.MaxLimit),
			word.Excerpt([]byte(text)))
	}
	return n, nil
}

// options parses the NAME VALUE pairs, the word events and the weights that follow a limit, and returns
// the remaining words. Each name may occur once.
func (d *draft) options(words []string) (rest []string, err error) {
	seen := map[string]bool{}
	for {
		if len(words) > 0 && words[0] == "events" && !d.events {
			d.events, words = true, words[1:]
			continue
		}
		if len(words) > 0 && words[0] == "weights" && d.weights == nil {
			if words, err = d.weighing(words[1:]); err != nil {
				return nil, err
			}
			continue
		}
		if len(words) < 2 || seen[words[0]] {
			return words, nil
		}
		var n int64
		name, text := words[0], words[1]
		if seen[name] = true; name == "burst" || name == "grace" || name == "warn_at" {
			if n, err = parseCount(name, text); err != nil {
				return nil, err
			}
		}
		switch name {
		case "burst":
			d.burst = n
		case "grace":
			d.grace = n
		case "warn_at":
			d.warnAt = n
		case "name":
			d.name = text
		case "hits":
			d.requests = true
		default:
			return words, nil
		}
		words = words[2:]
		if (name == "burst" || name == "warn_at") && n == 0 || name == "warn_at" && n > 100 || len(text) > MaxNameBytes ||
			name == "hits" && text != "1" {
			return nil, errOption(name, text)
		}
	}
}

func errOption(name, text string) error {
	must := fmt.Sprintf("1 to %d bytes long", MaxNameBytes)
	switch name {
	case "burst":
		must = fmt.Sprintf("a whole number from 1 to %d", int64(engine.MaxLimit))
	case "warn_at":
		must = "a whole number from 1 to 100"
	case "hits":
		must = "1"
	}
	return fmt.Errorf("%s must be %s, got %s", name, must, word.Excerpt([]byte(text)))
}
