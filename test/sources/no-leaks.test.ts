import { mkdtempSync, openSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { loadConfig } from '../../src/context/config.ts'
import { SCOPES } from '../../src/contract/scope.ts'
import { createKey } from '../../src/keys/manage.ts'
import { createApiServer } from '../../src/server/api-server.ts'
import { createContext } from '../../src/server/create-context.ts'
import { CANARY, FAULTS } from '../../src/simulator/faults.ts'
import { toPhoneCoreOf } from '../../src/simulator/people.ts'
import { openStandIn } from '../../src/simulator/stand-in.ts'
import { IDENTITY_VENDORS } from '../../src/simulator/vendors.ts'
import { namesWith } from '../../src/sources/vendors.ts'
import { createLog } from '../../src/telemetry/log.ts'
import { bearer } from '../app.ts'
import { inject } from '../inject.ts'

/** Without the faults that hang: they send no text, and would take 8 seconds each. */
const QUICK = FAULTS.filter((fault) => !['slow_headers', 'slow_body', 'dripping'].includes(fault))

const NIN = '73519284650'
const PHONE = toPhoneCoreOf(NIN)

it('no personal data and no text of a vendor is in a log, an answer, a metric or the audit log', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tabbat-no-leaks-'))
  const path = join(folder, 'log')
  const log = createLog('trace', openSync(path, 'w'))
  const vendors = await Promise.all(IDENTITY_VENDORS.map((script) => openStandIn(script)))
  // Not every vendor has both operations.
  const orderOf = (ability: 'nin' | 'bvn') =>
    IDENTITY_VENDORS.map(({ name }) => name)
      .filter((name) => namesWith(ability).includes(name))
      .join()
  const settings = Object.assign({}, ...vendors.map((vendor) => vendor.settings))
  const context = await createContext(
    loadConfig(
      {
        ...settings,
        TABBAT_DATA_DIR: folder,
        TABBAT_NIN_SOURCES: orderOf('nin'),
        TABBAT_BVN_SOURCES: orderOf('bvn'),
      },
      '',
    ),
    log,
  )
  const app = createApiServer(context)
  const keyOptions = {
    name: 'x',
    mode: 'live',
    scopes: SCOPES,
    expiresAt: undefined,
    allowedIps: undefined,
  } as const
  const { text: key } = await createKey({ ...context, keyring: context.keyring() }, keyOptions)
  const outputs: string[] = []
  for (const fault of QUICK) {
    for (const vendor of vendors) vendor.fail(fault)
    for (const [kind, extra] of [
      ['nin', {}],
      ['bvn', { amount: '1' }],
    ] as const) {
      const answer = await inject(app, {
        method: 'POST',
        url: `/api/v2/kyc/verify-${kind}`,
        headers: bearer(key),
        payload: { [kind]: NIN, phone: `0${PHONE}`, ...extra },
      })
      // A verified answer contains the record of the person.
      if (answer.statusCode !== 200) outputs.push(answer.body)
    }
  }
  outputs.push(await context.metrics.print())
  const rows = await context.store.database.prepare('SELECT * FROM audit').all()
  outputs.push(JSON.stringify(rows))
  await app.close()
  await context.close()
  await Promise.all(vendors.map((vendor) => vendor.close()))
  log.flush()
  outputs.push(readFileSync(path, 'utf8'))
  expect(rows.length).toBeGreaterThan(QUICK.length)
  expect(outputs.at(-1)).toContain('"outcome":"source_')
  for (const secret of [
    NIN,
    PHONE,
    CANARY,
    'Vendortext',
    'simulated-',
    Buffer.from(NIN).toString('base64').slice(0, 14),
  ])
    for (const text of outputs) expect(text.includes(secret), secret).toBe(false)
})
