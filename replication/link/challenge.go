package link

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"net"
	"slices"
)

// Links with a secret begin with a mutual challenge:
//
// 	dialing:    hello (nonce, ephemeral key of X25519)
// 	accepting:  challenge (nonce, ephemeral key)
// 	dialing:    proof, and sealed with the session's keys its greeting
// 	accepting:  proof, and sealed its answer
//
// A proof is HMAC-SHA256 by the secret over a label of the side, the version, and both
// nonces and keys; so neither the other side's proof nor a proof of another link can be
// reused. The session's keys are derived by HKDF from the secret, the result of the key
// exchange and the same nonces and keys: without the secret they can not be computed, and
// an eavesdropper with the secret can not compute them either. Ids, addresses and the
// cluster are in the greeting and the answer, so neither side reveals them before the other
// side has proved the secret.

const (
	nonceBytes = 32
	keyBytes   = 32 // of X25519
	shareBytes = nonceBytes + keyBytes

	// Labels of proofs and keys.
	labelDialing   = "limitsrv link 2, the side that dials"
	labelAccepting = "limitsrv link 2, the side that accepts"
	labelKeys      = "limitsrv link 2, keys"
)

// A share is a side's part of a challenge, with its private key.
type share struct {
	body    []byte // nonce and public key
	private *ecdh.PrivateKey
}

func newShare() (share, error) {
	private, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		return share{}, err
	}
	body := make([]byte, nonceBytes, shareBytes)
	rand.Read(body)
	return share{append(body, private.PublicKey().Bytes()...), private}, nil
}

// sessionKeys are a side's keys of a link.
type sessionKeys struct{ send, receive cipher.AEAD }

// swapped returns the other side's keys.
func (k sessionKeys) swapped() sessionKeys { return sessionKeys{k.receive, k.send} }

// A transcript is both shares, the dialing side's first.
type transcript []byte

// proof proves that a side has the secret.
func (s Secret) proof(label string, t transcript) []byte {
	mac := hmac.New(sha256.New, s.key[:])
	mac.Write([]byte(label))
	mac.Write(t)
	return mac.Sum(nil)
}

// keys returns the keys of the dialing side.
func (s Secret) keys(own *ecdh.PrivateKey, other []byte, t transcript) (k sessionKeys, err error) {
	public, err := ecdh.X25519().NewPublicKey(other)
	if err != nil {
		return k, err
	}
	shared, err := own.ECDH(public) // ECDH rejects public keys with a known result
	if err != nil {
		return k, err
	}
	const size = 32 // of AES-256
	all, err := hkdf.Key(sha256.New, append(shared, s.key[:]...), t, labelKeys, 2*size)
	if err != nil {
		return k, err
	}
	for i, to := range []*cipher.AEAD{&k.send, &k.receive} {
		block, err := aes.NewCipher(all[i*size : (i+1)*size])
		if err != nil {
			return k, err
		}
		if *to, err = cipher.NewGCM(block); err != nil {
			return k, err
		}
	}
	return k, nil
}

// sealDialed proves a secret to the dialed node, and requires its proof. greeting is a
// message sent together with this side's proof. tampered is called once, when a record fails
// to open.
func sealDialed(conn net.Conn, s Secret, greeting []byte, tampered func()) (*sealedConn, error) {
	own, err := newShare()
	if err != nil {
		return nil, err
	}
	if _, err := conn.Write(appendMessage(nil, messageHello, own.body)); err != nil {
		return nil, err
	}
	challenge, err := readExpected(conn, messageChallenge)
	if err != nil {
		return nil, err
	}
	t := transcript(slices.Concat(own.body, challenge))
	keys, err := s.keys(own.private, challenge[nonceBytes:], t)
	if err != nil {
		return nil, err
	}
	sealed := newSealedConn(conn, keys, appendMessage(nil, messageProof, s.proof(labelDialing, t)), tampered)
	if _, err := sealed.Write(greeting); err != nil {
		return nil, err
	}
	proof, err := readExpected(conn, messageProof)
	if err != nil {
		return nil, err
	}
	if !hmac.Equal(proof, s.proof(labelAccepting, t)) {
		return nil, errors.New("it did not prove the secret of this cluster")
	}
	return sealed, nil
}

// sealAccepted challenges the node that sent hello to prove one of the secrets. tampered is
// called once, when a record fails to open.
func sealAccepted(conn net.Conn, hello []byte, secrets []Secret, tampered func()) (*sealedConn, Secret, error) {
	own, err := newShare()
	if err != nil {
		return nil, Secret{}, err
	}
	if _, err := conn.Write(appendMessage(nil, messageChallenge, own.body)); err != nil {
		return nil, Secret{}, err
	}
	proof, err := readExpected(conn, messageProof)
	if err != nil {
		return nil, Secret{}, err
	}
	t := transcript(slices.Concat(hello, own.body))
	i := slices.IndexFunc(secrets, func(s Secret) bool {
		return !s.isNone() && hmac.Equal(proof, s.proof(labelDialing, t))
	})
	if i < 0 {
		return nil, Secret{}, &refusal{reasonSecret, "the cluster secret of the other node is not among this one's"}
	}
	s := secrets[i]
	keys, err := s.keys(own.private, hello[nonceBytes:], t)
	if err != nil {
		return nil, Secret{}, &refusal{reasonGarbled, "a key of the other node is not valid"}
	}
	first := appendMessage(nil, messageProof, s.proof(labelAccepting, t))
	return newSealedConn(conn, keys.swapped(), first, tampered), s, nil
}
