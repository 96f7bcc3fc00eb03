import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type Settings, startServer } from '../process/tabbat.ts'
import { tabbat } from './run.ts'
import { ENGINES, newSettings } from './sealed-registry.ts'

const NIN = '70000000001'
const PHONE = '08031234567'

describe.concurrent.each(ENGINES)('a server on %s', (engine) => {
  it('answers from the registry before, during and after a rotation and a backup, and not after an erasure', async () => {
    const settings: Settings = { ...(await newSettings(engine)), TABBAT_LOG_LEVEL: 'silent' }
    const inFolder = (name: string) => join(settings.TABBAT_DATA_DIR ?? '', name)
    const people = [NIN, '70000000002'].map((nin_number) =>
      JSON.stringify({ nin_number, personal_info: { first_name: 'Ada', phone_number: PHONE } }),
    )
    writeFileSync(inFolder('people.ndjson'), `${people.join('\n')}\n`)
    const server = await startServer(settings)
    await tabbat(settings, ['import', 'nin', inFolder('people.ndjson')])
    const made = await tabbat(settings, ['keys', 'create', '--name', 'x', '--mode', 'live', '--json'])
    const { key } = JSON.parse(made.stdout) as { key: string }
    const verify = async (nin: string) => {
      const answer = await fetch(`${server.url}/api/v2/kyc/verify-nin`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ nin, phone: PHONE }),
      })
      return answer.status
    }
    expect(await verify(NIN)).toBe(200)
    const statuses: number[] = []
    let isRunning = true
    const requests = (async () => {
      while (isRunning) statuses.push(await verify(NIN))
    })()
    const rotated = await tabbat(settings, ['keys', 'rotate-root', '--yes', '--json'])
    const backedUp = await tabbat(settings, ['backup', inFolder('x.backup'), '--json'])
    isRunning = false
    await requests
    expect([rotated.code, backedUp.code, ...new Set(statuses)]).toEqual([0, 0, 200])
    const erased = await tabbat(settings, ['registry', 'erase', 'nin', '--yes'], NIN)
    expect(erased.stdout).toBe('Erased: 1 record.\n')
    expect([await verify(NIN), await verify('70000000002')]).toEqual([422, 200])
    expect(await server.stop()).toBe(0)
  })
})
