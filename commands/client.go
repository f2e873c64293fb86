package commands

var errName = &Error{"ERR", "Client names cannot contain spaces, newlines or special characters."}

// maxClientNameBytes bounds what CLIENT SETNAME and SETINFO keep.
const maxClientNameBytes = 256

// checkName refuses names that would break the lines of CLIENT LIST.
func checkName(name []byte) error {
	if len(name) > maxClientNameBytes {
		return errName
	}
	for _, c := range name {
		if c < '!' || c > '~' {
			return errName
		}
	}
	return nil
}
