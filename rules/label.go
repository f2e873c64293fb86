package rules

import "limitsrv/rules/source"

// maxLabelBytes bounds a Met.Label. A longer one is left out.
const maxLabelBytes = 512

// A labelPart is a level of the path of a node, as it stands in the labels of metrics.
type labelPart struct {
	text    string // KEY, or KEY=VALUE of the text
	measure bool   // the value of the request follows, as =VALUE
}

// labels returns the parts of the label of a limit, nil if no level has detailed_metric or
// value_to_metric. Where the pattern of share_threshold stands in the counter's key, it stands
// in the label.
func labels(levels []*source.Descriptor, l *Limit) []labelPart {
	if !l.DetailedMetric && l.ValueMetric == 0 {
		return nil
	}
	parts := make([]labelPart, len(levels))
	for i, from := range levels {
		p := &parts[i]
		p.text, p.measure = from.Key, (l.DetailedMetric || l.ValueMetric&(1<<i) != 0) && (!from.ShareThreshold || from.Value == "")
		if !p.measure && from.Value != "" {
			p.text += "=" + from.Value
		}
	}
	return parts
}

// label sets the label of m, which is limit l of a node, or an override of that.
func (w *Work) label(m *Met, l *Limit, entries []Entry) {
	start := len(w.keys)
	for i := range l.labels {
		p := &l.labels[i]
		if i > 0 {
			w.keys = append(w.keys, '/')
		}
		if w.keys = append(w.keys, p.text...); p.measure {
			w.keys = append(append(w.keys, '='), entries[i].Value...)
		}
		if len(w.keys)-start > maxLabelBytes {
			w.keys = w.keys[:start]
			break
		}
	}
	m.label = span{start, len(w.keys)}
}
