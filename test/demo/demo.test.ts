import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { DEMO_NOTICE } from '../../src/contract/demo.ts'
import { newDataDir, TABBAT, tabbat } from '../process/tabbat.ts'

describe('tabbat demo', () => {
  const folder = join(newDataDir(), 'demo')
  const own = { TABBAT_DATA_DIR: folder }
  let made: Record<string, unknown>
  beforeAll(async () => {
    // Nothing of this is used.
    const settings = { TABBAT_DOJAH_URL: 'https://api.dojah.example', TABBAT_NIN_SOURCES: 'dojah' }
    const { code, stdout, stderr } = await tabbat(
      settings,
      'demo',
      '--days',
      '1',
      '--no-serve',
      '--json',
      '--data-dir',
      folder,
    )
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: 'The settings of the environment and of .env are not used.\n',
    })
    made = JSON.parse(stdout)
  }, 600_000)

  it('says what was made', () => {
    expect(made).toMatchObject({ demonstration: true, data_dir: folder, is_kept: true, seed: 1, days: 1 })
    expect(made.verifications).toBeGreaterThan(200)
  })

  it('writes an audit log that is sound, by checkpoints over the whole time', async () => {
    const { code, stdout } = await tabbat(own, 'audit', 'verify', '--json')
    expect({ code, ...JSON.parse(stdout) }).toMatchObject({ code: 0, sound: true })
    const times = query('SELECT time FROM checkpoints ORDER BY time').map(({ time }) =>
      Date.parse(String(time)),
    )
    expect((times.at(-1) ?? 0) - (times[0] ?? 0)).toBeGreaterThan(12 * 3_600_000)
    expect(times.at(-1)).toBeLessThanOrEqual(Date.now())
  })

  it('counts in the statistics what is in the audit log', async () => {
    const { stdout } = await tabbat(
      own,
      'audit',
      'export',
      '--rows',
      '--phase',
      'outcome',
      '--format',
      'ndjson',
    )
    const rows = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
      .filter(({ record }) => record === 'row')
    const recorded = Map.groupBy(
      rows,
      ({ mode, key_id, operation, outcome }) => `${mode} ${key_id} ${operation} ${outcome}`,
    )
    const counted = query(
      `SELECT mode, key_id, operation, outcome, SUM(count) AS count FROM statistics WHERE span = 'hour' GROUP BY 1, 2, 3, 4`,
    )
    expect(
      new Map(counted.map((row) => [`${row.mode} ${row.key_id} ${row.operation} ${row.outcome}`, row.count])),
    ).toEqual(new Map([...recorded].map(([name, list]) => [name, list.length])))
    const outcomes = new Set(rows.map(({ outcome }) => outcome))
    for (const outcome of ['verified', 'not_verified', 'source_unavailable', 'expired', 'cancelled'])
      expect(outcomes).toContain(outcome)
  })

  it('has refusals, failover, batches, webhooks that fail, an erasure and a backup', () => {
    const codes = new Set(query('SELECT code FROM answers').map(({ code }) => code))
    for (const code of ['rate_limited', 'too_many_attempts', 'unauthenticated', 'pending'])
      expect(codes).toContain(code)
    const calls = new Set(
      query('SELECT source, result FROM source_calls').map(({ source, result }) => `${source} ${result}`),
    )
    expect(calls).toEqual(new Set(['dojah answered', 'dojah failed', 'prembly answered', 'prembly failed']))
    expect(new Set(query('SELECT state FROM batches').map(({ state }) => state))).toEqual(
      new Set(['completed', 'cancelled']),
    )
    const told = query('SELECT type, state FROM webhook_deliveries').map(
      ({ type, state }) => `${type} ${state}`,
    )
    expect(told).toContain('source.down delivered')
    expect(told).toContain('verification.completed pending')
    expect(query('SELECT 1 FROM erasures')).toHaveLength(1)
    expect(readdirSync(join(folder, 'backups'))).not.toEqual([])
  })

  it('is a demonstration to every command, and in reports', async () => {
    const doctor = await tabbat(own, 'doctor', '--json')
    expect(JSON.parse(doctor.stdout).checks).toContainEqual({
      check: 'data',
      status: 'warning',
      text: DEMO_NOTICE,
    })
    expect((await tabbat(own, 'keys', 'list')).stderr).toContain(DEMO_NOTICE)
    const file = join(newDataDir(), 'number.txt')
    writeFileSync(file, String(made.person), { mode: 0o600 })
    const ask = (format: string) =>
      tabbat(
        own,
        'person',
        'report',
        'nin',
        '--number-file',
        file,
        '--reason',
        'A test of reports',
        '--format',
        format,
      )
    const report = JSON.parse((await ask('json')).stdout)
    expect(report.demonstration).toBe(true)
    expect(
      new Set(report.requests.map((each: { key_name: string }) => each.key_name)).size,
    ).toBeGreaterThanOrEqual(3)
    for (const format of ['html', 'csv', 'text']) expect((await ask(format)).stdout).toContain(DEMO_NOTICE)
    const { stdout } = await tabbat(
      own,
      'audit',
      'export',
      '--outcome',
      'source_unavailable',
      '--format',
      'ndjson',
    )
    expect(JSON.parse(JSON.parse(stdout.split('\n')[0] ?? '').body)).toMatchObject({ demonstration: true })
  })

  it('stays one after a restore of its backup', async () => {
    const restored = newDataDir()
    copyFileSync(join(folder, 'root.key'), join(restored, 'root.key'))
    const backup = join(folder, 'backups', readdirSync(join(folder, 'backups'))[0] ?? '')
    expect((await tabbat({}, 'restore', backup, '--data-dir', restored)).code).toBe(0)
    const { stdout } = await tabbat({}, 'doctor', '--json', '--data-dir', restored)
    expect(JSON.parse(stdout).checks).toContainEqual({ check: 'data', status: 'warning', text: DEMO_NOTICE })
  })

  it('is not made where something is', async () => {
    const { code, stderr } = await tabbat({}, 'demo', '--data-dir', folder)
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('is not empty') })
    const direct = await tabbat(
      {},
      'demo',
      '--data-dir',
      folder,
      '--fill',
      'http://127.0.0.1:1/a',
      'http://127.0.0.1:1/b',
    )
    expect(direct).toMatchObject({ code: 1, stderr: expect.stringContaining('is not empty') })
  })

  it('is not made beside settings of PostgreSQL', async () => {
    const settings = { TABBAT_DATABASE_URL: 'postgres://tabbat@db.example/tabbat' }
    const { code, stderr } = await tabbat(settings, 'demo')
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('TABBAT_DATABASE_URL') })
  })

  it('refuses a port that is taken before anything is made', async () => {
    const { port, close } = await takePort()
    onTestFinished(close)
    const own = join(newDataDir(), 'demo')
    for (const options of [
      ['--port', `${port}`],
      ['--admin-port', `${port}`, '--keep'],
      ['--port', `${port}`, '--data-dir', own],
    ]) {
      const { code, stderr } = await tabbat({}, 'demo', ...options)
      expect([code, stderr]).toEqual([1, expect.stringContaining('error: A port is taken.')])
      expect(stderr).not.toContain('Synthetic traffic')
    }
    expect(existsSync(own)).toBe(false)
    await close()
    const twice = await tabbat({}, 'demo', '--port', `${port}`, '--admin-port', `${port}`)
    expect(twice).toMatchObject({ code: 1, stderr: expect.stringContaining('A port is taken.') })
  })

  it('keeps data that is complete and to be kept if the server cannot start', async () => {
    const { port, close } = await takePort()
    await close()
    const own = newDataDir()
    const running = tabbat({}, 'demo', '--days', '1', '--port', `${port}`, '--data-dir', own)
    await expect.poll(() => existsSync(join(own, 'tabbat.db'))).toBe(true)
    onTestFinished((await takePort(port)).close)
    const { code, stderr } = await running
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining(
        `The data is complete, and kept. Look at it with: tabbat serve --data-dir ${own}\nerror: A port is taken.`,
      ),
    ])
    expect((await tabbat({ TABBAT_DATA_DIR: own }, 'audit', 'verify')).code).toBe(0)
  }, 600_000)

  async function takePort(wanted = 0) {
    const server = createServer().listen(wanted, '127.0.0.1')
    await once(server, 'listening')
    const close = async () => {
      if (server.listening) await once(server.close(), 'close')
    }
    return { port: (server.address() as AddressInfo).port, close }
  }

  it('leaves nothing behind when it is interrupted while it is made', async () => {
    const temporary = mkdtempSync(join(tmpdir(), 'tabbat-demo-test-'))
    mkdirSync(temporary, { recursive: true })
    const child = spawn(TABBAT.file, ['demo', '--days', '31'], {
      env: { PATH: process.env.PATH ?? '', TMPDIR: temporary },
      stdio: 'ignore',
    })
    const isBegun = () =>
      readdirSync(temporary).some((name) => existsSync(join(temporary, name, 'tabbat.db')))
    await expect.poll(isBegun).toBe(true)
    child.kill('SIGINT')
    expect(await once(child, 'close')).toEqual([130, null])
    expect(readdirSync(temporary).filter((name) => name.startsWith('tabbat-demo-'))).toEqual([])
  })

  function query(sql: string) {
    const database = new DatabaseSync(join(folder, 'tabbat.db'), { readOnly: true })
    try {
      return database.prepare(sql).all()
    } finally {
      database.close()
    }
  }
})
