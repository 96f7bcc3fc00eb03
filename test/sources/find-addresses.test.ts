import { createSocket } from 'node:dgram'
import { promises } from 'node:dns'
import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { askNameServers, createFindAddresses, type FindAddresses } from '../../src/sources/find-addresses.ts'
import { createLookup, PrivateAddress } from '../../src/sources/public-address.ts'

const PUBLIC = [{ address: '8.8.8.8', family: 4 }]
const OTHER = [{ address: '9.9.9.9', family: 4 }]
const never: FindAddresses = () => new Promise(() => {})
const fail =
  (code: string): FindAddresses =>
  async () => {
    throw Object.assign(new Error(code), { code })
  }

describe('the addresses of a host', () => {
  it('are asked of the system, and once for all who ask at the same time', async () => {
    const asked: string[] = []
    const find = createFindAddresses(async (host) => {
      asked.push(host)
      return PUBLIC
    }, never)
    expect(await Promise.all([find('a.test'), find('a.test'), find('a.test')])).toEqual([
      PUBLIC,
      PUBLIC,
      PUBLIC,
    ])
    expect(asked).toEqual(['a.test'])
    await find('a.test')
    expect(asked).toEqual(['a.test', 'a.test'])
  })

  it('are not there if the system says so, whatever name servers would say', async () => {
    const find = createFindAddresses(fail('ENOTFOUND'), async () => PUBLIC)
    await expect(find('a.test')).rejects.toMatchObject({ code: 'ENOTFOUND' })
  })

  it('are asked of the name servers while the system is busy with a host whose servers are silent', async () => {
    const asked: string[] = []
    const system: FindAddresses = (host) => {
      asked.push(host)
      return never(host)
    }
    const find = createFindAddresses(system, (host) =>
      host === 'dead.test' ? never(host) : Promise.resolve(PUBLIC),
    )
    for (let count = 0; count < 20; count++) void find('dead.test')
    void find('other-dead.test')
    expect(await find('vendor.test')).toEqual(PUBLIC)
    // One thread of the system, at most.
    expect(asked).toEqual(['dead.test'])
  })

  it('are those of before while nobody answers', async () => {
    let isDown = false
    const find = createFindAddresses(async (host) => (isDown ? never(host) : PUBLIC), never)
    await find('vendor.test')
    isDown = true
    expect(await find('vendor.test')).toEqual(PUBLIC)
    expect(await find('vendor.test')).toEqual(PUBLIC)
  })

  it('are those of before if only the name servers answer, and do not know it', async () => {
    let isDown = false
    const find = createFindAddresses(async (host) => (isDown ? never(host) : PUBLIC), fail('ENOTFOUND'))
    await find('in-the-file-of-hosts')
    isDown = true
    expect(await find('in-the-file-of-hosts')).toEqual(PUBLIC)
  })

  it('are new as soon as the system answers again, also after a failure', async () => {
    const answers = [fail('EAI_AGAIN'), async () => PUBLIC, async () => OTHER]
    const find = createFindAddresses((host) => (answers.shift() ?? never)(host), never)
    await expect(find('vendor.test')).rejects.toMatchObject({ code: 'EAI_AGAIN' })
    expect(await find('vendor.test')).toEqual(PUBLIC)
    expect(await find('vendor.test')).toEqual(OTHER)
  })

  it('are the reason of the system if both fail', async () => {
    const late: FindAddresses = async (host) => {
      await new Promise((resolve) => setTimeout(resolve, 400))
      return fail('EAI_AGAIN')(host)
    }
    const find = createFindAddresses(late, fail('ESERVFAIL'))
    await expect(find('a.test')).rejects.toMatchObject({ code: 'EAI_AGAIN' })
  })
})

describe('a name server', () => {
  /** Answers a question of type A with 192.0.2.7, and one of another type with nothing. */
  async function startNameServer() {
    const socket = createSocket('udp4')
    socket.on('message', (question, { port, address }) => {
      const isFour = question.readUInt16BE(question.indexOf(0, 12) + 1) === 1
      const name = question.subarray(12, question.indexOf(0, 12) + 5)
      const head = Buffer.from([
        question[0] ?? 0,
        question[1] ?? 0,
        0x81,
        0x80,
        0,
        1,
        0,
        isFour ? 1 : 0,
        0,
        0,
        0,
        0,
      ])
      const answer = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, 7])
      socket.send(Buffer.concat([head, name, ...(isFour ? [answer] : [])]), port, address)
    })
    socket.bind(0, '127.0.0.1')
    await once(socket, 'listening')
    return socket
  }

  it('is asked for both kinds of address', async () => {
    const server = await startNameServer()
    const resolver = new promises.Resolver({ timeout: 1000, tries: 2 })
    resolver.setServers([`127.0.0.1:${server.address().port}`])
    expect(await askNameServers(resolver, 'vendor.test')).toEqual([{ address: '192.0.2.7', family: 4 }])
    server.close()
  })
})

describe('a look-up for a connection', () => {
  const lookUp = (allowPrivate: boolean, found: FindAddresses, all: boolean) =>
    new Promise((resolve, reject) =>
      createLookup(allowPrivate, found)('a.test', { all }, (error, ...result) =>
        error ? reject(error) : resolve(result),
      ),
    )
  const MIXED = [{ address: '10.0.0.1', family: 4 }, ...PUBLIC, { address: '::1', family: 6 }]

  it('has public addresses alone, unless private ones are allowed', async () => {
    expect(await lookUp(false, async () => MIXED, true)).toEqual([PUBLIC])
    expect(await lookUp(false, async () => MIXED, false)).toEqual(['8.8.8.8', 4])
    expect(await lookUp(true, async () => MIXED, true)).toEqual([MIXED])
  })

  it('is refused if all addresses are private', async () => {
    await expect(lookUp(false, async () => MIXED.slice(0, 1), true)).rejects.toThrow(PrivateAddress)
  })

  it('fails as what it asks', async () => {
    await expect(lookUp(false, fail('ENOTFOUND'), true)).rejects.toMatchObject({ code: 'ENOTFOUND' })
  })
})
