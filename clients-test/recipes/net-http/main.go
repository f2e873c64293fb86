// Command net-http is the application that tests the limit and the rules.
package main

import (
	"log"
	"net/http"
	"os"
	"time"

	"github.com/redis/go-redis/v9"
)

func main() {
	client := redis.NewClient(&redis.Options{Addr: os.Getenv("LIMITSRV_ADDR"), ContextTimeoutEnabled: true})
	open := os.Getenv("FAIL") == "open"
	timeout, err := time.ParseDuration(os.Getenv("TIMEOUT") + "ms")
	if err != nil {
		log.Fatal(err)
	}
	limit := Limit{Redis: client, Timeout: timeout, Open: open, Capacity: 3, Rate: "3/h"}
	rules := Rules{Redis: client, Timeout: timeout, Open: open, Domain: "recipes"}
	hello := func(whom string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			answer(w, http.StatusOK, map[string]string{"hello": whom})
		})
	}
	http.Handle("/", limit.Of(hello("world")))
	http.Handle("/ruled", rules.Of(hello("rules")))
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil))
}
