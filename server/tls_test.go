package server

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"testing"
	"time"
)

// newTLS returns a configuration with a new self-signed certificate.
func newTLS(t testing.TB) *tls.Config {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
}

// fixedTLS returns a Config.TLS that always returns the same configuration.
func fixedTLS(t testing.TB) func() *tls.Config {
	config := newTLS(t)
	return func() *tls.Config { return config }
}

// dialTLS accepts any certificate.
func dialTLS(network, address string) (net.Conn, error) {
	return tls.Dial(network, address, &tls.Config{InsecureSkipVerify: true})
}

// halfClose closes the sending side of nc.
func halfClose(nc net.Conn) { _ = nc.(interface{ CloseWrite() error }).CloseWrite() }

// tcpConn returns the TCP connection below nc.
func tcpConn(nc net.Conn) *net.TCPConn {
	if secured, ok := nc.(*tls.Conn); ok {
		nc = secured.NetConn()
	}
	return nc.(*net.TCPConn)
}
