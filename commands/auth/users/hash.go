package users

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/crypto/argon2"
	"golang.org/x/crypto/bcrypt"
)

// Bounds of a hash. They limit the cost of a check, so that a file can not take the server
// down. memory is in KB; work is memory times passes.
const (
	maxMemory  = 256 << 10
	maxPasses  = 16
	maxWork    = 1 << 20
	maxThreads = 16
	minSalt    = 8
	maxSalt    = 64
	minSum     = 16
	maxSum     = 64

	maxBcryptCost   = 14
	bcryptHashBytes = 60
	maxHashBytes    = 256
)

// Parameters of Hash. Source: OWASP Password Storage Cheat Sheet, argon2id.
const (
	hashMemory  = 19 << 10
	hashPasses  = 2
	hashThreads = 1
	hashSalt    = 16
	hashSum     = 32
)

// MaxPasswordBytes is the length of the longest password that Hash accepts.
const MaxPasswordBytes = 1024

var (
	errForm = errors.New("a hash must be $argon2id$v=19$m=KB,t=PASSES,p=THREADS$SALT$HASH or bcrypt's $2a$, $2b$ or " +
		"$2y$; limitsrv hash-password makes one; in brackets it needs quotes")
	errArgon2 = fmt.Errorf("an argon2id hash must have m of 8 for each thread to %d KB, t of 1 to %d, m times t of at "+
		"most %d, p of 1 to %d, a salt of %d to %d bytes and a hash of %d to %d bytes",
		maxMemory, maxPasses, maxWork, maxThreads, minSalt, maxSalt, minSum, maxSum)
	errBcrypt = fmt.Errorf("a bcrypt hash must have a cost of %d to %d", bcrypt.MinCost, maxBcryptCost)
)

// A hash is the hash of a password. text is its form in the file; argon is nil for
// bcrypt.
type hash struct {
	text  string
	argon *argon
}

// An argon is an argon2id hash with its parameters.
type argon struct {
	memory, passes uint32
	threads        uint8
	salt, sum      []byte
}

// Hash returns an argon2id hash of a password in the form of the file. Cost: about 30 ms
// and 19 MB.
func Hash(password []byte) (string, error) {
	if len(password) == 0 || len(password) > MaxPasswordBytes {
		return "", fmt.Errorf("a password must be 1 to %d bytes long, got %d", MaxPasswordBytes, len(password))
	}
	salt := make([]byte, hashSalt)
	if _, err := rand.Read(salt); err != nil {
		return "", fmt.Errorf("make a salt: %w", err)
	}
	sum := argon2.IDKey(password, salt, hashPasses, hashMemory, hashThreads, hashSum)
	b64 := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, hashMemory, hashPasses, hashThreads,
		b64.EncodeToString(salt), b64.EncodeToString(sum)), nil
}

// parseHash parses a hash. Its error does not contain text.
func parseHash(text string) (hash, error) {
	if len(text) > maxHashBytes {
		return hash{}, errForm
	}
	for _, prefix := range []string{"$2a$", "$2b$", "$2y$"} {
		if strings.HasPrefix(text, prefix) {
			return parseBcrypt(text)
		}
	}
	parts := strings.Split(text, "$")
	if len(parts) != 6 || parts[0] != "" || parts[1] != "argon2id" || parts[2] != "v="+strconv.Itoa(argon2.Version) {
		return hash{}, errForm
	}
	a, err := parseArgon(parts[3], parts[4], parts[5])
	return hash{text, a}, err
}

func parseArgon(params, salt, sum string) (*argon, error) {
	var numbers [3]uint64
	fields := strings.Split(params, ",")
	if len(fields) != len(numbers) {
		return nil, errForm
	}
	for i, name := range []string{"m=", "t=", "p="} {
		digits, ok := strings.CutPrefix(fields[i], name)
		n, err := strconv.ParseUint(digits, 10, 32)
		if !ok || err != nil {
			return nil, errForm
		}
		numbers[i] = n
	}
	memory, passes, threads := numbers[0], numbers[1], numbers[2]
	b64 := base64.RawStdEncoding.Strict()
	saltBytes, saltErr := b64.DecodeString(salt)
	sumBytes, sumErr := b64.DecodeString(sum)
	switch {
	case saltErr != nil || sumErr != nil:
		return nil, errForm
	case threads < 1 || threads > maxThreads, memory < 8*threads || memory > maxMemory, passes < 1 || passes > maxPasses,
		memory*passes > maxWork,
		len(saltBytes) < minSalt || len(saltBytes) > maxSalt, len(sumBytes) < minSum || len(sumBytes) > maxSum:
		return nil, errArgon2
	}
	return &argon{uint32(memory), uint32(passes), uint8(threads), saltBytes, sumBytes}, nil
}

// bcryptDigits are the digits of bcrypt's base 64.
const bcryptDigits = "./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

func parseBcrypt(text string) (hash, error) {
	const digits = len("$2a$10$")
	if len(text) != bcryptHashBytes || text[digits-1] != '$' || strings.Trim(text[digits:], bcryptDigits) != "" {
		return hash{}, errForm
	}
	cost, err := strconv.ParseUint(text[len("$2a$"):digits-1], 10, 8)
	if err != nil {
		return hash{}, errForm
	}
	if cost < uint64(bcrypt.MinCost) || cost > maxBcryptCost {
		return hash{}, errBcrypt
	}
	return hash{text: text}, nil
}

// matches reports whether the hash is the password's. Cost: the time and the memory of
// the hash's parameters.
func (h hash) matches(password []byte) bool {
	if h.argon == nil {
		return bcrypt.CompareHashAndPassword([]byte(h.text), password) == nil
	}
	a := h.argon
	sum := argon2.IDKey(password, a.salt, a.passes, a.memory, a.threads, uint32(len(a.sum)))
	return subtle.ConstantTimeCompare(sum, a.sum) == 1
}
