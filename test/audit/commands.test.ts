import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdtempSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { AUDIT_COLUMNS } from '../../src/ledger/audit-row.ts'
import { bearer, openTestApp, PHONE, type TestApp } from '../app.ts'
import { type Finished, TABBAT, tabbat } from '../process/tabbat.ts'

const NIN = '12345678901'
const OTHER = '22345678901'
const ONLY_WITH = 'Not compared: checkpoints that this server cannot change.'

let app: TestApp
let folder: string
let reference: string
const settings = () => ({ TABBAT_DATA_DIR: folder })
const newFolder = () => mkdtempSync(join(tmpdir(), 'tabbat-audit-'))

const verifyNin = async (nin: string) => {
  const answer = await app.app.inject({
    method: 'POST',
    url: '/api/v2/kyc/verify-nin',
    headers: { ...bearer(), 'x-consent-reference': 'shop/17' },
    payload: { nin, phone: PHONE },
  })
  return (answer.json() as { data: { request_reference: string } }).data.request_reference
}

beforeAll(async () => {
  app = await openTestApp()
  folder = app.context.config.dataDir
  reference = await verifyNin(NIN)
  await verifyNin(OTHER)
})
afterAll(() => app.close())

/** Runs a shell command with this standard input. */
async function runShell(command: string, input = ''): Promise<Finished> {
  const env = { PATH: process.env.PATH ?? '', HOME: tmpdir(), ...settings() }
  const child = spawn('bash', ['-o', 'pipefail', '-c', command], { env, stdio: 'pipe' })
  child.stdin.end(input)
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ])
  return { code: code as number | null, stdout, stderr }
}

describe('tabbat audit verify', () => {
  it('reports that the log is sound, and what was not compared', async () => {
    const { code, stdout } = await tabbat(settings(), 'audit', 'verify')
    expect(code).toBe(0)
    expect(stdout).toMatch(
      /^No difference was found .*\nCompared: 2 rows in 1 chain, 0 checkpoints in the database, no file of checkpoints\.\n/,
    )
    expect(stdout).toMatch(/The last row of chain y\d{4}m\d\d-\w{8}-1 is row 2, hash [0-9a-f]{64}\./)
    expect(stdout).toContain('Newer than the last checkpoint and not covered by a signature: 2 rows.')
    expect(stdout).toContain(ONLY_WITH)
  })

  it('finds a restored old copy only with the checkpoint file', async () => {
    await app.context.audit.checkpoint()
    const old = newFolder()
    copyFileSync(join(folder, 'root.key'), join(old, 'root.key'))
    const database = new DatabaseSync(join(folder, 'tabbat.db'))
    database.exec(`VACUUM INTO '${join(old, 'tabbat.db')}'`)
    database.close()
    await verifyNin(NIN)
    await app.context.audit.checkpoint()
    const file = join(folder, 'checkpoints.log')
    const place = { TABBAT_DATA_DIR: old }

    const without = await tabbat(place, 'audit', 'verify')
    expect([without.code, without.stdout.includes(ONLY_WITH)]).toEqual([0, true])
    const found = await tabbat(place, 'audit', 'verify', '--checkpoints', file)
    expect([found.code, found.stdout.includes(ONLY_WITH)]).toEqual([1, false])
    expect(found.stdout).toMatch(
      /NOT sound\. First fault: chain y\d{4}m\d\d-\w{8}-1, row 3, the row is missing/,
    )
    const own = await tabbat(settings(), 'audit', 'verify', '--checkpoints', file)
    expect([own.code, own.stdout.includes(ONLY_WITH)]).toEqual([0, true])
    const kept = join(newFolder(), 'kept.log')
    copyFileSync(file, kept)
    const good = await tabbat(settings(), 'audit', 'verify', '--checkpoints', kept)
    expect([good.code, good.stdout.includes(ONLY_WITH)]).toEqual([0, false])
    expect(good.stdout).toMatch(/2 checkpoints in \/.*kept\.log/)
    expect(good.stdout).toMatch(/This holds up to 2/)
  })

  it('compares with the folder of checkpoints outside the data folder, and says that the server can write there', async () => {
    const place = { ...settings(), TABBAT_CHECKPOINT_DIR: newFolder() }
    const missing = await tabbat(place, 'audit', 'verify')
    expect([missing.code, missing.stdout.includes('no file of checkpoints')]).toEqual([0, true])
    copyFileSync(join(folder, 'checkpoints.log'), join(place.TABBAT_CHECKPOINT_DIR, 'checkpoints.log'))
    const { code, stdout } = await tabbat(place, 'audit', 'verify')
    expect([code, stdout.includes(ONLY_WITH)]).toEqual([0, true])
    expect(stdout).toMatch(/^No difference .* if it was also made there, where this server can write\.\n/)
  })

  it('prints JSON, and needs no root key with --public-key', async () => {
    const key = join(newFolder(), 'key.pem')
    writeFileSync(key, (await tabbat(settings(), 'audit', 'public-key')).stdout)
    const copy = newFolder()
    const database = new DatabaseSync(join(folder, 'tabbat.db'))
    database.exec(`VACUUM INTO '${join(copy, 'tabbat.db')}'`)
    database.close()
    const place = { TABBAT_DATA_DIR: copy }
    const good = await tabbat(place, 'audit', 'verify', '--json', '--public-key', key)
    expect(good.code).toBe(0)
    const figures = { rows: 3, chains: 1, checkpoints: 2, seconds: expect.any(Number) }
    expect(JSON.parse(good.stdout)).toMatchObject({ sound: true, ...figures, ends: [{ sequence: 3 }] })

    const copied = new DatabaseSync(join(copy, 'tabbat.db'))
    copied.exec(`DROP TRIGGER audit_no_update; UPDATE audit SET key_id = 'x' WHERE sequence = 3`)
    copied.close()
    const bad = await tabbat(place, 'audit', 'verify', '--json', '--public-key', key)
    expect(bad.code).toBe(1)
    expect(JSON.parse(bad.stdout)).toMatchObject({
      sound: false,
      fault: { sequence: 3, reason: expect.stringContaining('the row was changed') },
    })
  })

  it.concurrent.each([
    [['--checkpoints', '/nowhere'], /\/nowhere cannot be read/],
    [['--checkpoints', '/dev/null'], /\/dev\/null cannot be read/],
    [['--checkpoints', 'package.json'], /There is no checkpoint in package\.json/],
    [['--public-key', 'package.json'], /package\.json is not the public key/],
  ])('refuses %j', async (args, sentence) => {
    const { code, stderr } = await tabbat(settings(), 'audit', 'verify', ...args)
    expect(code).toBe(1)
    expect(stderr).toMatch(sentence)
  })

  it('creates no database', async () => {
    const { code, stderr } = await tabbat({ TABBAT_DATA_DIR: newFolder() }, 'audit', 'verify')
    expect([code, stderr.includes('There is no database at')]).toEqual([1, true])
  })
})

describe('tabbat audit export', () => {
  it('writes every row with the column names', async () => {
    const { code, stdout } = await tabbat(settings(), 'audit', 'export')
    expect(code).toBe(0)
    const rows = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>)
    expect(rows.map(({ sequence }) => sequence)).toEqual([1, 2, 3, 1])
    for (const row of rows) {
      expect(Object.keys(row)).toEqual([...AUDIT_COLUMNS, 'released'])
      expect(row.hash).toMatch(/^[0-9a-f]{64}$/)
    }
    expect(rows[1]).toMatchObject({
      previous_hash: rows[0]?.hash,
      sources: expect.stringContaining('sandbox'),
    })
    expect(stdout).not.toContain(NIN)
  })

  it('prints no error when the reader closes the pipe', async () => {
    const { stdout, stderr } = await runShell(`${TABBAT.file} audit export | head -c 20`)
    expect([stdout.length, stderr]).toEqual([20, expect.stringMatching(/^Database: .*\n$/)])
  })
})

describe('tabbat audit export with a filter', () => {
  const writeKey = async () => {
    const key = join(newFolder(), 'key.pem')
    writeFileSync(key, (await tabbat(settings(), 'audit', 'public-key')).stdout)
    return key
  }
  /** On a machine without a database. */
  const verifyElsewhere = (file: string, key: string, ...args: string[]) =>
    tabbat({ TABBAT_DATA_DIR: newFolder() }, 'audit', 'verify-extract', file, '--public-key', key, ...args)

  it.each(['csv', 'ndjson'])(
    'writes a signed %s file that is verified without a database',
    async (format) => {
      const file = join(newFolder(), `extract.${format}`)
      const args = ['--format', format, '--key', 'public sandbox key', '--from', '2020-01-01', '--out', file]
      const { code, stdout } = await tabbat(settings(), 'audit', 'export', ...args)
      expect([code, stdout]).toEqual([0, `The export is in ${file}.\n`])
      expect(readFileSync(file, 'utf8')).not.toContain(NIN)
      const key = await writeKey()
      const good = await verifyElsewhere(file, key)
      expect(good.code).toBe(0)
      expect(good.stdout).toMatch(
        /^The extract is good: .*\nMade at .*\nFilter: key = public sandbox key, from = 2020-01-01T00:00:00\.000Z\.\nRows: 3\. Proved by \d signed checkpoints: 3\.\nNot shown by this check: /,
      )
      const changed = readFileSync(file, 'utf8').replace('verified', 'refused!')
      writeFileSync(file, changed)
      const bad = await verifyElsewhere(file, key, '--json')
      expect([bad.code, JSON.parse(bad.stdout)]).toMatchObject([
        1,
        { sound: false, line: expect.any(Number) },
      ])
      writeFileSync(file, changed.slice(0, changed.lastIndexOf('ver_')))
      expect((await verifyElsewhere(file, key)).stdout).toMatch(/^The extract is NOT good: /)
    },
  )

  it('replaces a file with --force only, and lets no other user read it', async () => {
    const file = join(newFolder(), 'extract.ndjson')
    writeFileSync(file, 'kept', { mode: 0o644 })
    const args = ['audit', 'export', '--format', 'ndjson', '--out', file]
    const refused = await tabbat(settings(), ...args)
    expect([refused.code, refused.stderr.trim(), readFileSync(file, 'utf8')]).toEqual([
      1,
      `error: ${file} exists. Give another name, or --force to replace it.`,
      'kept',
    ])
    expect((await tabbat(settings(), ...args, '--force')).code).toBe(0)
    expect(readFileSync(file, 'utf8')).toMatch(/^\{"record":"extract"/)
    if (process.platform !== 'win32') expect(statSync(file).mode & 0o777).toBe(0o600)
  })

  it('finds a person by a number from standard input, and records neither', async () => {
    const { code, stdout } = await runShell(
      `${TABBAT.file} audit export --person nin --source sandbox`,
      OTHER,
    )
    expect(code).toBe(0)
    expect(stdout.match(/"phase":"outcome"/g)).toHaveLength(1)
    expect(stdout).not.toContain(OTHER)
    const all = (await tabbat(settings(), 'audit', 'export')).stdout
    expect(all).toContain('extract filtered by: source, person; by')
    expect(all).not.toContain(OTHER)
  })

  it('writes single rows with --rows', async () => {
    const { stdout } = await tabbat(settings(), 'audit', 'export', '--rows', '--phase', 'audit_exported')
    expect(stdout.match(/"record":"row"/g)?.length).toBeGreaterThan(2)
    expect(stdout).not.toContain('"phase":"outcome"')
  })

  it.each([
    [['--from', 'yesterday'], 'Give a date such as 2026-11-30, a time such as'],
    [['--phase', 'outcome'], '--phase needs --rows.'],
    [['--key', 'public sandbox ke'], '--key must be the name or the id of a key. See: tabbat keys list'],
    [['--outcome', 'verfied'], '--outcome must be one that the log has, such as verified'],
    [['--operation', 'nonsense'], '--operation must be verify_nin or verify_bvn.'],
    [['--rows', '--phase', 'nonsense'], '--phase must be one that the log has'],
    [['--reference', 'ver_1'], 'A request_reference is ver_ and 36'],
    [['--format', 'csv', '--out', '/nowhere/extract.csv'], 'There is no folder /nowhere.'],
  ])('refuses %j', async (args, message) => {
    const { code, stderr } = await tabbat(settings(), 'audit', 'export', ...args)
    expect([code, stderr.includes(message)]).toEqual([1, true])
  })

  it('records no export that it refuses', async () => {
    const count = async () => (await tabbat(settings(), 'audit', 'export')).stdout.match(/filtered by: key;/g)
    const before = await count()
    await tabbat(settings(), 'audit', 'export', '--key', 'public sandbox ke')
    expect(await count()).toEqual(before)
  })

  it('says that an extract has no rows, when it is written and when it is verified', async () => {
    const file = join(newFolder(), 'empty.ndjson')
    const args = ['--key', 'public sandbox key', '--to', '2020-01-01', '--out', file]
    const { code, stderr } = await tabbat(settings(), 'audit', 'export', ...args)
    expect([code, stderr]).toEqual([0, expect.stringContaining('The extract has no rows')])
    const { stdout } = await verifyElsewhere(file, await writeKey())
    expect(stdout).toMatch(
      /^The extract is good: it is as it was signed\. It has NO rows\.\n[\s\S]*\nRows: 0\. /,
    )
  })

  it('cannot verify a file that is not there, or is no extract', async () => {
    const key = await writeKey()
    const missing = await verifyElsewhere('/nowhere/extract.csv', key)
    expect([missing.code, missing.stderr.trim()]).toEqual([1, 'error: /nowhere/extract.csv cannot be read.'])
    expect((await verifyElsewhere(key, key)).stdout).toMatch(/NOT good: .*this is not a file that/)
  })
})

describe('tabbat audit show', () => {
  it('prints the timeline of a verification', async () => {
    const { code, stdout } = await tabbat(settings(), 'audit', 'show', reference)
    expect(code).toBe(0)
    for (const part of [
      reference,
      'started: 2',
      'outcome: verified',
      'asked sandbox: found',
      'consent: shop/17',
    ])
      expect(stdout).toContain(part)
    const json = await tabbat(settings(), 'audit', 'show', reference, '--json')
    expect(JSON.parse(json.stdout)).toMatchObject([{ phase: 'outcome' }])
  })

  it('says that rows are left out when a stored response was returned very often', async () => {
    const often = `ver_${'1'.repeat(36)}`
    const replay = { phase: 'replay', request_reference: often, outcome: 'verified' }
    await app.context.audit.record(Array.from({ length: 1001 }, () => replay))
    const { code, stdout, stderr } = await tabbat(settings(), 'audit', 'show', often, '--json')
    expect([code, JSON.parse(stdout).length]).toEqual([0, 1000])
    expect(stderr).toContain(`For all rows, run: tabbat audit export --reference ${often}`)
  })

  it.each([NIN, `ver_${'0'.repeat(36)}`])('refuses %s and does not repeat it', async (wrong) => {
    const { code, stdout, stderr } = await tabbat(settings(), 'audit', 'show', wrong)
    expect([code, stdout, stderr.includes(wrong)]).toEqual([1, '', false])
  })
})

describe('tabbat audit subject', () => {
  it('lists every look-up of the person whose number is on standard input', async () => {
    const { code, stdout } = await runShell(`${TABBAT.file} audit subject nin`, `${NIN}\n`)
    expect([code, stdout.trimEnd().split('\n').length]).toEqual([0, 3])
    expect(stdout).toContain(reference)
    const json = await runShell(`${TABBAT.file} audit subject nin --json`, NIN)
    const looked = (JSON.parse(json.stdout) as { phase: string }[]).map(({ phase }) => phase)
    expect(looked.toSorted()).toEqual(['audit_searched', 'outcome', 'outcome'])
    expect(stdout + json.stdout).not.toContain(NIN)
    const unknown = await runShell(`${TABBAT.file} audit subject bvn`, NIN)
    expect(unknown.stdout).toBe('There are no look-ups of this person.\n')
  })

  it('does not take the number from the command line', async () => {
    expect((await tabbat(settings(), 'audit', 'subject', 'nin', NIN)).code).toBe(1)
    const { code, stderr } = await runShell(`${TABBAT.file} audit subject nin`, '123')
    expect([code, stderr.includes('A NIN has 11 digits')]).toEqual([1, true])
  })
})

describe('tabbat audit prove and check-proof', () => {
  it('can be checked with the public key alone', async () => {
    const [file, key] = [join(newFolder(), 'proof.json'), join(newFolder(), 'key.pem')]
    writeFileSync(key, (await tabbat(settings(), 'audit', 'public-key')).stdout)
    const proved = await tabbat(settings(), 'audit', 'prove', reference, '--out', file)
    expect([proved.code, proved.stdout]).toEqual([0, `The proof is in ${file}.\n`])

    const nothing = { TABBAT_DATA_DIR: newFolder() }
    const good = await tabbat(nothing, 'audit', 'check-proof', file, '--public-key', key)
    expect(good.code).toBe(0)
    expect(good.stdout).toMatch(/The proof is good/)
    for (const part of ['verified', reference, 'verify_nin', 'key id']) expect(good.stdout).toContain(part)
    expect((await tabbat(settings(), 'audit', 'check-proof', file)).code).toBe(0)

    const lost = await tabbat(nothing, 'audit', 'check-proof', file)
    expect([lost.code, lost.stderr.includes('--public-key FILE')]).toEqual([1, true])

    writeFileSync(file, readFileSync(file, 'utf8').replace('"verified"', '"not_verified"'))
    const bad = await tabbat(nothing, 'audit', 'check-proof', file, '--public-key', key)
    expect([bad.code, bad.stdout]).toEqual([
      1,
      'The proof is NOT good: the hash of the row does not match its content.\n',
    ])
  })

  it('work through a pipe, and create a checkpoint when none covers the row', async () => {
    const count = async () =>
      JSON.parse((await tabbat(settings(), 'audit', 'verify', '--json')).stdout).checkpoints as number
    const before = await count()
    const young = await verifyNin(NIN)
    const proof = join(newFolder(), 'proof.json')
    const { code, stdout } = await runShell(
      `${TABBAT.file} audit prove ${young} > ${proof} && ${TABBAT.file} audit check-proof ${proof} --json`,
    )
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ sound: true, row: { request_reference: young } })
    // One for the proof, and one for the row that records it.
    expect(await count()).toBe(before + 2)
  })
})

it('the help lists every command', async () => {
  const { code, stdout } = await tabbat({}, 'audit', '--help')
  expect(code).toBe(0)
  for (const command of ['verify', 'export', 'show', 'subject', 'public-key', 'prove', 'check-proof'])
    expect(stdout).toMatch(new RegExp(`^  ${command} `, 'm'))
})
