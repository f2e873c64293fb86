// Command net-http is the application that tests the limit.
package main

import (
	"log"
	"net/http"
	"os"
	"time"

	"github.com/redis/go-redis/v9"
)

func main() {
	limit := Limit{
		Redis:    redis.NewClient(&redis.Options{Addr: os.Getenv("LIMITSRV_ADDR"), ContextTimeoutEnabled: true}),
		Timeout:  100 * time.Millisecond,
		Open:     os.Getenv("FAIL") == "open",
		Capacity: 3,
		Rate:     "3/h",
	}
	hello := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, map[string]string{"hello": "world"})
	})
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), limit.Of(hello)))
}
