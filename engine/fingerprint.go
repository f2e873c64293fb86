package engine

import "encoding/binary"

func (s *shard) fingerprint(now Instant, h uint64, key []byte) int64 {
	if pl, _ := s.findLive(now, key, h); pl.missing() {
		return 0
	}
	return s.cellFingerprint()
}

// cellFingerprint returns the fingerprint of the cell.
func (s *shard) cellFingerprint() int64 {
	c, p := &s.cell, &s.cell.params
	words := c.state
	if t := c.tail(); t != nil { // its location does not matter
		words = t.print(c)
	}
	var b [(6 + len(words)) * wordBytes]byte
	for i, w := range [...]uint64{
		uint64(p.Growth)<<16 | uint64(p.Alg)<<8 | uint64(p.Calendar), uint64(p.Limit), uint64(p.Count), uint64(p.Period),
		uint64(c.past.until), uint64(c.past.n),
	} {
		binary.LittleEndian.PutUint64(b[i*wordBytes:], w)
	}
	for i, w := range words {
		binary.LittleEndian.PutUint64(b[(6+i)*wordBytes:], w)
	}
	return int64(s.secrets.state.Sum(b[:]) | 1)
}
