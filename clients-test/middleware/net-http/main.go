// Command net-http is the application that tests the middleware for net/http.
package main

import (
	"log"
	"net/http"
	"os"
	"time"

	limitsrv "limitsrv-go"
)

func main() {
	limiter := limitsrv.New(limitsrv.Options{
		Addr:       os.Getenv("LIMITSRV_ADDR"),
		Timeout:    millis("TIMEOUT"),
		FailClosed: os.Getenv("FAIL") == "closed",
		Remember:   millis("REMEMBER"),
	})
	three, two, many := hourly(3), hourly(2), hourly(100_000)
	hello, ruled := reply(http.StatusOK, `{"hello": "world"}`), reply(http.StatusOK, `{"hello": "rules"}`)

	http.Handle("/", must(limiter, limitsrv.Config{Name: "home", PerAddress: many, PerKey: &three})(hello))
	http.Handle("/second", must(limiter, limitsrv.Config{Name: "second", PerAddress: many, PerKey: &three})(hello))
	http.Handle("/strict", must(limiter, limitsrv.Config{Name: "strict", PerAddress: three, PerKey: &two})(hello))
	http.Handle("/own", must(limiter,
		limitsrv.Config{Name: "own", PerAddress: many})(reply(http.StatusCreated, `{"own": true}`)))
	http.Handle("/ruled", limiter.Rules("middleware", nil)(ruled))
	for _, name := range []string{"", "home", "a b"} {
		if _, err := limiter.Middleware(limitsrv.Config{Name: name, PerAddress: many}); err == nil {
			log.Fatalf("a second limit with the name %q is no error", name)
		}
	}
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil))
}

func hourly(requests int64) limitsrv.Limit {
	return limitsrv.Limit{Requests: requests, Per: time.Hour}
}

func must(l *limitsrv.Limiter, c limitsrv.Config) func(http.Handler) http.Handler {
	middleware, err := l.Middleware(c)
	if err != nil {
		log.Fatal(err)
	}
	return middleware
}

func reply(status int, body string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		w.Write([]byte(body))
	})
}

func millis(name string) time.Duration {
	d, err := time.ParseDuration(os.Getenv(name) + "ms")
	if err != nil {
		log.Fatal(err)
	}
	return d
}
