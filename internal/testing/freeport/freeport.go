// Package freeport finds ports for servers that tests and tools start.
package freeport

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
)

// Ports are chosen below those that Linux gives to outgoing connections, which begin at
// 32768: a server that a test stops and starts again would else find its port taken
// by a connection of another test, now and then.
const (
	lowest   = 10_000
	highest  = 32_767
	attempts = 1000
)

var given struct {
	sync.Mutex
	ports map[int]bool
}

// Address returns host:port without a listener at the moment. The process is given each
// port once. Errors: many random ports could not be bound. Any goroutine may call it.
func Address(host string) (string, error) {
	var err error
	for range attempts {
		port := lowest + rand.IntN(highest-lowest+1)
		if !reserve(port) {
			continue
		}
		address := net.JoinHostPort(host, strconv.Itoa(port))
		var listener net.Listener
		if listener, err = net.Listen("tcp", address); err == nil {
			return address, listener.Close()
		}
	}
	return "", fmt.Errorf("no free port of %s from %d to %d in %d attempts: %w", host, lowest, highest, attempts, err)
}

func reserve(port int) bool {
	given.Lock()
	defer given.Unlock()
	if given.ports == nil {
		given.ports = map[int]bool{}
	}
	if given.ports[port] {
		return false
	}
	given.ports[port] = true
	return true
}
