import { randomBytes } from 'node:crypto'
import { expect, it } from 'vitest'
import type { NodeReport } from '../../src/context/nodes.ts'
import { VERSION } from '../../src/version.ts'
import { createTestDatabase, hasPostgres } from '../postgres.ts'
import { tabbat } from '../process/tabbat.ts'
import { createNodes } from './node.ts'
import { waitUntil } from './programs.ts'

it.skipIf(!hasPostgres())('tabbat nodes and /health/ready show every node', async ({ onTestFinished }) => {
  const nodes = await createNodes(2, {
    TABBAT_DATABASE_URL: await createTestDatabase(),
    TABBAT_ROOT_KEY: randomBytes(32).toString('hex'),
    TABBAT_LOG_LEVEL: 'silent',
  })
  onTestFinished(async () => void (await Promise.all(nodes.map(({ kill }) => kill()))))
  await Promise.all(nodes.map(({ start }) => start()))
  const [one, other] = nodes as [(typeof nodes)[0], (typeof nodes)[0]]
  const list = async () => JSON.parse((await tabbat(one.settings, 'nodes', '--json')).stdout) as NodeReport[]
  const count = async () =>
    ((await (await fetch(`${one.url}/health/ready`)).json()) as { nodes: number }).nodes

  await waitUntil('the first node has seen the second', async () => (await count()) === 2)
  const both = await list()
  expect(both.map(({ version, alive, worker }) => [version, alive, worker])).toEqual([
    [VERSION, true, 1],
    [VERSION, true, 1],
  ])
  expect(new Set(both.map(({ node }) => node)).size).toBe(2)

  await other.kill()
  await waitUntil('the first node knows that the second died', async () => (await count()) === 1)
  expect((await list()).map(({ alive }) => alive).toSorted()).toEqual([false, true])
  expect((await tabbat(one.settings, 'nodes')).stdout).toMatch(/dead since 20/)

  expect(await one.stop()).toBe(0)
  expect((await list()).map(({ alive }) => alive)).toEqual([false])
})
