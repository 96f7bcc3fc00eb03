import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, statSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { dojah } from '../../src/simulator/dojah.ts'
import { toNinPerson } from '../../src/simulator/people.ts'
import { qoreid } from '../../src/simulator/qoreid.ts'
import { openStandIn, type StandIn } from '../../src/simulator/stand-in.ts'
import { newDataDir, TABBAT, tabbat } from './tabbat.ts'

const NUMBER = '12345678901'
const PHONE = '08035678901'
const { first_name, last_name } = toNinPerson(NUMBER).personal_info

let vendor: StandIn
let settings: Record<string, string>
beforeAll(async () => {
  vendor = await openStandIn(dojah)
  settings = { TABBAT_DATA_DIR: newDataDir(), TABBAT_DOJAH_PRICE: '50', ...vendor.settings }
})
afterAll(() => vendor.close())

/** Runs the command with these lines on standard input. */
function certify(own: Record<string, string>, lines: readonly string[], ...args: string[]) {
  const child = spawn(TABBAT.file, ['vendors', 'certify', ...args], {
    env: { PATH: process.env.PATH ?? '', HOME: tmpdir(), ...own },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  // It may have ended before it read.
  child.stdin.on('error', () => {}).end(lines.map((line) => `${line}\n`).join(''))
  const ended = Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]).then(
    ([stdout, stderr, [code]]) => ({ code: code as number | null, stdout, stderr }),
  )
  return Object.assign(ended, { child })
}

const newReport = () => join(newDataDir(), 'report.json')

describe('tabbat vendors certify', () => {
  it('writes a report without a value, which only its owner may read, and never replaces one', async () => {
    const out = newReport()
    const done = await certify(settings, [NUMBER, PHONE], 'dojah', '--yes', '--out', out)
    expect([done.code, done.stdout]).toEqual([0, expect.stringContaining('Proved: 2 rules')])
    expect(statSync(out).mode & 0o777).toBe(0o600)
    const written = readFileSync(out, 'utf8')
    expect(JSON.parse(written)).toMatchObject({
      vendor: 'dojah',
      operation: 'nin',
      address: 'another',
      complete: true,
      proved: { rules: ['no such person', 'record'] },
      steps: [{ step: 'found', answer: { entity: { nin: '99999999999' } } }, {}, {}, {}, {}],
    })
    const all = written + done.stdout + done.stderr
    for (const personal of [NUMBER, PHONE, PHONE.slice(1), first_name, last_name])
      expect(all.toLowerCase()).not.toContain(personal.toLowerCase())
    const again = await certify(settings, [NUMBER, PHONE], 'dojah', '--yes', '--out', out)
    expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('never replaced')])
    expect(readFileSync(out, 'utf8')).toBe(written)
  })

  it('records every call, counts it as spend, and keeps no proof of a simulated vendor', async () => {
    const own = { ...settings, TABBAT_DATA_DIR: newDataDir(), TABBAT_NIN_SOURCES: 'dojah' }
    const { stdout } = await certify(own, [NUMBER, PHONE], 'dojah', '--yes', '--json', '--out', newReport())
    expect(JSON.parse(stdout)).toMatchObject({ vendor: 'dojah', kept: false, database: expect.any(String) })
    const audit = (await tabbat(own, 'audit', 'export')).stdout
    expect(audit.match(/certification of nin: \w+/g)).toHaveLength(4)
    expect(audit).not.toContain('vendor_certified')
    const [status] = JSON.parse((await tabbat(own, 'sources', 'status', '--json')).stdout)
    // The vendor does not bill the call that it refused.
    expect(status).toMatchObject({ callsToday: 3, spentKoboToday: 15_000 })
    expect((await tabbat(own, 'vendors', 'show', 'dojah')).stdout).toContain('nin: not proved yet')
  })

  it('asks for the names that a vendor needs', async () => {
    const other = await openStandIn(qoreid)
    const own = { ...other.settings, TABBAT_QOREID_NAMES_OPTIONAL: 'off', TABBAT_DATA_DIR: newDataDir() }
    const without = await certify(own, [NUMBER, PHONE], 'qoreid', '--yes', '--out', newReport())
    expect([without.code, without.stderr]).toEqual([1, expect.stringContaining('needs this: first name')])
    expect(other.count()).toBe(0)
    const lines = [NUMBER, PHONE, first_name, last_name]
    expect((await certify(own, lines, 'qoreid', '--yes', '--out', newReport())).code).toBe(0)
    await other.close()
  })

  it('ends with 1, shows the shape and says what to add if an answer contradicts the file', async () => {
    vendor.refuse(404, 'Not in our register')
    const out = newReport()
    const { code, stderr, stdout } = await certify(settings, [NUMBER, PHONE], 'dojah', '--yes', '--out', out)
    vendor.refuse(undefined)
    expect(code).toBe(1)
    expect(stderr).toContain('"error": "AAA AA AAA AAAAAAAA"')
    expect(stderr).toContain('"texts": {"no_such_person": ["Not in our register"]}')
    expect(stdout).toContain('Contradicts the file: A number that no person has.')
    expect(readFileSync(out, 'utf8')).not.toContain('register')
  })

  it('makes no call without a terminal or --yes, with a number in the wrong form, or for an unknown vendor', async () => {
    const before = vendor.count()
    const cases = [
      [[NUMBER, PHONE], ['dojah'], 'needs a terminal'],
      [['1234', PHONE], ['dojah', '--yes'], 'A NIN has 11 digits'],
      [[NUMBER, '1234'], ['dojah', '--yes'], 'must be a Nigerian mobile number'],
      [[NUMBER, PHONE], ['dojah', '--yes', '--by', PHONE], '--by must be a name'],
      [[NUMBER, PHONE], ['prembly', '--yes'], 'prembly is not configured'],
    ] as const
    for (const [lines, args, message] of cases) {
      const { code, stderr } = await certify(settings, lines, ...args, '--out', newReport())
      expect([code, stderr]).toEqual([1, expect.stringContaining(message)])
      expect(stderr).not.toContain(lines[0])
    }
    expect(vendor.count()).toBe(before)
  })

  it('writes what was proved so far when it is interrupted in a call', async () => {
    const out = newReport()
    let interrupt = () => {}
    // Answers the first request as the vendor does, and the second never.
    let count = 0
    const halting = createServer(async (request, response) => {
      count += 1
      if (count > 1) return interrupt()
      const answer = await fetch(`${vendor.url}${request.url}`, {
        headers: { authorization: request.headers.authorization ?? '' },
      })
      response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text())
    }).listen(0, '127.0.0.1')
    await once(halting, 'listening')
    const url = `http://127.0.0.1:${(halting.address() as AddressInfo).port}`
    const ended = certify(
      { ...settings, TABBAT_DOJAH_URL: url },
      [NUMBER, PHONE],
      'dojah',
      '--yes',
      '--out',
      out,
    )
    interrupt = () => void ended.child.kill('SIGINT')
    const { code, stderr } = await ended
    halting.closeAllConnections()
    halting.close()
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining('Interrupted. What was proved until then is kept.'),
    ])
    expect(JSON.parse(readFileSync(out, 'utf8'))).toMatchObject({
      complete: false,
      proved: { rules: ['record'] },
      steps: [{ step: 'found', verdict: 'proved' }, { step: 'wrong_phone' }],
    })
  })
})
