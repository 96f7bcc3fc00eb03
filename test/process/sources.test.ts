import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { dojah } from '../../src/simulator/dojah.ts'
import { openStandIn, type StandIn } from '../../src/simulator/stand-in.ts'
import { createVtpass } from '../../src/simulator/vtpass.ts'
import { newDataDir, startServer, TABBAT, tabbat } from './tabbat.ts'

let vendor: StandIn
let settings: Record<string, string>
beforeAll(async () => {
  vendor = await openStandIn(dojah)
  settings = {
    TABBAT_DATA_DIR: newDataDir(),
    TABBAT_NIN_SOURCES: 'dojah',
    TABBAT_DOJAH_PRICE: '50',
    TABBAT_DOJAH_DAILY_CAP: '1000',
    ...vendor.settings,
  }
})
afterAll(() => vendor.close())

describe('tabbat sources', () => {
  it('shows the state of a source on a running server, and disables it there', async () => {
    const server = await startServer({ ...settings, TABBAT_LOG_LEVEL: 'silent' })
    try {
      const before = await tabbat(settings, 'sources', 'status')
      expect(before.stdout).toMatch(/dojah +verify_nin +\S+ +closed/)
      expect(before.stdout).toContain('0 calls, ₦0.00 of ₦1,000.00')
      expect((await tabbat(settings, 'sources', 'disable', 'dojah')).stdout).toContain('is disabled')
      const ready = async () => {
        const answer = await fetch(`${server.url}/health/ready`)
        return ((await answer.json()) as { sources: unknown }).sources
      }
      await expect.poll(ready).toEqual({ dojah: 'disabled' })
      const [status] = JSON.parse((await tabbat(settings, 'sources', 'status', '--json')).stdout)
      expect(status).toMatchObject({ source: 'dojah', disabled: true, capKobo: 100_000 })
      expect((await tabbat(settings, 'sources', 'enable', 'dojah')).stdout).toContain('is enabled')
    } finally {
      await server.stop()
    }
    // A server that has stopped leaves no state that could be taken as current.
    expect((await tabbat(settings, 'sources', 'status')).stdout).toMatch(/dojah +verify_nin +- +not running/)
  })

  it('calls a vendor once and explains the result', async () => {
    const good = await tabbat(settings, 'sources', 'check', 'dojah')
    expect([good.code, good.stdout]).toEqual([0, expect.stringContaining('everything works')])
    vendor.fail('unauthorised')
    const bad = await tabbat(settings, 'sources', 'check', 'dojah')
    vendor.fail(undefined)
    expect([bad.code, bad.stdout]).toEqual([1, expect.stringContaining('does not accept the credentials')])
    const unset = await tabbat({ TABBAT_DATA_DIR: newDataDir() }, 'sources', 'check', 'prembly')
    expect([unset.code, unset.stderr]).toEqual([1, expect.stringContaining('prembly is not configured')])
  })

  it('records a check in the audit log, and obeys the cap and the kill switch', async () => {
    const own = { ...settings, TABBAT_DATA_DIR: newDataDir(), TABBAT_DOJAH_DAILY_CAP: '100' }
    const check = () => tabbat(own, 'sources', 'check', 'dojah')
    expect((await check()).code).toBe(0)
    vendor.fail('unauthorised')
    expect((await check()).code).toBe(1)
    vendor.fail(undefined)
    const calls = vendor.count()
    const { stdout } = await tabbat(own, 'audit', 'export')
    expect(stdout.match(/"phase":"source_checked"/g)).toHaveLength(2)
    const [status] = JSON.parse((await tabbat(own, 'sources', 'status', '--json')).stdout)
    // The refused call is not billed.
    expect(status).toMatchObject({ callsToday: 1, spentKoboToday: 5000 })
    expect((await check()).code).toBe(0)
    const capped = await check()
    expect([capped.code, capped.stderr]).toEqual([1, expect.stringContaining('exceed its daily cap')])
    await tabbat(own, 'sources', 'disable', 'dojah')
    const off = await check()
    expect([off.code, off.stderr]).toEqual([1, expect.stringContaining('dojah is disabled')])
    expect(vendor.count()).toBe(calls + 1)
  })

  it('disables vendors of lists too', async () => {
    const shop = await openStandIn(createVtpass())
    const own = { TABBAT_DATA_DIR: newDataDir(), TABBAT_CATALOGUE_SOURCES: 'vtpass', ...shop.settings }
    expect((await tabbat(own, 'sources', 'disable', 'vtpass')).stdout).toContain('is disabled')
    const sync = await tabbat(own, 'catalogue', 'sync', 'vtpass')
    expect([sync.code, sync.stderr]).toEqual([1, expect.stringContaining('vtpass is disabled')])
    expect((await tabbat(own, 'audit', 'export')).stdout).toContain('"outcome":"disabled"')
    const status = await tabbat(own, 'sources', 'status')
    expect(status.stdout).toMatch(/vtpass +catalogue_sync +- +disabled/)
    expect(shop.count()).toBe(0)
    await tabbat(own, 'sources', 'enable', 'vtpass')
    expect((await tabbat(own, 'catalogue', 'sync', 'vtpass')).code).toBe(0)
    const after = await tabbat(own, 'sources', 'status')
    expect(after.stdout).toMatch(/vtpass +catalogue_sync +- +unchanged/)
    await shop.close()
  })

  it('prints no error when the reader closes the pipe', async () => {
    const child = spawn(TABBAT.file, ['catalogue', 'export'], {
      env: { PATH: process.env.PATH ?? '', TABBAT_DATA_DIR: settings.TABBAT_DATA_DIR },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    child.stdout.destroy()
    const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, 'close')])
    expect([code, stderr]).toEqual([0, expect.stringMatching(/^Database: .*\n$/)])
  })
})

describe('the settings of sources', () => {
  it('are reported together when missing, with all other problems', async () => {
    const { code, stderr } = await tabbat(
      {
        TABBAT_DATA_DIR: newDataDir(),
        TABBAT_PORT: 'x',
        TABBAT_NIN_SOURCES: 'dojah,prembly',
        TABBAT_DOJAH_URL: 'http://api.example.com',
        TABBAT_DOJAH_PRICE: 'much',
      },
      'serve',
    )
    expect(code).toBe(1)
    for (const text of [
      'TABBAT_PORT must be',
      'TABBAT_DOJAH_APP_ID is required to use dojah',
      'TABBAT_DOJAH_SECRET is required to use dojah',
      'TABBAT_DOJAH_URL must begin with https://',
      'TABBAT_DOJAH_PRICE must be an amount in naira',
      'TABBAT_PREMBLY_API_KEY is required to use prembly',
    ])
      expect(stderr).toContain(text)
  })

  it('cause a warning at the start if a source cannot be used', async () => {
    const server = await startServer({
      TABBAT_NIN_SOURCES: 'qoreid',
      TABBAT_QOREID_CLIENT_ID: 'a',
      TABBAT_QOREID_SECRET: 'b',
      TABBAT_LOG_LEVEL: 'silent',
    })
    await server.stop()
    expect(server.banner).toContain('qoreid is passed over for a NIN without first_name and last_name')
  })
})

describe('tabbat simulate', () => {
  it('runs a simulated vendor that can be made to fail', async () => {
    const child = spawn(TABBAT.file, ['simulate', 'dojah', '--port', '0'], {
      env: { PATH: process.env.PATH ?? '' },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    process.once('exit', () => child.kill('SIGKILL'))
    let output = ''
    for await (const piece of child.stdout) {
      output += piece
      if (output.includes('Ctrl-C')) break
    }
    const url = /listens on (\S+)\./.exec(output)?.[1]
    const lookUp = () =>
      fetch(`${url}/api/v1/kyc/nin?nin=12345678901`, { headers: { authorization: 'simulated-secret' } })
    // Pasted into a shell, these lines are all that the check needs.
    const lines = output.split('\n').filter((line) => line.startsWith('export '))
    const pasted = `${lines.join('\n')}\nbin/tabbat sources check dojah && bin/tabbat sources status`
    const shell = spawn('sh', ['-c', pasted], {
      env: { PATH: process.env.PATH ?? '', TABBAT_DATA_DIR: newDataDir() },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const shown = await text(shell.stdout)
    expect(shown).toContain('everything works')
    expect(shown).toMatch(/dojah +verify_nin/)
    expect(shown).toMatch(/dojah +verify_bvn/)
    // The total of the vendor appears once, not per operation.
    expect(shown.match(/calls?, ₦/g)).toHaveLength(1)
    expect(shown).toMatch(/^dojah +1 call, ₦0\.00$/m)
    expect((await lookUp()).status).toBe(200)
    await fetch(`${url}/stand-in/fault`, { method: 'POST', body: '{"fault":"failing"}' })
    expect((await lookUp()).status).toBe(500)
    child.kill('SIGTERM')
    expect((await once(child, 'close'))[0]).toBe(0)
  })

  it('names the simulated vendors if the name is unknown', async () => {
    const { code, stderr } = await tabbat({}, 'simulate', 'acme')
    expect([code, stderr]).toEqual([1, expect.stringMatching(/dojah.*relay.*vtpass/)])
  })
})
