import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTestConsole, type TestConsole } from '../admin/test-console.ts'
import { bearer, openTestApp, PHONE, type TestApp } from '../app.ts'
import { tabbat } from '../process/tabbat.ts'

const FILE = 'checkpoints.log'

const verifyNin = ({ app }: TestApp) =>
  app.inject({
    method: 'POST',
    url: '/api/v2/kyc/verify-nin',
    headers: bearer(),
    payload: { nin: '12345678901', phone: PHONE },
  })

/** Deletes the end of the log, the later checkpoints, and their lines in the checkpoint file. */
function cut(folder: string): void {
  const database = new DatabaseSync(join(folder, 'tabbat.db'))
  database.exec(`
    DROP TRIGGER audit_no_delete;
    DROP TRIGGER checkpoints_no_delete;
    DELETE FROM audit WHERE sequence > 1;
    DELETE FROM checkpoints WHERE time > (SELECT MIN(time) FROM checkpoints)`)
  database.close()
  const [first] = readFileSync(join(folder, FILE), 'utf8').split('\n')
  writeFileSync(join(folder, FILE), `${first}\n`)
}

describe('a truncated log without the checkpoints of its end', () => {
  const elsewhere = join(mkdtempSync(join(tmpdir(), 'tabbat-elsewhere-')), 'kept.log')
  const folder = mkdtempSync(join(tmpdir(), 'tabbat-cut-'))
  let at: TestConsole
  let cookie: string

  beforeAll(async () => {
    const before = await openTestApp()
    for (let turn = 0; turn < 2; turn++) {
      await verifyNin(before)
      await before.context.audit.checkpoint()
    }
    const { dataDir } = before.context.config
    const database = new DatabaseSync(join(dataDir, 'tabbat.db'))
    database.exec(`VACUUM INTO '${join(folder, 'tabbat.db')}'`)
    database.close()
    for (const name of ['root.key', FILE]) copyFileSync(join(dataDir, name), join(folder, name))
    copyFileSync(join(folder, FILE), elsewhere)
    await before.close()
    cut(folder)
    at = await openTestConsole({ TABBAT_DATA_DIR: folder })
    cookie = await at.openSession('operator')
  })
  afterAll(async () => {
    await at?.close()
    for (const path of [folder, dirname(elsewhere)]) rmSync(path, { recursive: true })
  })

  const check = async () => {
    await at.request('/admin/audit/check', { cookie, body: {} })
    const read = async () => (await at.request('/admin/audit/check', { cookie })).json()
    await expect.poll(async () => (await read()).state, { timeout: 20_000 }).not.toBe('running')
    return read()
  }

  it('is shown in the console with what was compared and what was not', async () => {
    const { headline, compared, limits, state } = await check()
    expect(state).toBe('sound')
    expect(headline).toBe('No difference was found between the audit log and what it was compared with.')
    expect(compared).toEqual([
      `Compared: 1 row in 1 chain, 1 checkpoint in the database, 1 checkpoint in ${folder}.`,
      expect.stringMatching(/^The last row of chain y\d{4}m\d\d-\w{8}-1 is row 1, hash [0-9a-f]{64}\.$/),
      expect.stringMatching(/^The last checkpoint in .* is of 2/),
    ])
    expect(limits).toEqual([
      expect.stringMatching(/^Not compared: checkpoints stored outside this server\..*removed/),
      expect.stringContaining('tabbat audit verify --checkpoints FILE'),
    ])
  })

  it('is described by the command line in the same sentences', async () => {
    const place = { TABBAT_DATA_DIR: folder }
    const args = ['audit', 'verify', '--json', '--checkpoints', join(folder, FILE)]
    const { headline, compared, limits } = JSON.parse((await tabbat(place, ...args)).stdout)
    const again = await check()
    expect([headline, limits.at(-1), limits.at(-2)]).toEqual([
      again.headline,
      ...(again.limits as string[]).slice(-2).toReversed(),
    ])
    expect(compared[0]).toMatch(
      /^Compared: 2 rows in 2 chains, 1 checkpoint in the database, 1 checkpoint in /,
    )
  })

  it('is found with checkpoints that were stored elsewhere', async () => {
    const place = { TABBAT_DATA_DIR: folder }
    const { code, stdout } = await tabbat(place, 'audit', 'verify', '--checkpoints', elsewhere)
    expect(code).toBe(1)
    expect(stdout).toMatch(/NOT sound\. First fault: .*kept\.log/)
  })
})
