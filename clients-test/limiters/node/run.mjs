// Runs a library's scenario: run.mjs LIBRARY PACKAGE HOST:PORT.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { promisify } from "node:util";
import Redis from "ioredis";
import { play } from "./scenario.mjs";

const require = createRequire(import.meta.url);
const [, , library, packageName, address] = process.argv;
const [host, port] = address.split(":");
const redis = { host, port: Number(port), maxRetriesPerRequest: 1 };
const connect = () => new Redis(redis);

const nodeRedis = async () => {
  const { createClient } = await import("redis");
  return createClient({ url: `redis://${address}` }).connect();
};

const nodeRedis3 = async () => {
  const client = require("redis-3").createClient({ host, port: Number(port) });
  await new Promise((resolve) => client.once("ready", resolve));
  return client;
};

/** The result of an HTTP answer: 200 allows a request, 429 denies it. */
function answered(status, remaining) {
  if (status !== 200 && status !== 429) throw new Error(`status ${status}`);
  return remaining == null ? status === 200 : [status === 200, Number(remaining)];
}

/** Serves a request listener, and returns a function that gets it with a key. */
async function serve(listener) {
  const { createServer } = await import("node:http");
  const server = createServer(listener);
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (key) => fetch(`http://127.0.0.1:${server.address().port}/`, { headers: { "x-key": key } });
}

async function express() {
  const app = (await import("express")).default();
  app.disable("x-powered-by");
  return app;
}

const libraries = {
  async "rate-limiter-flexible"(points, duration) {
    const { RateLimiterRedis, RateLimiterRes } = await import("rate-limiter-flexible");
    const limiter = new RateLimiterRedis({ storeClient: connect(), points, duration, keyPrefix: `p${points}` });
    const take = async (key) => {
      try {
        return [true, (await limiter.consume(key)).remainingPoints];
      } catch (denied) {
        if (!(denied instanceof RateLimiterRes)) throw denied;
        return [false, 0];
      }
    };
    return { take, reset: (key) => limiter.delete(key), penalty: (key, n) => limiter.penalty(key, n) };
  },

  async "express-rate-limit"(limit, seconds) {
    const { rateLimit } = await import("express-rate-limit");
    const { RedisStore } = await import("rate-limit-redis");
    const client = connect();
    const app = await express();
    const limiter = rateLimit({
      windowMs: seconds * 1000, limit, standardHeaders: "draft-6", legacyHeaders: false, keyGenerator: (req) => req.get("x-key"),
      store: new RedisStore({ sendCommand: (command, ...args) => client.call(command, ...args), prefix: `p${limit}` }),
    });
    app.use(limiter);
    app.get("/", (_, res) => res.send("ok"));
    const get = await serve(app);
    return {
      async take(key) {
        const answer = await get(key);
        return answered(answer.status, answer.headers.get("ratelimit-remaining"));
      },
      reset: (key) => limiter.resetKey(key),
    };
  },

  async "express-slow-down"(limit, seconds) {
    const { slowDown } = await import("express-slow-down");
    const { RedisStore } = await import("rate-limit-redis");
    const client = await nodeRedis();
    const app = await express();
    app.use(slowDown({
      windowMs: seconds * 1000, delayAfter: limit, delayMs: () => 1, keyGenerator: (req) => req.get("x-key"),
      store: new RedisStore({ sendCommand: (...args) => client.sendCommand(args), prefix: `p${limit}` }),
    }));
    app.get("/", (req, res) => res.json(req.slowDown));
    const get = await serve(app);
    return {
      async take(key) {
        const { used, delay } = await (await get(key)).json();
        return [delay === 0, limit - used];
      },
    };
  },

  async "fastify-rate-limit"(max, seconds) {
    const app = (await import("fastify")).default();
    await app.register((await import("@fastify/rate-limit")).default, {
      max, timeWindow: seconds * 1000, redis: connect(), nameSpace: `p${max}`, keyGenerator: (req) => req.headers["x-key"],
    });
    app.get("/", async () => "ok");
    return {
      async take(key) {
        const answer = await app.inject({ url: "/", headers: { "x-key": key } });
        return answered(answer.statusCode, answer.headers["x-ratelimit-remaining"]);
      },
    };
  },

  async "nest-lab-throttler"(limit, seconds) {
    const { ThrottlerStorageRedisService } = require("@nest-lab/throttler-storage-redis");
    const storage = new ThrottlerStorageRedisService(connect());
    return {
      async take(key) {
        const { totalHits, isBlocked } = await storage.increment(key, seconds * 1000, limit, seconds * 1000, `p${limit}`);
        return [!isBlocked, limit - totalHits];
      },
    };
  },

  async "nestjs-throttler"(limit, seconds) {
    const { ThrottlerStorageRedisService } = require("nestjs-throttler-storage-redis");
    const storage = new ThrottlerStorageRedisService(connect());
    return {
      async take(key) {
        const { totalHits, isBlocked } = await storage.increment(key, seconds * 1000, limit, seconds * 1000, `p${limit}`);
        return [!isBlocked, limit - totalHits];
      },
    };
  },

  async "grammyjs-ratelimiter"(limit, seconds) {
    const { limit: middleware } = require("@grammyjs/ratelimiter");
    const limited = middleware({
      limit, timeFrame: seconds * 1000, storageClient: connect(), keyPrefix: `p${limit}`, keyGenerator: (ctx) => ctx.from.id, onLimitExceeded() {},
    });
    return {
      async take(id) {
        let allowed = false;
        await limited({ from: { id } }, async () => { allowed = true; });
        return allowed;
      },
    };
  },

  async bottleneck(reservoir, seconds) {
    const { default: Bottleneck } = await import("bottleneck");
    const group = new Bottleneck.Group({
      id: `p${reservoir}`, datastore: "ioredis", clientOptions: redis, Redis, reservoir, reservoirRefreshAmount: reservoir,
      reservoirRefreshInterval: seconds * 1000, highWater: 0, strategy: Bottleneck.strategy.OVERFLOW,
    });
    await group.key("a").ready();
    return {
      async take(key) {
        try {
          await group.key(key).schedule(async () => {});
          return true;
        } catch (denied) {
          if (!(denied instanceof Bottleneck.BottleneckError)) throw denied;
          return false;
        }
      },
    };
  },

  async "koa-ratelimit"(max, seconds) {
    const { default: Koa } = await import("koa");
    const ratelimit = require("koa-ratelimit");
    const app = new Koa();
    app.use(ratelimit({ driver: "redis", db: connect(), duration: seconds * 1000, max, namespace: `p${max}`, id: (ctx) => ctx.get("x-key") }));
    app.use((ctx) => { ctx.body = "ok"; });
    const get = await serve(app.callback());
    return {
      async take(key) {
        const answer = await get(key);
        return answered(answer.status, answer.headers.get("x-ratelimit-remaining"));
      },
    };
  },

  async ratelimiter(max, seconds) {
    const Limiter = require("ratelimiter");
    const db = connect();
    return {
      async take(key) {
        const limiter = new Limiter({ id: `p${max}${key}`, db, max, duration: seconds * 1000 });
        const { remaining } = await promisify(limiter.get.bind(limiter))();
        return [remaining > 0, remaining - 1];
      },
    };
  },

  async "rolling-rate-limiter"(maxInInterval, seconds) {
    const { RedisRateLimiter } = require("rolling-rate-limiter");
    const limiter = new RedisRateLimiter({ client: connect(), namespace: `p${maxInInterval}`, interval: seconds * 1000, maxInInterval });
    return {
      async take(key) {
        const { blocked, actionsRemaining } = await limiter.limitWithInfo(key);
        return [!blocked, actionsRemaining];
      },
      reset: (key) => limiter.clear(key),
    };
  },

  async "redis-gcra"(burst, seconds) {
    const limiter = require("redis-gcra")({ redis: connect(), keyPrefix: `p${burst}`, burst, rate: burst, period: seconds * 1000 });
    return {
      async take(key) {
        const { limited, remaining } = await limiter.limit({ key });
        return [!limited, remaining];
      },
      reset: (key) => limiter.reset({ key }),
    };
  },

  async "hapi-rate-limitor"(max, seconds) {
    const server = require("@hapi/hapi").server();
    await server.register({
      plugin: require("hapi-rate-limitor"),
      options: { redis, namespace: `p${max}`, max, duration: seconds * 1000, extensionPoint: "onPreAuth", getIp: async (req) => req.headers["x-key"] },
    });
    server.route({ method: "GET", path: "/", handler: () => "ok" });
    await server.initialize();
    return {
      async take(key) {
        const answer = await server.inject({ url: "/", headers: { "x-key": key } });
        return answered(answer.statusCode, answer.headers["x-rate-limit-remaining"]);
      },
    };
  },

  async "express-limiter"(total, seconds) {
    const app = await express();
    require("express-limiter")(app, await nodeRedis3())({
      path: "/", method: "get", lookup: "headers.x-key", total, expire: seconds * 1000,
    });
    app.get("/", (_, res) => res.send("ok"));
    const get = await serve((req, res) => {
      req.headers["x-key"] = `p${total}${req.headers["x-key"]}`;
      app(req, res);
    });
    return {
      atOnce: 1, // it reads and writes a counter without a transaction
      async take(key) {
        const answer = await get(key);
        return answered(answer.status, answer.headers.get("x-ratelimit-remaining"));
      },
    };
  },

  async "hono-rate-limiter"(limit, seconds) {
    const { Hono } = await import("hono");
    const { rateLimiter, RedisStore } = await import("hono-rate-limiter");
    const io = connect();
    const client = {
      scriptLoad: (script) => io.script("LOAD", script),
      evalsha: (sha1, keys, args) => io.evalsha(sha1, keys.length, ...keys, ...args),
      decr: (key) => io.decr(key),
      del: (key) => io.del(key),
    };
    const app = new Hono();
    app.use(rateLimiter({
      windowMs: seconds * 1000, limit, standardHeaders: "draft-6", keyGenerator: (c) => c.req.header("x-key"), store: new RedisStore({ client, prefix: `p${limit}` }),
    }));
    app.get("/", (c) => c.text("ok"));
    return {
      async take(key) {
        const answer = await app.request("/", { headers: { "x-key": key } });
        return answered(answer.status, answer.headers.get("ratelimit-remaining"));
      },
    };
  },

  async "koa2-ratelimit"(max, seconds) {
    const { default: Koa } = await import("koa");
    const { RateLimit, Stores } = require("koa2-ratelimit");
    const app = new Koa();
    app.use(RateLimit.middleware({
      interval: seconds * 1000, max, keyGenerator: (ctx) => `p${max}${ctx.get("x-key")}`, store: new Stores.Redis({ socket: { host, port: Number(port) } }),
    }));
    app.use((ctx) => { ctx.body = "ok"; });
    const get = await serve(app.callback());
    return {
      atOnce: 1, // it reads and writes a counter without a transaction
      async take(key) {
        const answer = await get(key);
        return answered(answer.status, answer.headers.get("x-ratelimit-remaining"));
      },
    };
  },

  async "redis-rate-limiter"(limit, window) {
    const limiter = promisify(require("redis-rate-limiter").create({ redis: await nodeRedis3(), key: (key) => `p${limit}${key}`, limit, window }));
    return {
      async take(key) {
        const { over, current } = await limiter(key);
        return [!over, limit - current];
      },
    };
  },

  async "ratelimit.js"(limit, interval) {
    const { RateLimit } = require("ratelimit.js");
    const limiter = new RateLimit(await nodeRedis3(), [{ interval, limit }], { prefix: `p${limit}` });
    return { take: async (key) => !(await promisify(limiter.incr.bind(limiter))(key)) };
  },

  async "sliding-window-rate-limiter"(limit, seconds) {
    const { SlidingWindowRateLimiter } = await import("sliding-window-rate-limiter");
    const limiter = SlidingWindowRateLimiter.createLimiter({ interval: seconds * 1000, redis: connect() });
    return {
      async take(key) {
        const { token, usage } = await limiter.reserve(`p${limit}${key}`, limit);
        return [token !== undefined && token !== null, limit - usage];
      },
    };
  },

  async "redis-bucket"(limit, seconds) {
    const test = require("redis-bucket").create({ client: await nodeRedis3(), prefix: `p${limit}`, rate: { flow: limit / seconds, burst: limit } });
    return { take: async (key) => (await test(key)).allow };
  },
};

const { version } = JSON.parse(readFileSync(new URL(`node_modules/${packageName}/package.json`, import.meta.url)));
console.log("version", version);
await play(libraries[library]);
process.exit(0); // the connections are open
