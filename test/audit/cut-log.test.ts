import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
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

  const upload = (body: string) =>
    at.request('/admin/audit/check/file', {
      cookie,
      method: 'POST',
      headers: { 'content-type': 'application/x-ndjson' },
      body,
    })

  const check = async (uploaded?: string) => {
    if (uploaded === undefined) await at.request('/admin/audit/check', { cookie, body: {} })
    else expect((await upload(uploaded)).json()).toMatchObject({ state: 'running' })
    const read = async () => (await at.request('/admin/audit/check', { cookie })).json()
    await expect.poll(async () => (await read()).state).not.toBe('running')
    return read()
  }

  it('is shown in the console with what was compared and what was not', async () => {
    const { headline, compared, limits, state } = await check()
    expect(state).toBe('sound')
    // The sentence that says what was found also says that this cut cannot be found.
    expect(headline).toBe(
      'No difference was found between the audit log and the checkpoints on this server, but a cut at the end of the log cannot be seen without checkpoints that were kept elsewhere.',
    )
    expect(JSON.stringify(await check())).not.toMatch(
      /nothing was|not removed|no rows? (was|were)|complete|whole/i,
    )
    expect(compared).toEqual([
      `Compared: 1 row in 1 chain, 1 checkpoint in the database, 1 checkpoint in ${folder}.`,
      expect.stringMatching(/^The last row of chain y\d{4}m\d\d-\w{8}-1 is row 1, hash [0-9a-f]{64}\.$/),
      expect.stringMatching(/^The last checkpoint in .* is of 2/),
    ])
    expect(limits).toEqual([
      expect.stringMatching(/^Not compared: checkpoints that this server cannot change\..*removed/),
      expect.stringMatching(/upload a checkpoints\.log .*tabbat audit verify --checkpoints FILE$/),
    ])
  })

  it('is found in the console with an uploaded file that was kept elsewhere', async () => {
    const uploads = () => readdirSync(tmpdir()).filter((name) => name.startsWith('tabbat-checkpoints-'))
    const before = uploads()
    expect(await check(readFileSync(elsewhere, 'utf8'))).toMatchObject({
      state: 'faulty',
      headline: expect.stringMatching(/NOT sound\. First fault: .*the uploaded file/),
    })
    // The file was deleted.
    await expect.poll(uploads).toEqual(before)
  })

  it('is not found with an uploaded file from before the cut, which the same sentence says', async () => {
    const { state, headline, limits } = await check(readFileSync(join(folder, FILE), 'utf8'))
    expect(state).toBe('sound')
    expect(headline).toMatch(
      /^No difference was found between the audit log and the checkpoints in the uploaded file, but a cut after 2\S+Z cannot be seen without newer checkpoints\.$/,
    )
    expect((limits as string[]).at(-1)).toMatch(/^This holds up to 2/)
  })

  it.each([
    ['', 'There is no checkpoint in the uploaded file. Upload a checkpoints.log, not compressed.'],
    ['some text\n', 'There is no checkpoint in the uploaded file. Upload a checkpoints.log, not compressed.'],
  ])('cannot be compared with the file %j', async (content, problem) => {
    expect(await check(content)).toMatchObject({ state: 'failed', headline: problem })
  })

  it('cannot be compared with a compressed file', async () => {
    const answer = await upload('\u001f\u008b')
    expect([answer.status, answer.json().message]).toEqual([
      409,
      'The file is compressed. Unpack it with gunzip, then upload it.',
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
      /^Compared: \d+ rows in 2 chains, 1 checkpoint in the database, 1 checkpoint in /,
    )
  })

  it('is found with checkpoints that were stored elsewhere', async () => {
    const place = { TABBAT_DATA_DIR: folder }
    const { code, stdout } = await tabbat(place, 'audit', 'verify', '--checkpoints', elsewhere)
    expect(code).toBe(1)
    expect(stdout).toMatch(/NOT sound\. First fault: .*kept\.log/)
  })
})
