import { randomBytes } from 'node:crypto'
import { expect, it } from 'vitest'
import { createTestDatabase, hasPostgres } from '../postgres.ts'
import { tabbat } from '../process/tabbat.ts'
import { createNodes } from './node.ts'

it.skipIf(!hasPostgres())('three nodes count one rate limit', async ({ onTestFinished }) => {
  const nodes = await createNodes(3, {
    TABBAT_DATABASE_URL: await createTestDatabase(),
    TABBAT_ROOT_KEY: randomBytes(32).toString('hex'),
    TABBAT_RATE_LIMIT: '100',
    TABBAT_LOG_LEVEL: 'silent',
  })
  onTestFinished(async () => void (await Promise.all(nodes.map(({ kill }) => kill()))))
  await Promise.all(nodes.map(({ start }) => start()))
  const [{ settings }] = nodes as [(typeof nodes)[0]]
  const made = await tabbat(settings, 'keys', 'create', '--name', 'x', '--mode', 'test', '--json')
  const { key } = JSON.parse(made.stdout) as { key: string }
  const ask = async (url: string) => {
    const response = await fetch(`${url}/api/v2/sme-data/list`, {
      headers: { authorization: `Bearer ${key}` },
    })
    await response.arrayBuffer()
    return response.status
  }
  const askAll = () =>
    Promise.all(Array.from({ length: 300 }, (_, index) => ask(nodes[index % 3]?.url as string)))
  const statuses = await askAll()
  const countAllowed = () => statuses.filter((status) => status === 200).length
  // A process that waited too long for the database on a busy machine has refused, and asks again after a second.
  await expect.poll(async () => countAllowed() >= 95 || statuses.push(...(await askAll())) === 0).toBe(true)
  expect(new Set(statuses)).toEqual(new Set([200, 429]))
  expect(countAllowed()).toBeLessThanOrEqual(110)
})
