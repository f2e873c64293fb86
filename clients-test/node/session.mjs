// The cases of single commands, the checks of replies, and the lines for the runner.
import { isDeepStrictEqual, promisify } from 'node:util'
import { execFile } from 'node:child_process'

export const hour = 3600000

// Any integer from low to high.
export const between = (low, high) => ({ low, high })

const show = value => JSON.stringify(value, (_, v) => (v?.low === undefined ? v : `${v.low}..${v.high}`))

function matches(got, want) {
  if (want?.low !== undefined) return Number.isInteger(got) && got >= want.low && got <= want.high
  if (!Array.isArray(want)) return isDeepStrictEqual(got, want)
  return Array.isArray(got) && got.length === want.length && want.every((w, i) => matches(got[i], w))
}

export function expect(got, want) {
  if (!matches(got, want)) throw new Mismatch(`got ${show(got)}, want ${show(want)}`)
}

class Mismatch extends Error {}

// Returns the error with which a promise is rejected.
export async function refusal(promise) {
  let reply
  try {
    reply = await promise
  } catch (error) {
    return error
  }
  throw new Mismatch(`got ${show(reply)}, want an error`)
}

// The output of console.warn and console.error, and Node's own warnings.
export const warnings = []
console.warn = console.error = (...words) => warnings.push(words.join(' '))
process.on('warning', warning => warnings.push(warning.message))

export const address = name => {
  const [host, port] = process.env[name].split(':')
  return { host, port: Number(port) }
}

export const restart = () => promisify(execFile)(process.env.LIMITSRV_RESTART)

// A case is a function of call, which sends the words of a command and returns its
// reply. All words are strings, because some clients accept nothing else.
const decisions = {
  'decide-token': async call => {
    const token = (...n) => call('RL.TOKEN', 'token', '10', '10/h', ...n)
    const reset = between(3540000, hour)
    expect(await token(), [1, 10, 9, 0, 360000])
    expect(await token('9'), [1, 10, 0, 0, reset])
    expect(await token(), [0, 10, 0, between(300000, 360000), reset])
    expect(await token('11'), [0, 10, 0, -1, reset])
  },
  'decide-leaky': async call => {
    const leaky = () => call('RL.LEAKY', 'leaky', '2', '2/h')
    const half = between(1740000, 1800000)
    expect(await leaky(), [1, 2, 1, 0, 1800000])
    expect(await leaky(), [1, 2, 0, half, between(3540000, hour)])
    expect(await leaky(), [0, 2, 0, half, between(3540000, hour)])
  },
  'decide-fixed': async call => {
    const first = await call('RL.FIXED', 'fixed', '2', 'year')
    expect(first, [1, 2, 1, 0, between(1, 366 * 24 * hour)])
    const second = await call('RL.FIXED', 'fixed', '2', 'year', '2')
    expect(second, [0, 2, 1, between(first[4] - 60000, first[4]), second[3]])
  },
  'decide-slide': async call => {
    const first = await call('RL.SLIDE', 'slide', '2', '365d')
    expect(first, [1, 2, 1, 0, between(1, 2 * 365 * 24 * hour)])
    const second = await call('RL.SLIDE', 'slide', '2', '365d', '2')
    expect(second, [0, 2, 1, between(1, first[4]), between(first[4] - 60000, first[4])])
  },
  'decide-log': async call => {
    const log = (...rest) => call('RL.LOG', 'log', '2', '1h', ...rest)
    const reset = between(3540000, hour)
    expect(await log(), [1, 2, 1, 0, hour])
    expect(await log('2'), [0, 2, 1, reset, reset])
    expect(await log('2', 'PARTIAL'), [1, 2, 0, 0, reset])
    expect(await log('1', 'SHADOW'), [1, 2, 0, reset, reset])
  },
  'acquire-release': async call => {
    const acquire = id => call('RL.ACQUIRE', 'lease', '1', '1h', id)
    const reset = between(3540000, hour)
    expect(await acquire('a'), [1, 1, 0, 0, hour])
    expect(await acquire('b'), [0, 1, 0, reset, reset])
    expect(await call('RL.RELEASE', 'lease', 'a'), 1)
    expect(await call('RL.RELEASE', 'lease', 'a'), 0)
    expect(await acquire('b'), [1, 1, 0, 0, hour])
  },
  all: async call => {
    const both = () => call('RL.ALL', 'TOKEN', 'all-a', '10', '10/h', '1', 'LOG', 'all-b', '1', '1h', '1')
    const reset = between(3540000, hour)
    expect(await both(), [1, 1, [1, 10, 9, 0, 360000], [1, 1, 0, 0, hour]])
    expect(await both(), [0, 1, [1, 10, 9, 0, between(300000, 360000)], [0, 1, 0, reset, reset]])
  },
  'peek-refund-charge': async call => {
    expect(await call('RL.PEEK', 'tab'), null)
    expect(await call('RL.REFUND', 'tab', '1'), null)
    expect(await call('RL.CHARGE', 'tab', '1'), null)
    expect(await call('RL.TOKEN', 'tab', '10', '10/h', '4'), [1, 10, 6, 0, 1440000])
    expect(await call('RL.PEEK', 'tab'), ['TOKEN', 10, 6, 0, between(1380000, 1440000)])
    const repaid = between(660000, 720000)
    expect(await call('RL.REFUND', 'tab', '2'), [1, 10, 8, 0, repaid])
    expect(await call('RL.CHARGE', 'tab', '10'), [1, 10, 0, repaid, between(4260000, 4320000)])
    expect(await call('RL.RESET', 'tab'), 1)
  },
  errors: async (call, ping) => {
    const text = async (...words) => (await refusal(call(...words))).message
    expect(await text('RL.NOSUCH', 'k'), "ERR unknown command 'RL.NOSUCH', with args beginning with: 'k' ")
    expect(await text('RL.TOKEN', 'k'), "ERR wrong number of arguments for 'rl.token' command; usage: RL.TOKEN key capacity rate [n] [PARTIAL] [SHADOW] [ONCE id [FOR duration]]")
    expect(await text('RL.TOKEN', 'k', '-1', '1'),
      "ERR capacity must be a whole number from 0 to 1000000000000, got '-1'")
    expect(await ping(), 'PONG')
  },
  wrongtype: async call => {
    await call('RL.TOKEN', 'kind', '10', '10/h')
    expect((await refusal(call('RL.FIXED', 'kind', '10', '60'))).message.split(':')[0],
      'WRONGTYPE Operation against a key holding the wrong kind of value')
  },
}

// The expected replies to a pipeline of 100 times RL.TOKEN k 50 50/h.
export function expectPipelined(replies) {
  expect(replies.map(reply => reply[0]), [...Array(50).fill(1), ...Array(50).fill(0)])
  expect(replies.map(reply => reply[2]), [...Array(50).keys()].reverse().concat(Array(50).fill(0)))
}

export const binaryKeys = [Buffer.from([...Array(256).keys()]), Buffer.from('a\r\nb'), Buffer.from([0])]

export const sorted = keys => keys.map(key => key.toString('latin1')).sort()

// Runs the common cases and a client's own; null is a case that the client does not
// support.
export async function main({ call, ping }, cases) {
  let failed = false
  for (const [name, body] of Object.entries({ ...decisions, ...cases })) {
    if (name === 'cluster' && !process.env.LIMITSRV_CLUSTER_ADDR) continue
    if (body === null) {
      console.log('none', name)
      continue
    }
    try {
      await body(call, ping)
      console.log('ok', name)
    } catch (error) {
      failed = true
      const message = error instanceof Mismatch ? error.message : `got ${error.stack}, want no error`
      console.log('FAIL', `${name}:`, message.replaceAll('\n', ' '))
    }
  }
  process.exit(failed ? 1 : 0)
}
