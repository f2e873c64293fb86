// The session in ioredis, for example: node ioredis.mjs ioredis-6.
import { address, between, binaryKeys, expect, expectPipelined, hour, main, refusal, restart, sorted, warnings } from './session.mjs'

const version = process.argv[2]
const { Redis, Cluster } = await import(version)

const redis = new Redis(address('LIMITSRV_ADDR'))

// Returns the first error event of a client that can't log in.
const firstError = client => new Promise(resolve => client.once('error', resolve))

// A case for connections with a version of RESP.
const protocol = number => async () => {
  const conn = new Redis({ ...address('LIMITSRV_ADDR'), protocol: number })
  const hello = await conn.call('HELLO')
  expect(hello[hello.indexOf('proto') + 1], number)
  expect(await conn.call('RL.TOKEN', `resp${number}`, 10, '10/h'), [1, 10, 9, 0, 360000])
  expect(await conn.call('RL.PEEK', 'no-such-key'), null)
  await conn.quit()
}

await main({ call: (...words) => redis.call(...words), ping: () => redis.ping() }, {
  connect: async () => {
    const fresh = new Redis(address('LIMITSRV_ADDR'))
    expect(await fresh.ping(), 'PONG')
    await fresh.quit()
    expect(warnings, [])
  },
  pipeline: async () => {
    const pipeline = redis.pipeline()
    for (let i = 0; i < 100; i++) pipeline.call('RL.TOKEN', 'pipe', 50, '50/h')
    const results = await pipeline.exec()
    expect(results.map(([error]) => error), Array(100).fill(null))
    expectPipelined(results.map(([, reply]) => reply))
  },
  transaction: async () => {
    expect(await redis.multi().call('RL.TOKEN', 'tx', 10, '10/h', 4).call('RL.LOG', 'tx-log', 2, '1h').exec(),
      [[null, [1, 10, 6, 0, 1440000]], [null, [1, 2, 1, 0, hour]]])
    const error = await refusal(redis.multi().call('RL.TOKEN', 'tx').exec())
    expect(error.message, 'EXECABORT Transaction discarded because of previous errors.')
    await redis.watch('tx')
    const other = redis.duplicate()
    await other.call('RL.TOKEN', 'tx', 10, '10/h')
    await other.quit()
    expect(await redis.multi().call('RL.TOKEN', 'tx', 10, '10/h').exec(), null)
  },
  'binary-keys': async () => {
    for (const key of binaryKeys) {
      expect(await redis.call('RL.TOKEN', key, 10, '10/h'), [1, 10, 9, 0, 360000])
      expect(await redis.call('RL.PEEK', key), ['TOKEN', 10, 9, 0, between(300000, 360000)])
    }
    const found = []
    for await (const keys of redis.scanBufferStream()) found.push(...keys)
    expect(sorted(found.filter(key => binaryKeys.some(k => k.equals(key)))), sorted(binaryKeys))
  },
  resp2: protocol(2),
  resp3: version === 'ioredis-5' ? null : protocol(3),
  reconnect: async () => {
    const lasting = new Redis(address('LIMITSRV_RESTART_ADDR'))
    expect(await lasting.call('RL.TOKEN', 'again', 10, '10/h', 4), [1, 10, 6, 0, 1440000])
    await restart()
    expect(await lasting.call('RL.TOKEN', 'again', 10, '10/h', 4), [1, 10, 6, 0, 1440000])
    await lasting.quit()
  },
  'wrong-password': async () => {
    const guarded = { ...address('LIMITSRV_PASSWORD_ADDR'), retryStrategy: null }
    const rejected = new Redis({ ...guarded, password: 'wrong' })
    expect((await firstError(rejected)).message.split(' ')[0], 'WRONGPASS')
    const anonymous = new Redis(guarded)
    const error = await firstError(anonymous)
    expect(error.message.split(' ')[0], 'NOAUTH')
    anonymous.disconnect()
  },
  password: async () => {
    const known = new Redis({ ...address('LIMITSRV_PASSWORD_ADDR'), password: process.env.LIMITSRV_PASSWORD })
    expect(await known.call('RL.TOKEN', 'k', 10, '10/h'), [1, 10, 9, 0, 360000])
    await known.quit()
  },
  cluster: async () => {
    const nodes = new Cluster([address('LIMITSRV_CLUSTER_ADDR')])
    for (let i = 0; i < 32; i++) expect(await nodes.call('RL.TOKEN', `k${i}`, 10, '10/h'), [1, 10, 9, 0, 360000])
    for (let i = 0; i < 32; i++) {
      expect(await nodes.call('RL.PEEK', `k${i}`), ['TOKEN', 10, 9, 0, between(300000, 360000)])
    }
    await nodes.quit()
  },
})
