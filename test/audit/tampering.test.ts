import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createSqliteAuditSnapshot } from '../../src/audit/audit-snapshot.ts'
import { findCheckpointFile } from '../../src/audit/checkpoint-file.ts'
import { verifyAuditLog } from '../../src/audit/verify/verify-audit-log.ts'
import { createRandom } from './random.ts'
import { createSampleLog, type SampleLog } from './sample-log.ts'
import { listChanges, TAMPERINGS, type Tamper } from './tamper.ts'
import { verifyPages } from './verify-pages.ts'

const ALL = 500
const KINDS = Object.keys(TAMPERINGS) as (keyof typeof TAMPERINGS)[]
/** Changes of a column are the most varied. */
const timesOf = (kind: string) => {
  const usual = Math.floor(ALL / (KINDS.length + 3))
  return kind === 'changeColumn' ? ALL - usual * (KINDS.length - 1) : usual
}

let log: SampleLog
let database: DatabaseSync

beforeAll(async () => {
  log = await createSampleLog()
  database = new DatabaseSync(join(log.folder, 'tabbat.db'))
  for (const table of ['audit', 'checkpoints', 'field_policies'])
    for (const change of ['update', 'delete']) database.exec(`DROP TRIGGER ${table}_no_${change}`)
})
afterAll(async () => {
  database.close()
  await log.close()
})

/** As one thread verifies a log. What several threads accept must be the same. */
async function verify(withFile: boolean) {
  const file = withFile ? findCheckpointFile(log.file) : undefined
  const options = { publicKey: log.publicKey, file }
  const verdict = await verifyAuditLog(createSqliteAuditSnapshot(database), options)
  expect(await verifyPages(database, options)).toEqual(verdict.sound ? verdict : undefined)
  return verdict
}

it('accepts an unchanged log', async () => {
  for (const withFile of [false, true])
    expect(await verify(withFile)).toMatchObject({
      sound: true,
      rows: 208,
      chains: 3,
      checkpoints: 5,
      unsigned: 0,
    })
})

/** Runs in a transaction that is rolled back, so that every tampering starts with the same log. */
async function tamper(about: string, change: Tamper, seed = 0): Promise<'found' | 'found with the file'> {
  database.exec('BEGIN')
  try {
    const { needsFile, chain, sequence } = change(database, createRandom(seed))
    const { sound, fault } = await verify(needsFile)
    expect(sound, about).toBe(false)
    expect(fault?.reason, about).toMatch(/^[\w ]/)
    if (chain !== undefined && fault?.chain !== null) expect(fault?.chain, about).toBe(chain)
    // A rewritten row is found at the next checkpoint, a deleted or changed one at its position.
    if (sequence !== undefined && fault?.sequence !== null) expect(fault?.sequence, about).toBe(sequence)
    if (!needsFile) return 'found'
    expect((await verify(false)).sound, `${about}, without the file`).toBe(true)
    return 'found with the file'
  } finally {
    database.exec('ROLLBACK')
  }
}

describe(`${ALL} tamperings`, () => {
  it('add up to that number', () => {
    expect(KINDS.reduce((sum, kind) => sum + timesOf(kind), 0)).toBe(ALL)
  })

  it.each(KINDS)('%s is always found', async (kind) => {
    const found = new Set<string>()
    for (let seed = 1; seed <= timesOf(kind); seed++)
      found.add(await tamper(`${kind}, seed ${seed}`, TAMPERINGS[kind], seed))
    const needs = { truncate: 2, rehash: 2 }[kind as string] ?? 1
    expect(found.size).toBe(needs)
    expect(found.has('found with the file')).toBe(['truncate', 'rehash', 'restoreOldCopy'].includes(kind))
  })
})

it('a text, a number or null in any column is found, also where there was none', async () => {
  const changes = listChanges(database)
  expect(changes.length).toBeGreaterThan(150)
  for (const { what, tamper: change } of changes) expect(await tamper(what, change), what).toBe('found')
})
