import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { SANDBOX_KEY } from '../../src/keys/sandbox-key.ts'
import { toCells } from '../../src/registry/import/csv.ts'
import { ENGINES, newSettings } from '../registry/sealed-registry.ts'
import { newDataDir, type RunningServer, startServer, TABBAT, tabbat } from './tabbat.ts'

const KEY = { TABBAT_API_KEY: SANDBOX_KEY }
const PHONE = '08031234567'

let server: RunningServer
beforeAll(async () => {
  server = await startServer({ TABBAT_BATCH_RATE: '600', TABBAT_LOG_LEVEL: 'silent' })
})
afterAll(() => server.stop())

let folder: string
let input: string
let out: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tabbat-verify-file-'))
  input = join(folder, 'customers.csv')
  out = join(folder, 'results.csv')
})

const toCsv = (rows: number) =>
  `nin,phone,reference\n${Array.from({ length: rows }, (_each, index) => `${20_000_000_000 + index},${PHONE},customer ${index}\n`).join('')}`

/** The rows of a CSV by the names of its header. */
function readCsv(file: string): Record<string, string>[] {
  const [names = [], ...rows] = readFileSync(file, 'utf8').trimEnd().split('\r\n').map(toCells)
  return rows.map((cells) => Object.fromEntries(names.map((name, index) => [name, cells[index] ?? ''])))
}

function start(...args: string[]) {
  const env = { PATH: process.env.PATH ?? '', HOME: tmpdir(), TABBAT_DATA_DIR: newDataDir(), ...KEY }
  const child = spawn(TABBAT.file, ['verify-file', 'nin', input, '--out', out, ...args], {
    env,
    stdio: 'pipe',
  })
  const ended = Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  return {
    child,
    ended: ended.then(([stdout, stderr, [code]]) => ({ stdout, stderr, code: code as number })),
  }
}

const run = (...args: string[]) =>
  tabbat({ TABBAT_DATA_DIR: newDataDir(), ...KEY }, 'verify-file', 'nin', input, '--out', out, ...args)

describe('tabbat verify-file', () => {
  it('never writes the results over its input', async () => {
    writeFileSync(input, toCsv(1))
    const { code, stderr } = await tabbat(
      { TABBAT_DATA_DIR: newDataDir(), ...KEY },
      ...['verify-file', 'nin', input, '--out', join(folder, '.', 'customers.csv'), '--force', '--yes'],
    )
    expect([code, stderr]).toEqual([1, expect.stringContaining('--out names the file to verify.')])
    expect(readFileSync(input, 'utf8')).toBe(toCsv(1))
  })

  it('refuses a file of results that cannot be written, before it reads the key', async () => {
    writeFileSync(input, toCsv(1))
    const runs = await Promise.all(
      [join(folder, 'missing', 'results.csv'), folder].map((where) =>
        tabbat({ TABBAT_DATA_DIR: newDataDir() }, 'verify-file', 'nin', input, '--yes', '--out', where),
      ),
    )
    expect(runs.map(({ code }) => code)).toEqual([1, 1])
    expect(runs[0]?.stderr).toBe(
      `error: There is no folder ${join(folder, 'missing')}. Create it, or give another file.\n`,
    )
    expect(runs[1]?.stderr).toBe(`error: ${folder} is a folder. Give a file.\n`)
  })

  it('verifies a file at a server, in the order of its lines, with bad rows in their place', async () => {
    writeFileSync(
      input,
      `phone,NIN,reference\n${PHONE},12345678901,"Ada, ""A"""\n${PHONE},123,bad\n"open\n${PHONE},00000000422,=1+1\n`,
    )
    const done = await run('--url', server.url)
    expect([done.code, done.stdout]).toEqual([
      2,
      `1 verified, 1 not verified, 2 refused, 0 failed, 0 cancelled.\nThe results are in ${out}.\n`,
    ])
    expect(done.stderr).toContain('line 3: nin must be 11 digits')
    expect(done.stderr).toContain('Cost: none.')
    expect(
      readCsv(out).map(({ line, reference, state, status }) => [line, reference, state, status]),
    ).toEqual([
      ['2', 'Ada, "A"', 'done', '200'],
      ['3', 'bad', 'refused', '422'],
      ['4', '', 'refused', '422'],
      ['5', "'=1+1", 'done', '422'],
    ])
    expect(statSync(out).mode & 0o777).toBe(0o600)
    expect(existsSync(`${out}.state`)).toBe(false)
    expect(existsSync(`${out}.partial`)).toBe(false)
  })

  it('verifies a file inside, on its own database, and prints JSON', async () => {
    writeFileSync(input, toCsv(3))
    const { code, stdout } = await run('--json')
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ verified: 3, not_verified: 0, refused: 0, failed: 0, out })
    expect(JSON.parse(stdout).database).toContain('tabbat.db')
    expect(readCsv(out).map(({ reference }) => reference)).toEqual(['customer 0', 'customer 1', 'customer 2'])
  })

  it('gives links to pictures at the address of the server, also inside', async () => {
    const settings = { TABBAT_DATA_DIR: newDataDir(), TABBAT_PORT: '8099' }
    const picture = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(40, 1)])
    const person = { nin_number: '12345678901', personal_info: { phone_number: PHONE } }
    const people = join(folder, 'people.ndjson')
    writeFileSync(people, `${JSON.stringify({ ...person, picture: picture.toString('base64') })}\n`)
    expect((await tabbat(settings, 'import', 'nin', people)).code).toBe(0)
    const made = await tabbat(settings, 'keys', 'create', '--name', 'shop', '--mode', 'live', '--json')
    const { key } = JSON.parse(made.stdout) as { key: string }
    writeFileSync(input, `nin,phone\n12345678901,${PHONE}\n`)
    const live = { ...settings, TABBAT_API_KEY: key }
    const done = await tabbat(live, 'verify-file', 'nin', input, '--out', out, '--yes')
    expect([done.code, readCsv(out)[0]?.['personal_info.image_url']]).toEqual([
      0,
      expect.stringMatching(/^http:\/\/127\.0\.0\.1:8099\/media\//),
    ])
  })

  it('withdraws no guess of a server on the same data', async () => {
    const dataDir = newDataDir()
    const env = { TABBAT_DATA_DIR: dataDir, ...KEY }
    writeFileSync(input, toCsv(1))
    const verify = (to: string) => tabbat(env, 'verify-file', 'nin', input, '--out', join(folder, to))
    expect((await verify('first.csv')).code).toBe(0)
    const database = new DatabaseSync(join(dataDir, 'tabbat.db'))
    const node = readFileSync(join(dataDir, 'node.id'), 'utf8').trim()
    database
      .prepare('INSERT INTO attempts (subject, key_id, at, id) VALUES (?, ?, ?, ?)')
      .run(Buffer.alloc(32), 'key', Date.now(), `${node}/process/1`)
    expect((await verify('second.csv')).code).toBe(0)
    expect(database.prepare('SELECT COUNT(*) AS count FROM attempts').get()).toEqual({ count: 1 })
    database.close()
  })

  it('continues after Ctrl-C, with a state file that holds no personal data', async () => {
    writeFileSync(input, toCsv(30))
    const first = start('--url', server.url)
    await expect
      .poll(() => existsSync(`${out}.state`) && readFileSync(`${out}.state`, 'utf8'))
      .toContain('"batch":"bat_')
    first.child.kill('SIGINT')
    const interrupted = await first.ended
    expect(interrupted.code).toBe(130)
    expect(interrupted.stdout).toContain('Run the same command again to continue.')
    const state = readFileSync(`${out}.state`, 'utf8')
    expect(statSync(`${out}.state`).mode & 0o777).toBe(0o600)
    for (const secret of [PHONE, '2000000', 'customer', SANDBOX_KEY]) expect(state).not.toContain(secret)
    expect(existsSync(out)).toBe(false)

    const again = await run('--url', server.url)
    expect(again.stderr).toContain('Continuing')
    expect(again.code).toBe(0)
    expect(readCsv(out)).toHaveLength(30)
    expect(existsSync(`${out}.state`)).toBe(false)
  })

  it('refuses a second run while one writes the same results', async () => {
    writeFileSync(input, toCsv(30))
    const first = start('--url', server.url)
    await expect
      .poll(() => existsSync(`${out}.state`) && readFileSync(`${out}.state`, 'utf8'))
      .toContain('"batch":"bat_')
    // Stopped, so that it cannot end before the second one has begun.
    first.child.kill('SIGSTOP')
    const second = await run('--url', server.url)
    first.child.kill('SIGCONT')
    expect([second.code, second.stderr]).toEqual([
      1,
      expect.stringContaining(`Another run is writing ${out}. Wait until it ends`),
    ])
    expect((await first.ended).code).toBe(0)
    expect(readCsv(out)).toHaveLength(30)
    expect(readdirSync(folder).toSorted()).toEqual(['customers.csv', 'results.csv'])
  })

  it('leaves no state that is cut off where the disk is full', async () => {
    writeFileSync(input, toCsv(1))
    // The address makes the state longer than the limit, which cuts a write short as a full disk does.
    const url = `${server.url}/${'x'.repeat(2000)}`
    const env = { PATH: process.env.PATH ?? '', HOME: tmpdir(), TABBAT_DATA_DIR: newDataDir(), ...KEY }
    const limited = ['-c', 'ulimit -f 1; exec "$@"', 'bash', TABBAT.file]
    const { status, stderr } = spawnSync(
      'bash',
      [...limited, 'verify-file', 'nin', input, '--out', out, '--url', url],
      { env, encoding: 'utf8' },
    )
    expect([status, stderr]).toEqual([
      1,
      expect.stringContaining(`error: ${out}.state cannot be written (EFBIG).`),
    ])
    expect(readdirSync(folder)).toEqual(['customers.csv'])
  })

  it('refuses to continue with another file', async () => {
    writeFileSync(input, toCsv(30))
    const first = start('--url', server.url)
    await expect.poll(() => existsSync(`${out}.state`)).toBe(true)
    first.child.kill('SIGTERM')
    expect((await first.ended).code).toBe(143)
    writeFileSync(input, toCsv(2))
    const other = await run('--url', server.url)
    expect([other.code, other.stderr]).toEqual([1, expect.stringContaining('belongs to another file')])
  })

  it('checks a file without sending anything', async () => {
    writeFileSync(input, `${toCsv(2)}x,${PHONE},bad\n`)
    const { code, stdout } = await run('--dry-run', '--json', '--url', 'http://127.0.0.1:9', '--price', '50')
    expect(code).toBe(2)
    expect(JSON.parse(stdout)).toMatchObject({
      dry_run: true,
      rows: 3,
      good: 2,
      refused: 1,
      batches: 1,
      cost_naira: 0,
    })
    expect(existsSync(`${out}.state`)).toBe(false)
  })

  it('estimates what a live key costs, and without a terminal needs --yes', async () => {
    writeFileSync(input, toCsv(2))
    const settings = {
      TABBAT_DATA_DIR: newDataDir(),
      TABBAT_API_KEY: `tbt_live_${'x'.repeat(46)}`,
      TABBAT_NIN_SOURCES: 'registry,dojah',
      TABBAT_DOJAH_APP_ID: 'app',
      TABBAT_DOJAH_SECRET: 'secret',
      TABBAT_DOJAH_PRICE: '50.50',
    }
    const { code, stderr } = await tabbat(settings, 'verify-file', 'nin', input, '--out', out)
    expect(code).toBe(1)
    expect(stderr).toContain(
      'Cost: about ₦101.00 (2 rows × ₦50.50, the price of dojah). At most ₦202.00, if calls fail that are billed.',
    )
    expect(stderr).toContain('Nothing was sent. Without a terminal, confirm the cost with --yes')
  })

  it('needs --price for what another server costs', async () => {
    writeFileSync(input, toCsv(2))
    const live = { TABBAT_DATA_DIR: newDataDir(), TABBAT_API_KEY: `tbt_live_${'x'.repeat(46)}` }
    const look = (...more: string[]) =>
      tabbat(live, 'verify-file', 'nin', input, '--dry-run', '--json', '--url', server.url, ...more)
    const unknown = await look()
    expect(JSON.parse(unknown.stdout).cost_naira).toBe(null)
    expect(unknown.stderr).toContain('the prices of that server are not known here. Give --price')
    const known = await look('--price', '50.25')
    expect(JSON.parse(known.stdout).cost_naira).toBe(100.5)
    expect(known.stderr).toContain('Cost: about ₦100.50 (2 rows × ₦50.25, the price of --price).')
    const wrong = await look('--price', 'cheap')
    expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringContaining('an amount in naira such as 50')])
  })

  it.each(ENGINES)('takes the price from the changed order of the sources on %s', async (engine) => {
    writeFileSync(input, toCsv(2))
    const settings = {
      ...(await newSettings(engine)),
      TABBAT_API_KEY: `tbt_live_${'x'.repeat(46)}`,
      TABBAT_NIN_SOURCES: 'dojah,prembly',
      TABBAT_DOJAH_APP_ID: 'app',
      TABBAT_DOJAH_SECRET: 'secret',
      TABBAT_DOJAH_PRICE: '50.50',
      ...{ TABBAT_PREMBLY_API_KEY: 'key', TABBAT_PREMBLY_APP_ID: 'app', TABBAT_PREMBLY_PRICE: '20' },
    }
    expect(await tabbat(settings, 'sources', 'order', 'nin', 'prembly,dojah')).toMatchObject({ code: 0 })
    const { stderr } = await tabbat(settings, 'verify-file', 'nin', input, '--dry-run')
    expect(stderr).toContain('Cost: about ₦40.00 (2 rows × ₦20.00, the price of prembly).')
  })

  it.each([
    [['--url', 'http://192.0.2.1:8080'], 'others on the network can read the key'],
    [['--url', 'nonsense'], '--url must be the address of a server'],
    [['--url', 'https://192.0.2.1/api/v2/'], '--url must be the address of the server without /api/v2.'],
  ])('refuses %j', async (args, sentence) => {
    writeFileSync(input, toCsv(1))
    const { code, stderr } = await run(...args)
    expect([code, stderr]).toEqual([1, expect.stringContaining(sentence)])
  })

  it('needs a key that is no argument, a file with a header, and a free name for the results', async () => {
    writeFileSync(input, `12345678901,${PHONE}\n`)
    const noKey = await tabbat(
      { TABBAT_DATA_DIR: newDataDir() },
      'verify-file',
      'nin',
      input,
      '--url',
      server.url,
    )
    expect(noKey.stderr).toContain('No API key was given.')
    const noneOfOurs = await tabbat({ TABBAT_API_KEY: 'hunter2' }, 'verify-file', 'nin', input, '--out', out)
    expect(noneOfOurs.stderr).toBe(
      'error: This is not an API key. A key begins with tbt_test_ or tbt_live_.\n',
    )
    const noHeader = await run('--url', server.url)
    expect(noHeader.stderr).toContain('header must be the first line')
    expect(noHeader.stderr).not.toContain('12345678901')
    writeFileSync(out, 'mine')
    expect((await run('--url', server.url)).stderr).toContain(`${out} exists.`)
    const missing = await tabbat(
      KEY,
      'verify-file',
      'nin',
      join(folder, 'none.csv'),
      '--out',
      join(folder, 'x'),
    )
    expect(missing.stderr).toContain('There is no file')
  })
})
