package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/gofiber/fiber/v2"
	fiberlimiter "github.com/gofiber/fiber/v2/middleware/limiter"
	fiberredis "github.com/gofiber/storage/redis/v3"
	"github.com/redis/go-redis/v9"
	"github.com/throttled/throttled/v2"
	"github.com/throttled/throttled/v2/store/goredisstore.v9"
	ulule "github.com/ulule/limiter/v3"
	ululeredis "github.com/ulule/limiter/v3/drivers/store/redis"
	"github.com/zeromicro/go-zero/core/limit"
	"github.com/zeromicro/go-zero/core/logx"
	zeroredis "github.com/zeromicro/go-zero/core/stores/redis"
)

func connect(addr string) *redis.Client { return redis.NewClient(&redis.Options{Addr: addr}) }

// prefix separates the keys of limiters with different limits.
func prefix(n int) string { return fmt.Sprintf("p%d:", n) }

func ululeLimiter(addr string) factory {
	return func(n int, period time.Duration) (*limiter, error) {
		store, err := ululeredis.NewStoreWithOptions(connect(addr), ulule.StoreOptions{Prefix: prefix(n)})
		if err != nil {
			return nil, err
		}
		l := ulule.New(store, ulule.Rate{Period: period, Limit: int64(n)})
		take := func(key string) (taken, error) {
			got, err := l.Get(context.Background(), key)
			return taken{!got.Reached, int(got.Remaining)}, err
		}
		reset := func(key string) error {
			_, err := l.Reset(context.Background(), key)
			return err
		}
		return &limiter{take, reset}, nil
	}
}

func redisRate(addr string) factory {
	return func(n int, period time.Duration) (*limiter, error) {
		l := redis_rate.NewLimiter(connect(addr))
		take := func(key string) (taken, error) {
			got, err := l.Allow(context.Background(), prefix(n)+key, redis_rate.Limit{Rate: n, Burst: n, Period: period})
			if err != nil {
				return taken{}, err
			}
			return taken{got.Allowed > 0, got.Remaining}, nil
		}
		return &limiter{take, func(key string) error { return l.Reset(context.Background(), prefix(n)+key) }}, nil
	}
}

func throttledGCRA(addr string) factory {
	return func(n int, period time.Duration) (*limiter, error) {
		store, err := goredisstore.NewCtx(connect(addr), prefix(n))
		if err != nil {
			return nil, err
		}
		l, err := throttled.NewGCRARateLimiterCtx(store,
			throttled.RateQuota{MaxRate: throttled.PerDuration(n, period), MaxBurst: n - 1})
		if err != nil {
			return nil, err
		}
		l.SetMaxCASAttemptsLimit(1000)
		return &limiter{take: func(key string) (taken, error) {
			limited, got, err := l.RateLimitCtx(context.Background(), key, 1)
			return taken{!limited, got.Remaining}, err
		}}, nil
	}
}

func goZeroPeriod(addr string) factory {
	logx.Disable()
	return func(n int, period time.Duration) (*limiter, error) {
		// Redis 7.0 doesn't know CLIENT SETINFO, and each error counts for the library's circuit breaker.
		store, err := zeroredis.NewRedis(zeroredis.RedisConf{Host: addr, Type: zeroredis.NodeType, DisableIdentity: true})
		if err != nil {
			return nil, err
		}
		l := limit.NewPeriodLimit(int(period.Seconds()), n, store, prefix(n))
		return &limiter{take: func(key string) (taken, error) {
			code, err := l.Take(key)
			return taken{code == limit.Allowed || code == limit.HitQuota, -1}, err
		}}, nil
	}
}

func fiberFixed(addr string) factory   { return fiberApp(addr, fiberlimiter.FixedWindow{}) }
func fiberSliding(addr string) factory { return fiberApp(addr, fiberlimiter.SlidingWindow{}) }

func fiberApp(addr string, algorithm fiberlimiter.LimiterHandler) factory {
	host, port, _ := strings.Cut(addr, ":")
	return func(n int, period time.Duration) (*limiter, error) {
		number, err := strconv.Atoi(port)
		if err != nil {
			return nil, err
		}
		app := fiber.New(fiber.Config{DisableStartupMessage: true})
		app.Use(fiberlimiter.New(fiberlimiter.Config{
			Max: n, Expiration: period, LimiterMiddleware: algorithm,
			Storage:      fiberredis.New(fiberredis.Config{Host: host, Port: number}),
			KeyGenerator: func(c *fiber.Ctx) string { return prefix(n) + c.Get("X-Key") },
		}))
		app.Get("/", func(c *fiber.Ctx) error { return c.SendString("ok") })
		return &limiter{take: func(key string) (taken, error) {
			answer, err := app.Test(request(key), -1)
			if err != nil {
				return taken{}, err
			}
			return answered(answer)
		}}, nil
	}
}

func request(key string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header.Set("X-Key", key)
	return r
}

// answered returns the result that an HTTP answer reports.
func answered(answer *http.Response) (taken, error) {
	if answer.StatusCode != http.StatusOK && answer.StatusCode != http.StatusTooManyRequests {
		return taken{}, fmt.Errorf("status %s", answer.Status)
	}
	t := taken{answer.StatusCode == http.StatusOK, -1}
	if text := answer.Header.Get("X-RateLimit-Remaining"); text != "" && t.allowed {
		var err error
		if t.remaining, err = strconv.Atoi(text); err != nil {
			return taken{}, err
		}
	}
	return t, nil
}
