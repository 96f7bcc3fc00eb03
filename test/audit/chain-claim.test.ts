import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import type { AuditTable } from '../../src/audit/audit-table.ts'
import {
  claimChain,
  countOtherProcesses,
  createOwner,
  hasCrashed,
  isChainOf,
  isInUse,
  loadNodeName,
  readNodeName,
} from '../../src/audit/chain-claim.ts'
import { EMPTY_HEAD, linkEntries } from '../../src/audit/row.ts'
import type { Store } from '../../src/context/store.ts'
import { newFolder, SQLITE } from '../engines.ts'

const MONTH = 'y2026m11'
const NODE = 'aaaa0001'
/** A process of this machine that has ended: larger than any id that Linux or macOS gives. */
const ENDED = `${hostname()}:99999999:a`
const RUNNING = `${hostname()}:${process.pid}:a`
const ELSEWHERE = `other-${hostname()}:1:a`
const ALIVE_MS = 170_000
const DEAD_MS = 190_000

let store: Store
let table: AuditTable
beforeEach(async () => {
  store = await (await SQLITE.createPlace()).open()
  onTestFinished(() => store.close())
  table = { ...store.audit, openMonth: async () => MONTH }
})

type Facts = {
  readonly owner?: string | null
  /** Since the last sign of life. */
  readonly ageMs?: number
  readonly isRetired?: boolean
  readonly isArchived?: boolean
  /** How far its last row is in the future. */
  readonly aheadMs?: number
}

async function write(chain: string, facts: Facts = {}): Promise<string> {
  const { owner = null, ageMs = 0, isRetired = false, isArchived = false, aheadMs } = facts
  await store.audit.claim(chain, null, 'x', 0)
  if (aheadMs !== undefined) {
    const time = new Date(Date.now() + aheadMs).toISOString()
    const rows = linkEntries(chain, EMPTY_HEAD, [{ phase: 'outcome', time }])
    await store.audit.append({ rows: store.audit.packRows(rows) })
  }
  const beatAt = Date.now() - ageMs
  await store.database
    .prepare(
      'UPDATE audit_chains SET owner = $2, beat_at = $3, retired_at = $4, archive = $5 WHERE chain = $1',
    )
    .run(chain, owner, beatAt, isRetired ? beatAt : null, isArchived ? 1 : null)
  return chain
}

const claim = () => claimChain(table, NODE, 'me')
const ownerOf = async (chain: string) => (await table.chains()).find((each) => each.chain === chain)?.owner

describe('a process claims', () => {
  it('a new chain, if there is none', async () => {
    expect(await claim()).toBe(`${MONTH}-${NODE}-1`)
    expect(await ownerOf(`${MONTH}-${NODE}-1`)).toBe('me')
    expect(await claimChain({ ...table, openMonth: async () => undefined }, NODE, 'me')).toBe(`${NODE}-1`)
  })

  it('the next number, if all of its node are in use', async () => {
    for (const number of [1, 9, 10]) await write(`${MONTH}-${NODE}-${number}`, { owner: RUNNING })
    await write(`${MONTH}-bbbb0001-20`, { owner: ELSEWHERE })
    expect(await claim()).toBe(`${MONTH}-${NODE}-11`)
  })

  it('a free chain of its node before that of another', async () => {
    const other = await write(`${MONTH}-0000aaaa-1`)
    const mine = await write(`${MONTH}-${NODE}-1`)
    expect(await claim()).toBe(mine)
    expect(await claim()).toBe(other)
  })

  it.each([
    ['of its node that was released', 'taken', NODE, { owner: null }],
    ['of its node whose process has ended', 'taken', NODE, { owner: ENDED }],
    ['of its node whose process runs', 'left', NODE, { owner: RUNNING }],
    ['of its node whose process runs and is silent', 'taken', NODE, { owner: RUNNING, ageMs: DEAD_MS }],
    ['of its node that another machine has', 'left', NODE, { owner: ELSEWHERE, ageMs: ALIVE_MS }],
    ['of its node that another machine had', 'taken', NODE, { owner: ELSEWHERE, ageMs: DEAD_MS }],
    ['of its node that is retired', 'left', NODE, { isRetired: true }],
    ['of another node that was released', 'taken', 'bbbb0001', { owner: null }],
    ['of another node with the same host name', 'left', 'bbbb0001', { owner: ENDED, ageMs: ALIVE_MS }],
    ['of another node that is silent', 'taken', 'bbbb0001', { owner: ENDED, ageMs: DEAD_MS }],
    ['of another node that is retired', 'left', 'bbbb0001', { isRetired: true }],
    ['whose last row is old', 'taken', NODE, { aheadMs: -1_000_000 }],
    ['whose last row is a little ahead', 'taken', NODE, { aheadMs: 30_000 }],
    ['whose last row is far ahead', 'left', NODE, { aheadMs: 90_000 }],
  ])('or leaves: a chain %s is %s', async (_what, verdict, node, facts) => {
    const chain = await write(`${MONTH}-${node}-7`, facts)
    const claimed = await claim()
    expect(claimed === chain ? 'taken' : 'left').toBe(verdict)
    expect(await ownerOf(claimed)).toBe('me')
  })

  it('the first that is not ahead', async () => {
    await write(`${MONTH}-${NODE}-1`, { aheadMs: 90_000 })
    const second = await write(`${MONTH}-${NODE}-2`, { aheadMs: 0 })
    await write(`${MONTH}-${NODE}-3`)
    expect(await claim()).toBe(second)
  })

  it('no chain of another month, and none with a month if its month is archived', async () => {
    await write(`y2026m10-${NODE}-1`)
    await write(`${NODE}-4`)
    expect(await claim()).toBe(`${MONTH}-${NODE}-1`)
    await write(`${MONTH}-bbbb0001-1`, { isArchived: true, isRetired: true })
    expect(await claim()).toBe(`${NODE}-4`)
  })

  it('another one if a process was faster', async () => {
    const chain = await write(`${MONTH}-${NODE}-1`)
    const slow = {
      ...table,
      claim: async (...args: Parameters<AuditTable['claim']>) => {
        if (args[0] === chain) await table.claim(chain, null, RUNNING, Date.now())
        return table.claim(...args)
      },
    }
    expect(await claimChain(slow, NODE, 'me')).toBe(`${MONTH}-${NODE}-2`)
    expect(await ownerOf(chain)).toBe(RUNNING)
  })

  it('and gives up what ended processes of its node left in earlier months', async () => {
    const chains = {
      ended: await write(`y2026m10-${NODE}-1`, { owner: ENDED }),
      running: await write(`y2026m10-${NODE}-2`, { owner: RUNNING }),
      other: await write('y2026m10-bbbb0001-1', { owner: ENDED }),
      present: await write(`${MONTH}-${NODE}-1`, { owner: ENDED, aheadMs: 90_000 }),
    }
    const before = await table.chains()
    await claim()
    expect(await ownerOf(chains.ended)).toBe(null)
    expect(await ownerOf(chains.running)).toBe(RUNNING)
    expect(await ownerOf(chains.other)).toBe(ENDED)
    expect(await ownerOf(chains.present)).toBe(ENDED)
    // A released chain is as old as before.
    const ageOf = (list: typeof before) => list.find(({ chain }) => chain === chains.ended)?.beatAt
    expect(ageOf(await table.chains())).toBe(ageOf(before))
  })
})

it.each([
  ['no chain', 'not crashed', undefined],
  ['a chain of an ended process', 'crashed', { owner: ENDED }],
  ['a released chain', 'not crashed', { owner: null }],
  ['a chain in use', 'not crashed', { owner: RUNNING }],
])('a node with %s has %s', async (_what, verdict, facts) => {
  if (facts) await write(`y2026m10-${NODE}-1`, facts)
  await write('y2026m10-bbbb0001-1', { owner: ENDED })
  expect(await hasCrashed(table, NODE)).toBe(verdict === 'crashed')
})

it('counts processes of other nodes that write the log', async () => {
  expect(await countOtherProcesses(table, NODE)).toBe(0)
  await write(`${MONTH}-${NODE}-1`, { owner: ELSEWHERE })
  await write(`${MONTH}-bbbb0001-1`, { owner: ELSEWHERE, ageMs: ALIVE_MS })
  await write(`${MONTH}-bbbb0001-2`, { owner: ENDED })
  await write(`${MONTH}-bbbb0001-3`, { owner: ELSEWHERE, ageMs: DEAD_MS })
  await write(`${MONTH}-bbbb0001-4`)
  await write(`${MONTH}-cccc0001-1`, { owner: ELSEWHERE })
  await write('y2026m10-bbbb0001-1', { owner: 'archived', isArchived: true })
  expect(await countOtherProcesses(table, NODE)).toBe(3)
})

it('knows the node of a chain by its whole name', () => {
  for (const chain of [`${NODE}-1`, `${MONTH}-${NODE}-1`]) expect(isChainOf(NODE, chain)).toBe(true)
  for (const chain of [`${NODE}2-1`, `${MONTH}-b${NODE}-1`, `b-${NODE}-1`, `${MONTH}-bbbb0001-1`])
    expect(isChainOf(NODE, chain)).toBe(false)
})

it('takes a chain for in use unless its process has certainly ended', async () => {
  const facts: [string, Facts][] = [
    ['aaaa-1', { owner: RUNNING }],
    ['aaaa-2', { owner: ENDED }],
    ['aaaa-3', { owner: ELSEWHERE }],
    ['aaaa-4', { owner: ELSEWHERE, ageMs: DEAD_MS }],
    ['aaaa-5', {}],
    // The first process of the machine belongs to somebody else, unless the tests run as root.
    ['aaaa-6', { owner: `${hostname()}:1:a` }],
  ]
  for (const [chain, each] of facts) await write(chain, each)
  expect((await table.chains()).filter(isInUse).map(({ chain }) => chain)).toEqual([
    'aaaa-1',
    'aaaa-3',
    'aaaa-6',
  ])
})

describe('the name of a node', () => {
  it('is created once, and only its user can read it', () => {
    const folder = join(newFolder(), 'not', 'there')
    expect(readNodeName(folder)).toBeUndefined()
    const name = loadNodeName(folder)
    expect(name).toMatch(/^[0-9a-f]{8}$/)
    expect([loadNodeName(folder), readNodeName(folder)]).toEqual([name, name])
    expect(readdirSync(folder)).toEqual(['node.id'])
    expect(readFileSync(join(folder, 'node.id'), 'utf8')).toBe(`${name}\n`)
    expect(statSync(join(folder, 'node.id')).mode & 0o777).toBe(0o600)
    expect(statSync(folder).mode & 0o777).toBe(0o700)
  })

  it('is the one that is there', () => {
    const folder = newFolder()
    writeFileSync(join(folder, 'node.id'), ' given \n')
    expect([loadNodeName(folder), readNodeName(folder)]).toEqual(['given', 'given'])
    expect(readdirSync(folder)).toEqual(['node.id'])
  })
})

it('an owner is a process of this machine, and never the same twice', () => {
  const [one, other] = [createOwner(), createOwner()]
  expect(one).toMatch(new RegExp(`^${hostname()}:${process.pid}:[0-9a-f]{8}$`))
  expect(other).not.toBe(one)
})
