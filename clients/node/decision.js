// Limits, and the decisions of limitsrv: { allowed, limit, remaining, wait, reset, name, policies, reason },
// times in milliseconds, wait -1 if the request can never pass, limit -1 without a limit.

const ALGORITHMS = ['TOKEN', 'FIXED', 'SLIDE', 'LOG']

export function checkLimit(what, limit) {
  const { requests, per, burst = 1, algorithm = 'TOKEN' } = limit ?? {}
  if (!Number.isSafeInteger(requests) || requests < 1 || !(per >= 0.001) || !Number.isSafeInteger(burst) || burst < 1) {
    throw new TypeError(`limitsrv: ${what} needs requests from 1 on and per, seconds from 0.001 on, got ${JSON.stringify(limit)}`)
  }
  if (!ALGORITHMS.includes(algorithm)) throw new TypeError(`limitsrv: the algorithm is ${ALGORITHMS.join(', ')}, got ${algorithm}`)
}

// The capacity of a bucket, or the limit of a window.
const quota = ({ requests, burst, algorithm = 'TOKEN' }) => (algorithm === 'TOKEN' && burst ? burst : requests)

// The arguments for one token of a key, in the form of RL.ALL.
export function argumentsOf(limit, key) {
  const { requests, per, algorithm = 'TOKEN' } = limit
  const time = `${Math.round(per * 1000)}ms`
  return [algorithm, key, String(quota(limit)), algorithm === 'TOKEN' ? `${requests}/${time}` : time, '1']
}

// An item of the header RateLimit-Policy: its w is the window in seconds, for a bucket the time to fill it.
export function policy(name, limit) {
  const { requests, per, algorithm = 'TOKEN' } = limit
  const window = algorithm === 'TOKEN' ? per * quota(limit) / requests : per
  return `"${name}";q=${quota(limit)};w=${Math.ceil(window)}`
}

// The quoted name at the begin of an item of the headers RateLimit and RateLimit-Policy.
export const nameOf = item => item.replace(/;[rq]=[^"]*$/, '')

// Reads the five integers at the begin of a reply.
export function parse(reply) {
  const five = Array.isArray(reply) ? reply.slice(0, 5).map(Number) : []
  if (five.length !== 5 || !five.every(Number.isSafeInteger)) throw unexpected(reply)
  const [allowed, limit, remaining, wait, reset] = five
  return { allowed: allowed !== 0, limit, remaining, wait, reset, name: '', policies: '', reason: '' }
}

export const unexpected = reply => new Error(`limitsrv: an unexpected reply: ${JSON.stringify(reply)}`)

const seconds = millis => Math.ceil(millis / 1000)

// The headers of a response to which before has led, the decisions of other limits, to which decision is
// added. X-RateLimit-* are of the limit that denies, or has the least remaining.
export function headersOf(decision, before) {
  before.push(decision)
  const headers = new Map()
  const limits = before.filter(({ limit }) => limit >= 0)
  if (limits.length) {
    const shown = decision.allowed || decision.limit < 0 ? limits.reduce((least, d) => (d.remaining < least.remaining ? d : least)) : decision
    headers.set('X-RateLimit-Limit', String(shown.limit))
    headers.set('X-RateLimit-Remaining', String(shown.remaining))
    headers.set('X-RateLimit-Reset', String(seconds(shown.reset)))
  }
  const policies = before.map(d => d.policies).filter(Boolean)
  if (policies.length) headers.set('RateLimit-Policy', policies.join(', '))
  const states = before.filter(d => d.name).map(stateOf)
  if (states.length) headers.set('RateLimit', states.join(', '))
  if (!decision.allowed && decision.wait >= 0) headers.set('Retry-After', String(Math.max(1, seconds(decision.wait))))
  return headers
}

function stateOf({ name, allowed, remaining, wait, reset }) {
  const left = allowed ? seconds(reset) : Math.max(1, seconds(wait))
  return `${name};r=${remaining}${wait < 0 ? '' : `;t=${left}`}`
}
