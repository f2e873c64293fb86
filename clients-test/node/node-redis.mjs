// The session in node-redis, for example: node node-redis.mjs redis-6.
import { address, between, binaryKeys, expect, expectPipelined, hour, main, refusal, restart, sorted, warnings } from './session.mjs'

const version = process.argv[2]
const { commandOptions, createClient, createCluster, RESP_TYPES } = await import(version)

const at = name => `redis://${process.env[name]}`
const token = (key, ...n) => ['RL.TOKEN', key, '10', '10/h', ...n]

// Returns a connected client. Without a listener for errors they would end the program.
async function connected(options) {
  const client = createClient(options)
  client.on('error', () => {})
  await client.connect()
  return client
}

const client = await connected({ url: at('LIMITSRV_ADDR') })

// Returns the keys of client as bytes.
async function scan() {
  const found = []
  if (version === 'redis-4') {
    let cursor = 0
    do {
      const page = await client.scan(commandOptions({ returnBuffers: true }), cursor)
      found.push(...page.keys)
      cursor = page.cursor
    } while (cursor.toString() !== '0')
    return found
  }
  const raw = client.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer })
  for await (const keys of raw.scanIterator()) found.push(...keys)
  return found
}

// A case for connections with a version of RESP.
const protocol = number => async () => {
  const conn = await connected({ url: at('LIMITSRV_ADDR'), RESP: number })
  const hello = await conn.sendCommand(['HELLO'])
  expect(Array.isArray(hello) ? hello[hello.indexOf('proto') + 1] : hello.proto, number)
  expect(await conn.sendCommand(token(`resp${number}`)), [1, 10, 9, 0, 360000])
  expect(await conn.sendCommand(['RL.PEEK', 'no-such-key']), null)
  await conn.quit()
}

await main({ call: (...words) => client.sendCommand(words), ping: () => client.ping() }, {
  connect: async () => {
    const fresh = createClient({ url: at('LIMITSRV_ADDR') })
    fresh.on('error', error => warnings.push(error.message))
    await fresh.connect()
    expect(await fresh.ping(), 'PONG')
    await fresh.quit()
    expect(warnings, [])
  },
  pipeline: async () => {
    const pipeline = client.multi()
    for (let i = 0; i < 100; i++) pipeline.addCommand(['RL.TOKEN', 'pipe', '50', '50/h'])
    expectPipelined(await pipeline.execAsPipeline())
  },
  transaction: async () => {
    expect(await client.multi().addCommand(token('tx', '4')).addCommand(['RL.LOG', 'tx-log', '2', '1h']).exec(),
      [[1, 10, 6, 0, 1440000], [1, 2, 1, 0, hour]])
    const error = await refusal(client.multi().addCommand(['RL.TOKEN', 'tx']).exec())
    expect(error.message, version === 'redis-4' ? 'EXECABORT Transaction discarded because of previous errors.'
      : "ERR wrong number of arguments for 'rl.token' command; usage: RL.TOKEN key capacity rate [n] [PARTIAL] [SHADOW] [ONCE id [FOR duration]]")
  },
  'binary-keys': async () => {
    for (const key of binaryKeys) {
      expect(await client.sendCommand(token(key)), [1, 10, 9, 0, 360000])
      expect(await client.sendCommand(['RL.PEEK', key]), ['TOKEN', 10, 9, 0, between(300000, 360000)])
    }
    const found = await scan()
    expect(sorted(found.filter(key => binaryKeys.some(k => k.equals(key)))), sorted(binaryKeys))
  },
  resp2: protocol(2),
  resp3: version === 'redis-4' ? null : protocol(3),
  reconnect: async () => {
    const lasting = await connected({ url: at('LIMITSRV_RESTART_ADDR') })
    expect(await lasting.sendCommand(token('again', '4')), [1, 10, 6, 0, 1440000])
    await restart()
    expect(await lasting.sendCommand(token('again', '4')), [1, 10, 6, 0, 1440000])
    await lasting.quit()
  },
  'wrong-password': async () => {
    const guarded = { url: at('LIMITSRV_PASSWORD_ADDR'), socket: { reconnectStrategy: false } }
    const rejected = await refusal(connected({ ...guarded, password: 'wrong' }))
    expect(rejected.message.split(' ')[0], 'WRONGPASS')
    const anonymous = await refusal(connected(guarded).then(client => client.sendCommand(token('k'))))
    expect(anonymous.message.split(' ')[0], 'NOAUTH')
  },
  password: async () => {
    const known = await connected({ url: at('LIMITSRV_PASSWORD_ADDR'), password: process.env.LIMITSRV_PASSWORD })
    expect(await known.sendCommand(token('k')), [1, 10, 9, 0, 360000])
    await known.quit()
  },
  cluster: async () => {
    const nodes = createCluster({ rootNodes: [{ url: at('LIMITSRV_CLUSTER_ADDR') }] })
    await nodes.connect()
    for (let i = 0; i < 32; i++) {
      expect(await nodes.sendCommand(`k${i}`, false, token(`k${i}`)), [1, 10, 9, 0, 360000])
    }
    for (let i = 0; i < 32; i++) {
      expect(await nodes.sendCommand(`k${i}`, true, ['RL.PEEK', `k${i}`]), ['TOKEN', 10, 9, 0, between(300000, 360000)])
    }
    await nodes.quit()
  },
})
