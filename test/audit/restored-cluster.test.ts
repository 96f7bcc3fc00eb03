import { cpSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createTestDatabase, execute, hasPostgres } from '../postgres.ts'
import { newDataDir, type Settings, startServer, tabbat } from '../process/tabbat.ts'

/** Two nodes on one PostgreSQL. */
async function createNodes() {
  const url = await createTestDatabase()
  const [one, two] = [newDataDir(), newDataDir()]
  const first: Settings = { TABBAT_DATA_DIR: one, TABBAT_DATABASE_URL: url }
  await run(first, 'keys', 'create', '--name', 'shop', '--mode', 'test')
  cpSync(join(one, 'root.key'), join(two, 'root.key'))
  const second: Settings = { ...first, TABBAT_DATA_DIR: two }
  return { first, second }
}

async function run(settings: Settings, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await tabbat(settings, ...args)
  expect([code, stderr]).toEqual([0, expect.any(String)])
  return stdout
}

const writeRow = (settings: Settings, name: string) =>
  run(settings, 'keys', 'create', '--name', name, '--mode', 'test')

async function startAndStop(settings: Settings): Promise<void> {
  const server = await startServer({ ...settings, TABBAT_LOG_LEVEL: 'silent' })
  expect(await server.stop()).toBe(0)
}

describe.skipIf(!hasPostgres())('a backup that is restored on one node of a cluster', () => {
  it.each([
    ['a chain that the backup has', true, 4],
    ['a chain that is newer than the backup', false, 4],
    ['fewer rows than the restore itself writes', true, 1],
  ])('can be accepted on another node, which has written %s', async (_what, isKnown, rows) => {
    const { first, second } = await createNodes()
    if (isKnown) await writeRow(second, 'before')
    const backup = join(mkdtempSync(join(tmpdir(), 'tabbat-restore-')), 'tabbat.backup')
    await run(first, 'backup', backup)
    for (let row = 0; row < rows; row += 1) await writeRow(second, `after-${row}`)
    // Its last checkpoint names the chain of the other node, too.
    await writeRow(first, 'after')
    await writeRow(second, 'last')

    const url = await createTestDatabase()
    const [one, two] = [
      { ...first, TABBAT_DATABASE_URL: url },
      { ...second, TABBAT_DATABASE_URL: url },
    ]
    expect(await run(one, 'restore', backup)).toContain('tabbat audit accept-loss')
    const { code, stdout } = await tabbat(two, 'doctor', '--json')
    expect([code, stdout]).toEqual([1, expect.stringContaining('tabbat audit accept-loss')])
    const server = await startServer({ ...one, TABBAT_LOG_LEVEL: 'silent' })
    const early = await tabbat(two, 'audit', 'accept-loss', '--yes')
    expect([early.code, early.stderr]).toEqual([1, expect.stringContaining('Stop all servers')])
    await server.stop()
    await run(two, 'audit', 'accept-loss', '--yes')
    const before = await countShortened(url)
    await startAndStop(one)
    await startAndStop(two)
    // No chain that lacks rows is extended.
    expect(await countShortened(url)).toEqual(before)
    const verified = await run(two, 'audit', 'verify', '--checkpoints', String(second.TABBAT_DATA_DIR))
    expect(verified).toContain('No difference was found')
  })
})

/** The rows of the chains that lack some. */
async function countShortened(url: string) {
  const rows = await execute(
    url,
    `SELECT l.chain, (SELECT COUNT(*) FROM audit a WHERE a.chain = l.chain) AS rows
     FROM audit_losses l WHERE accepted_at IS NOT NULL ORDER BY 1, kept`,
  )
  expect(rows.length).toBeGreaterThan(0)
  return rows
}
