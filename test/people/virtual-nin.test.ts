import { afterEach, describe, expect, it } from 'vitest'
import { toNinBehind, toPhoneCoreOf } from '../../src/simulator/people.ts'
import { prembly } from '../../src/simulator/prembly.ts'
import { openStandIn } from '../../src/simulator/stand-in.ts'
import { bearer, openTestApp } from '../app.ts'
import { createTestDatabase } from '../postgres.ts'
import { tabbat } from '../registry/run.ts'
import { ENGINES, type Engine } from '../registry/sealed-registry.ts'

const VNIN = 'AB012345678910YZ'
const REASON = ['--reason', 'Request of erasure, case 17']

const opened: { close: () => Promise<unknown> }[] = []
afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each.close()
})

/** A server with an answer of a vendor that returned the NIN behind a virtual NIN. */
async function openAnswered(engine: Engine) {
  const vendor = await openStandIn(prembly)
  opened.push(vendor)
  const database: Record<string, string> =
    engine === 'postgres' ? { TABBAT_DATABASE_URL: await createTestDatabase() } : {}
  const server = await openTestApp({ ...database, ...vendor.settings, TABBAT_NIN_SOURCES: 'prembly' })
  opened.push(server)
  const url = await server.app.listen({ host: '127.0.0.1', port: 0 })
  const answer = await fetch(`${url}/api/v2/kyc/verify-nin`, {
    method: 'POST',
    headers: {
      ...bearer(await server.createKey({ mode: 'live' })),
      'content-type': 'application/json',
      'idempotency-key': 'order-1',
    },
    body: JSON.stringify({ nin: VNIN, phone: `0${toPhoneCoreOf(VNIN)}` }),
  })
  expect(answer.status).toBe(200)
  const settings = { ...database, TABBAT_DATA_DIR: server.context.config.dataDir }
  const run = (args: readonly string[], number: string) =>
    tabbat(settings, ['person', 'erase', 'nin', ...REASON, '--yes', ...args], number)
  return { context: server.context, run }
}

describe.each(ENGINES)('an erasure by a virtual NIN on %s', (engine) => {
  it('says that data under the NIN is not found by it, and to give the NIN', async () => {
    const { context, run } = await openAnswered(engine)
    const { code, stdout } = await run([], VNIN)
    expect(code).toBe(0)
    expect(stdout).not.toContain(VNIN)
    expect(stdout).toContain('No data is stored under this virtual NIN. Nothing was erased.')
    expect(stdout).toContain('Run the command again with the NIN of the person.')
    expect(stdout).toContain('Remains: what is stored under the NIN behind this virtual NIN')
    const rows = await context.store.audit.bySubject(context.toSubjectHash('nin', VNIN))
    expect(rows.at(-1)).toMatchObject({ phase: 'record_erased', outcome: 'not_found' })
    expect(rows.at(-1)?.detail).toMatch(/^vnin; reason/)

    const json = JSON.parse((await run(['--json'], VNIN)).stdout)
    expect(json).toMatchObject({ erased: false })
    expect(json.remains[0].why).toContain('erase by the NIN as well')

    const byNin = JSON.parse((await run(['--json'], toNinBehind(VNIN))).stdout)
    expect(byNin).toMatchObject({ erased: true, kept_answers: 1 })
    expect(JSON.stringify(byNin.remains)).not.toContain('behind this virtual NIN')
  })
})
