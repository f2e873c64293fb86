package values

import "slices"

// Grow makes room for n more bytes. Room for a long text grows by up to 4 MB at once, so that few
// bytes are copied while it is built.
func Grow(dst []byte, n int) []byte {
	const most = 4 << 20
	if cap(dst)-len(dst) >= n {
		return dst
	}
	return slices.Grow(dst, max(n, min(len(dst), most)))
}
