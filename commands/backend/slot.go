package backend

// Slots is the number of hash slots of a Redis cluster.
const Slots = 16384

// KeySlot returns the slot of a key: the CRC16 of the key, or of the bytes between its
// first opening brace and the next closing one if there are any.
//
// Source: Redis cluster specification, "Hash tags".
func KeySlot(key []byte) int {
	for i, c := range key {
		if c != '{' {
			continue
		}
		for j, c := range key[i+1:] {
			if c == '}' {
				if j > 0 {
					key = key[i+1 : i+1+j]
				}
				break
			}
		}
		break
	}
	return int(crc16(key) % Slots)
}

// crc16 is the CRC of the XMODEM protocol: polynomial 0x1021, initial value 0.
func crc16(b []byte) (crc uint16) {
	for _, c := range b {
		crc ^= uint16(c) << 8
		for range 8 {
			top := crc >> 15
			crc = crc<<1 ^ top*0x1021
		}
	}
	return crc
}
