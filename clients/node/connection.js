import { createClient, ErrorReply } from 'redis'
import { argumentsOf, nameOf, parse, unexpected } from './decision.js'

const MAX_REMEMBERED = 10_000 // denied keys

// After FAILURES_TO_PAUSE failures without a success between them, nothing is sent for PAUSE; then one
// request is sent to try again.
const FAILURES_TO_PAUSE = 5
const PAUSE = 250 // ms

const REPORT_PERIOD = 10_000 // ms at least, between two reports of errors

// One connection to limitsrv, which is made anew after a failure, and the memory of denials.
export class Connection {
  #options
  #timeout
  #onError
  #client // a promise of a connected client
  #failures = 0
  #pausedTill = 0
  #reported = -REPORT_PERIOD
  #closed = false
  denied

  constructor({ timeout = 100, remember = 10_000, onError = error => console.warn('limitsrv failed:', error.message), ...options }) {
    const { url } = options // it may have a password: no error shows it
    if (url !== undefined && !(URL.canParse(url) && ['redis:', 'rediss:'].includes(new URL(url).protocol))) {
      throw new TypeError('limitsrv: url must have the form redis://HOST:PORT or rediss://HOST:PORT')
    }
    this.#options = options
    this.#timeout = timeout
    this.#onError = onError
    this.denied = new Memory(remember)
  }

  // Sends a command, and returns its reply or throws within the timeout.
  async command(parts) {
    const now = performance.now()
    if (this.#closed) throw new Error('limitsrv: the limiter is closed')
    if (this.#failures >= FAILURES_TO_PAUSE && now < this.#pausedTill) throw new Error('limitsrv: not asked, because its last answers failed')
    this.#pausedTill = now + PAUSE
    const client = this.#client ??= this.#connect()
    let connected = false
    const ask = opened => {
      connected = true
      return opened.sendCommand(parts)
    }
    try {
      const reply = await within(this.#timeout, client.then(ask))
      this.#failures = 0
      return reply
    } catch (error) {
      if (connected && error instanceof ErrorReply) {
        this.#failures = 0 // an answer in time
      } else {
        this.#failures++
        this.#pausedTill = performance.now() + PAUSE
        if (!(error instanceof Late) || this.#failures >= FAILURES_TO_PAUSE) this.#drop(client)
      }
      throw error
    }
  }

  #connect() {
    const { socket, ...options } = this.#options
    const client = createClient({
      ...options,
      socket: { ...socket, connectTimeout: this.#timeout, reconnectStrategy: false },
      disableOfflineQueue: true,
      disableClientInfo: true,
      maintNotifications: 'disabled',
    })
    client.on('error', () => {}) // the commands get it too
    const connected = client.connect().then(() => client)
    connected.catch(() => {})
    connected.end = () => { try { client.destroy() } catch { /* closed already */ } }
    return connected
  }

  #drop(client) {
    if (this.#client === client) this.#client = undefined
    client.end()
  }

  close() {
    this.#closed = true
    if (this.#client) this.#drop(this.#client)
  }

  report(error) {
    const now = performance.now()
    if (now - this.#reported < REPORT_PERIOD) return
    this.#reported = now
    this.#onError(error)
  }

  // Takes one token of each key or none. A key that is known to be denied is not asked for.
  async takeAll(takes) {
    const policies = takes.map(take => take.policy).join(', ')
    for (const take of takes) {
      const known = this.denied.get(take.key, performance.now())
      if (known) return { ...known, policies }
    }
    const asked = performance.now()
    const reply = await this.command(['RL.ALL', ...takes.flatMap(take => argumentsOf(take.limit, take.key))])
    if (!Array.isArray(reply) || reply.length !== 2 + takes.length) throw unexpected(reply)
    const all = takes.map((take, i) => ({ ...parse(reply[2 + i]), name: nameOf(take.policy), policies }))
    all.forEach((decision, i) => { if (!decision.allowed) this.denied.put(takes[i].key, decision, asked) })
    if (!all[reply[1]]) throw unexpected(reply)
    return all[reply[1]]
  }

  // Decides by the rules of a domain.
  async check(domain, attributes) {
    const key = JSON.stringify([domain, ...attributes])
    const known = this.denied.get(key, performance.now())
    if (known) return known
    const asked = performance.now()
    const reply = await this.command(['RL.CHECK', domain, ...attributes, 'HEADERS'])
    const decision = parse(reply)
    const [, , , , , , reason, pairs] = reply
    decision.reason = String(reason)
    for (let i = 0; i < pairs.length; i += 2) {
      if (pairs[i] === 'RateLimit-Policy') decision.policies = pairs[i + 1]
      if (pairs[i] === 'RateLimit') decision.name = nameOf(pairs[i + 1])
    }
    if (!decision.allowed) this.denied.put(key, decision, asked)
    return decision
  }
}

class Late extends Error {}

function within(ms, promise) {
  let timer
  const late = new Promise((_, reject) => { timer = setTimeout(() => reject(new Late(`limitsrv: no answer in ${ms} ms`)), ms) })
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}

// Denied keys, each until the request would pass and at most for longest milliseconds.
export class Memory {
  #entries = new Map()
  #longest

  constructor(longest) { this.#longest = longest }

  get size() { return this.#entries.size }

  put(key, decision, asked) {
    const lasts = decision.wait < 0 ? this.#longest : Math.min(this.#longest, decision.wait)
    if (lasts <= 0) return
    this.#entries.delete(key)
    if (this.#entries.size >= MAX_REMEMBERED) this.#entries.delete(this.#entries.keys().next().value) // the oldest
    this.#entries.set(key, { decision, asked, until: asked + lasts })
  }

  // The denial of a key as limitsrv would answer now.
  get(key, now) {
    const entry = this.#entries.get(key)
    if (!entry) return undefined
    if (now >= entry.until) {
      this.#entries.delete(key)
      return undefined
    }
    const { decision, asked } = entry
    const passed = Math.floor(now - asked)
    const wait = decision.wait < 0 ? decision.wait : Math.max(0, decision.wait - passed)
    return { ...decision, wait, reset: Math.max(0, decision.reset - passed) }
  }
}
