package rules

// MergeMetadata copies the metadata of a limit into dst, level by level. It does not change src. A
// value in dst wins over a value in src, unless both values are maps: these are merged.
func MergeMetadata(dst, src map[string]any) {
	for name, v := range src {
		from, isMap := v.(map[string]any)
		old, had := dst[name]
		switch into, wasMap := old.(map[string]any); {
		case !had && isMap:
			into = make(map[string]any, len(from))
			dst[name] = into
			MergeMetadata(into, from)
		case !had:
			dst[name] = v
		case isMap && wasMap:
			MergeMetadata(into, from)
		}
	}
}
