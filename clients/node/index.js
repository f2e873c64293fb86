import { createHash } from 'node:crypto'
import { isIPv4, isIPv6 } from 'node:net'
import { checkLimit, policy, headersOf } from './decision.js'
import { Connection } from './connection.js'

const MAX_IDENTITY_BYTES = 128 // of the part of a key that a client chooses
const NAME = /^[A-Za-z0-9._-]{1,64}$/

export class Limiter {
  #connection
  #closed
  #names = new Set()

  constructor({ fail = 'open', ...options } = {}) {
    if (fail !== 'open' && fail !== 'closed') throw new TypeError(`limitsrv: fail is 'open' or 'closed', got ${fail}`)
    this.#closed = fail === 'closed'
    this.#connection = new Connection(options)
  }

  command(...parts) { return this.#connection.command(parts.map(String)) }

  close() { this.#connection.close() }

  express(config) {
    const decide = this.#decider(config, req => req.ip ?? '', (req, name) => req.get(name), req => req.path)
    return async (req, res, next) => {
      let refusal
      try {
        refusal = await this.#ask(decide(req), res)
      } catch (error) {
        return next(error) // of config.key, say
      }
      if (!refusal) return next()
      res.status(refusal.status).json(refusal.body)
    }
  }

  fastify(config) {
    const decide = this.#decider(config, req => req.ip ?? '', (req, name) => req.headers[name], req => req.url.split('?', 1)[0])
    return async (request, reply) => {
      const refusal = await this.#ask(decide(request), reply.raw)
      if (refusal) return reply.code(refusal.status).send(refusal.body)
    }
  }

  // Asks, sets the headers of a response of node:http, and returns the status and body of a refusal.
  async #ask(ask, response) {
    let decision
    try {
      decision = await ask()
    } catch (error) {
      this.#connection.report(error)
      if (!this.#closed) return undefined
      keep(response, new Map([['Retry-After', '1']]))
      return { status: 503, body: { error: 'the rate limiter does not answer' } }
    }
    keep(response, headersOf(decision, decisionsOf(response)))
    if (decision.allowed) return undefined
    const body = { error: 'too many requests', retry_after_ms: decision.wait }
    return { status: 429, body: decision.reason ? { ...body, reason: decision.reason } : body }
  }

  // Returns a function of a request that returns a function that asks.
  #decider(config, defaultAddress, header, path) {
    const secret = request => digest(header(request, 'x-api-key') ?? '')
    if (config?.rules !== undefined) {
      const attributes = config.attributes ?? (request => {
        const key = secret(request)
        return { path: path(request), method: request.method, ip: defaultAddress(request), ...(key && { api_key: key }) }
      })
      return request => {
        const described = Object.entries(attributes(request)).flat().map(String)
        return () => this.#connection.check(config.rules, described)
      }
    }
    const { name, perAddress, perKey, key = secret, address = defaultAddress } = config ?? {}
    checkLimit('perAddress', perAddress)
    if (perKey) checkLimit('perKey', perKey)
    this.#claim(name)
    const ofAddress = { policy: policy(`${name}/address`, perAddress), limit: perAddress }
    const ofKey = perKey && { policy: policy(`${name}/key`, perKey), limit: perKey }
    return request => {
      const takes = [{ ...ofAddress, key: `${name}:ip:${bounded(network(String(address(request))))}` }]
      const identity = perKey && key(request)
      if (identity) takes.push({ ...ofKey, key: `${name}:key:${bounded(String(identity))}` })
      return () => this.#connection.takeAll(takes)
    }
  }

  #claim(name) {
    if (typeof name !== 'string' || !NAME.test(name)) {
      throw new TypeError(`limitsrv: a limit needs a name of 1 to 64 of A-Z a-z 0-9 . _ -, got ${JSON.stringify(name)}`)
    }
    if (this.#names.has(name)) {
      throw new Error(`limitsrv: two limits have the name ${JSON.stringify(name)} and would share their counters: use one limit for both, or another name`)
    }
    this.#names.add(name)
  }
}

// The headers of responses: those set here stay when a handler replaces all others.
const kept = new WeakMap()
const decisions = new WeakMap()

function decisionsOf(response) {
  if (!decisions.has(response)) decisions.set(response, [])
  return decisions.get(response)
}

function keep(response, headers) {
  if (!kept.has(response)) {
    kept.set(response, new Map())
    const { writeHead } = response
    response.writeHead = function (...args) {
      for (const [name, value] of kept.get(response)) if (!response.headersSent) response.setHeader(name, value)
      return writeHead.apply(response, args)
    }
  }
  for (const [name, value] of headers) {
    kept.get(response).set(name, value)
    response.setHeader(name, value)
  }
}

export function digest(secret) {
  return secret === '' ? '' : createHash('sha256').update(secret).digest('hex').slice(0, 32)
}

const bounded = identity => (Buffer.byteLength(identity) > MAX_IDENTITY_BYTES ? digest(identity) : identity)

// Returns an IPv4 address, or the /64 network of an IPv6 address: a client may have all addresses of such a network.
export function network(address) {
  const plain = address.split('%', 1)[0].replace(/^::ffff:(?=\d+\.)/i, '')
  if (isIPv4(plain) || !isIPv6(plain)) return plain
  const [head, tail] = plain.replace(/[\d.]+\.\d+$/, '0:0').split('::')
  const left = head ? head.split(':') : []
  const right = tail ? tail.split(':') : []
  const all = tail === undefined ? left : [...left, ...Array(8 - left.length - right.length).fill('0'), ...right]
  return `${all.slice(0, 4).map(part => parseInt(part, 16).toString(16)).join(':')}::/64`
}
