package rules

import "limitsrv/commands/rules/source"

// maxLabelBytes bounds a Met.Label. A longer label is left out.
const maxLabelBytes = 512

// A labelPart is a level of the path of a node, as it stands in the labels of metrics.
type labelPart struct {
	text    string // KEY, or KEY=VALUE of the text
	measure bool   // the value of the request follows, as =VALUE
}

// labels returns the parts of the label of a limit with or without detailed_metric; bit i of
// values is set if level i has value_to_metric. It returns nil without both words. Where the
// counter's key has the pattern of share_threshold, the label has it too.
func labels(levels []*source.Descriptor, detailed bool, values uint32) []labelPart {
	if !detailed && values == 0 {
		return nil
	}
	parts := make([]labelPart, len(levels))
	for i, from := range levels {
		p := &parts[i]
		p.text, p.measure = from.Key, (detailed || values&(1<<i) != 0) && (!from.ShareThreshold || from.Value == "")
		if !p.measure && from.Value != "" {
			p.text += "=" + from.Value
		}
	}
	return parts
}

// appendLabel appends the label of a limit that entries have led to, or nothing if it is longer
// than maxLabelBytes.
func appendLabel(dst []byte, parts []labelPart, entries []Entry) []byte {
	start := len(dst)
	for i := range parts {
		p := &parts[i]
		if i > 0 {
			dst = append(dst, '/')
		}
		if dst = append(dst, p.text...); p.measure {
			dst = append(append(dst, '='), entries[i].Value...)
		}
		if len(dst)-start > maxLabelBytes {
			return dst[:start]
		}
	}
	return dst
}
