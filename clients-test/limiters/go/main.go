// Command go runs the scenario of a limiter library: go LIBRARY MODULE HOST:PORT.
package main

import (
	"fmt"
	"os"
	"runtime/debug"
)

// libraries are the constructors of a library's limiters.
var libraries = map[string]func(addr string) factory{
	"ulule-limiter":  ululeLimiter,
	"redis_rate":     redisRate,
	"throttled":      throttledGCRA,
	"go-zero-period": goZeroPeriod,
	"fiber-fixed":    fiberFixed,
	"fiber-sliding":  fiberSliding,
}

func main() {
	library, module, addr := os.Args[1], os.Args[2], os.Args[3]
	info, _ := debug.ReadBuildInfo()
	for _, m := range info.Deps {
		if m.Path == module {
			fmt.Println("version", m.Version)
		}
	}
	if err := play(libraries[library](addr)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
