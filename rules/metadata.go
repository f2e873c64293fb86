package rules

// MergeMetadata copies the metadata of a limit into dst, level by level; src stays as it is.
// A value in src replaces one in dst, unless both are maps.
func MergeMetadata(dst, src map[string]any) {
	for name, v := range src {
		from, isMap := v.(map[string]any)
		if !isMap {
			dst[name] = v
			continue
		}
		into, had := dst[name].(map[string]any)
		if !had {
			into = make(map[string]any, len(from))
			dst[name] = into
		}
		MergeMetadata(into, from)
	}
}
