import { randomBytes } from 'node:crypto'
import { expect, it } from 'vitest'
import { dojah } from '../../src/simulator/dojah.ts'
import { toPhoneCoreOf } from '../../src/simulator/people.ts'
import { openStandIn } from '../../src/simulator/stand-in.ts'
import { createTestDatabase, hasPostgres } from '../postgres.ts'
import { tabbat } from '../process/tabbat.ts'
import { type ClusterNode, createNodes } from './node.ts'
import { waitUntil } from './programs.ts'

const NIN = '12345678901'

/** Usually about 3 seconds. The lease alone would last 30. */
const SOON_MS = 15_000

/** Both budgets of paid calls: the call of the dead node counts, because the vendor may have billed it. */
it.skipIf(!hasPostgres()).each([
  { paidCalls: 1, status: 503, calls: 1 },
  { paidCalls: 2, status: 200, calls: 2 },
])(
  'after kill -9 of a node during a paid call, another one has the Idempotency-Key in seconds ($paidCalls paid calls)',
  async ({ paidCalls, status, calls }) => {
    const vendor = await openStandIn(dojah)
    vendor.fail('slow_headers')
    const nodes = await createNodes(2, {
      ...vendor.settings,
      TABBAT_NIN_SOURCES: 'dojah',
      TABBAT_PAID_CALLS: String(paidCalls),
      TABBAT_DATABASE_URL: await createTestDatabase(),
      TABBAT_ROOT_KEY: randomBytes(32).toString('hex'),
      TABBAT_LOG_LEVEL: 'silent',
    })
    const [dying, other] = nodes as [ClusterNode, ClusterNode]
    try {
      await Promise.all(nodes.map(({ start }) => start()))
      const made = await tabbat(dying.settings, 'keys', 'create', '--name', 'x', '--mode', 'live', '--json')
      const { key } = JSON.parse(made.stdout) as { key: string }
      const verify = (url: string) =>
        fetch(`${url}/api/v2/kyc/verify-nin`, {
          method: 'POST',
          headers: {
            authorization: `Bearer ${key}`,
            'content-type': 'application/json',
            'idempotency-key': 'order-1',
          },
          body: JSON.stringify({ nin: NIN, phone: `0${toPhoneCoreOf(NIN)}` }),
        })
      const lost = verify(dying.url).catch(() => 'lost')
      await expect.poll(vendor.count).toBe(1)
      expect((await verify(other.url)).status).toBe(409)
      await dying.kill()
      expect(await lost).toBe('lost')
      vendor.fail(undefined)
      let last = await verify(other.url)
      await waitUntil(
        'the other node has the key',
        async () => {
          if (last.status === 409) last = await verify(other.url)
          return last.status !== 409
        },
        SOON_MS,
      )
      expect([last.status, vendor.count()]).toEqual([status, calls])
    } finally {
      await Promise.all(nodes.map(({ kill }) => kill()))
      await vendor.close()
    }
  },
)
