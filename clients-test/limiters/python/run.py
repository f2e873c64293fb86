"""Runs a library's scenario: run.py LIBRARY PACKAGE HOST:PORT."""

import asyncio
import importlib.metadata
import sys
import threading

import redis
import redis.asyncio

import scenario

URL = f"redis://{sys.argv[3]}/0"


class Limiter:
    """A limiter with the given functions."""

    def __init__(self, take, reset=None, at_once=50):
        self.take, self.at_once = take, at_once
        if reset:
            self.reset = reset


LOOP = asyncio.new_event_loop()


def wait(coroutine):
    """Runs a coroutine in the one event loop of all asynchronous limiters."""
    return asyncio.run_coroutine_threadsafe(coroutine, LOOP).result()


def refusal(errors, call):
    """Returns whether call() succeeds; one of the errors is a denial."""
    try:
        call()
    except errors:
        return False
    return True


def limits(strategy):
    def factory(limit, seconds):
        import limits as package

        storage = package.storage.storage_from_string(URL)
        item = package.RateLimitItemPerSecond(limit, seconds)
        limiter = package.strategies.STRATEGIES[strategy](storage)

        def take(key):
            allowed = limiter.hit(item, key)
            return (allowed, limiter.get_window_stats(item, key).remaining) if limit == 5 else allowed

        return Limiter(take, lambda key: limiter.clear(item, key))

    return factory


def flask_limiter(limit, seconds):
    import flask
    import flask_limiter as package

    app = flask.Flask("app")
    limiter = package.Limiter(lambda: flask.request.headers["X-Key"], app=app, storage_uri=URL, strategy="fixed-window",
                              headers_enabled=True, default_limits=[f"{limit} per {seconds} second"])

    @app.get("/")
    def index():
        return "ok"

    def take(key):
        answer = app.test_client().get("/", headers={"X-Key": key})
        return answered(answer.status_code), int(answer.headers["X-RateLimit-Remaining"])

    assert limiter.enabled
    return Limiter(take)


def answered(status):
    """Returns whether a status allows the request."""
    if status not in (200, 403, 429):
        raise RuntimeError(f"status {status}")
    return status == 200


def over_asgi(app, status=answered):
    """Returns the limiter of an ASGI application, which limits by the header X-Key."""
    import httpx

    async def get(key):
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
            return (await client.get("/", headers={"X-Key": key})).status_code

    return Limiter(lambda key: status(wait(get(key))))


def slowapi(limit, seconds):
    import fastapi
    import slowapi as package
    import slowapi.errors

    limiter = package.Limiter(key_func=lambda request: request.headers["X-Key"], storage_uri=URL)
    app = fastapi.FastAPI()
    app.state.limiter = limiter
    app.add_exception_handler(slowapi.errors.RateLimitExceeded, package._rate_limit_exceeded_handler)

    @app.get("/")
    @limiter.limit(f"{limit} per {seconds} second")
    def index(request: fastapi.Request):
        return "ok"

    return over_asgi(app)


def pyrate_limiter(limit, seconds):
    import pyrate_limiter as package

    limiters, lock = {}, threading.Lock()

    def of(key):
        with lock:
            if key not in limiters:
                bucket = package.RedisBucket.init([package.Rate(limit, seconds * 1000)], redis.Redis.from_url(URL), key)
                limiters[key] = package.Limiter(bucket)
            return limiters[key]

    return Limiter(lambda key: of(key).try_acquire(key, blocking=False), at_once=1)  # it denies a request while another holds its lock


def fastapi_limiter(limit, seconds):
    import fastapi
    import fastapi_limiter.depends
    import pyrate_limiter as package

    apps, lock = {}, threading.Lock()

    def of(key):
        with lock:
            if key not in apps:
                bucket = package.RedisBucket.init([package.Rate(limit, seconds * 1000)], redis.Redis.from_url(URL), key)
                limited = fastapi_limiter.depends.RateLimiter(limiter=package.Limiter(bucket))
                app = fastapi.FastAPI()
                app.get("/", dependencies=[fastapi.Depends(limited)])(lambda: "ok")
                apps[key] = over_asgi(app)
            return apps[key]

    return Limiter(lambda key: of(key).take(key))


def throttled(using):
    def factory(limit, seconds):
        import datetime

        import throttled as package

        throttle = package.Throttled(
            using=using, store=package.store.RedisStore(server=URL),
            quota=package.per_duration(datetime.timedelta(seconds=seconds), limit, burst=limit))

        def take(key):
            result = throttle.limit(key)
            return (not result.limited, result.state.remaining) if limit == 5 else not result.limited

        return Limiter(take)

    return factory


def django_with_redis():
    import django.conf

    if not django.conf.settings.configured:
        django.conf.settings.configure(
            CACHES={"default": {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": URL}},
            ROOT_URLCONF="urls", INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes"], SECRET_KEY="none",
            REST_FRAMEWORK={"UNAUTHENTICATED_USER": None})
        django.setup()


def django_ratelimit(limit, seconds):
    django_with_redis()
    import django.http
    import django.test
    import django_ratelimit.core

    def take(key):
        request = django.test.RequestFactory().get("/", headers={"X-Key": key})
        usage = django_ratelimit.core.get_usage(request, group=f"{limit}", key="header:x-key", rate=f"{limit}/{seconds}s", increment=True)
        return not usage["should_limit"], max(0, usage["limit"] - usage["count"])

    return Limiter(take)


def django_rest_framework(limit, seconds):
    django_with_redis()
    import rest_framework.test
    import rest_framework.throttling
    import rest_framework.views
    from rest_framework.response import Response

    class ByKey(rest_framework.throttling.SimpleRateThrottle):
        rate = f"{limit}/day" if seconds == scenario.DAY else f"{limit}/second"

        def get_cache_key(self, request, view):
            return f"{limit}:{request.headers['X-Key']}"

    class View(rest_framework.views.APIView):
        throttle_classes = [ByKey]

        def get(self, request):
            return Response("ok")

    view = View.as_view()

    def take(key):
        return answered(view(rest_framework.test.APIRequestFactory().get("/", headers={"X-Key": key})).status_code)

    return Limiter(take, at_once=1)  # it reads and writes a list without a transaction


def python_redis_rate_limit(limit, seconds):
    import redis_rate_limit as package

    pool = redis.ConnectionPool.from_url(URL)
    limiter = package.RateLimiter(resource=f"r{limit}", max_requests=limit, expire=seconds, redis_pool=pool)

    def take(key):
        with limiter.limit(client=key):
            pass

    return Limiter(lambda key: refusal(package.TooManyRequests, lambda: take(key)))


def ratelimit_io(algorithm):
    def factory(limit, seconds):
        import ratelimit_io as package

        limiter = package.RateLimiter(redis.Redis.from_url(URL), limit=package.Limit(limit, seconds=seconds),
                                      algorithm=package.Algorithm(algorithm))
        return Limiter(lambda key: refusal(package.RateLimitExceededError, lambda: limiter.acquire_sync(key)))

    return factory


def asyncio_redis_rate_limit(limit, seconds):
    import asyncio_redis_rate_limit as package

    backend = redis.asyncio.Redis.from_url(URL)

    async def take(key):
        async with package.RateLimiter(unique_key=key, backend=backend, cache_prefix=f"p{limit}",
                                       rate_spec=package.RateSpec(requests=limit, seconds=seconds)):
            pass

    return Limiter(lambda key: refusal(package.RateLimitError, lambda: wait(take(key))))


def freiner(strategy):
    def factory(limit, seconds):
        import freiner as package
        import freiner.storage.redis

        client = redis.Redis.from_url(URL)
        limiter = getattr(package, strategy)(freiner.storage.redis.RedisStorage(client))
        item = package.RateLimitItemPerSecond(limit, seconds)
        return Limiter(lambda key: limiter.hit(item, key), lambda key: limiter.clear(item, key))

    return factory


LIBRARIES = {
    "limits-fixed": limits("fixed-window"),
    "limits-moving": limits("moving-window"),
    "limits-sliding": limits("sliding-window-counter"),
    "flask-limiter": flask_limiter,
    "slowapi": slowapi,
    "pyrate-limiter": pyrate_limiter,
    "fastapi-limiter": fastapi_limiter,
    "throttled-py-fixed": throttled("fixed_window"),
    "throttled-py-sliding": throttled("sliding_window"),
    "throttled-py-token": throttled("token_bucket"),
    "throttled-py-leaky": throttled("leaking_bucket"),
    "throttled-py-gcra": throttled("gcra"),
    "django-ratelimit": django_ratelimit,
    "djangorestframework": django_rest_framework,
    "python-redis-rate-limit": python_redis_rate_limit,
    "ratelimit-io-fixed": ratelimit_io("fixed_window"),
    "ratelimit-io-sliding": ratelimit_io("sliding_window"),
    "ratelimit-io-gcra": ratelimit_io("gcra"),
    "asyncio-redis-rate-limit": asyncio_redis_rate_limit,
    "freiner-fixed": freiner("FixedWindowRateLimiter"),
    "freiner-moving": freiner("MovingWindowRateLimiter"),
}

if __name__ == "__main__":
    print("version", importlib.metadata.version(sys.argv[2]))
    threading.Thread(target=LOOP.run_forever, daemon=True).start()
    scenario.play(LIBRARIES[sys.argv[1]])
