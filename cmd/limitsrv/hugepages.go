package main

import (
	"context"

	"limitsrv/hugepages"
)

// useHugePages moves memory into huge pages until ctx ends, if --huge-pages says so.
func (n *node) useHugePages(ctx context.Context) {
	if n.HugePages == "off" {
		return
	}
	m, err := hugepages.New()
	if err != nil {
		n.log.Info("memory stays in small pages", "error", err)
		return
	}
	go m.Run(ctx)
}
