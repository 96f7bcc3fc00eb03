import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { toLagosDay } from '../../src/contract/time.ts'
import { runDataChecks } from '../../src/health/data-checks.ts'
import { runLocalChecks, toDiskStatus } from '../../src/health/local-checks.ts'
import { createContext } from '../../src/server/create-context.ts'
import { VERSION } from '../../src/version.ts'
import type { Settings } from '../process/tabbat.ts'
import { ENGINES, newSettings, toConfig, withSealed } from '../registry/sealed-registry.ts'

const newFolder = () => mkdtempSync(join(tmpdir(), 'tabbat-problems-'))

async function checkLocally(name: string, settings: Settings = {}, more: object = {}): Promise<string> {
  const config = { ...toConfig({ TABBAT_DATA_DIR: newFolder(), ...settings }), ...more }
  const { status = '', text = '' } = (await runLocalChecks(config)).find(({ check }) => check === name) ?? {}
  return `${status}: ${text}`
}

describe('tabbat doctor on this machine', () => {
  it('finds a file of settings that every user can read', async () => {
    expect(await checkLocally('settings', {}, { exposedEnvFile: '/srv/tabbat/.env' })).toBe(
      'warning: Every user can read the secrets in /srv/tabbat/.env. Type: chmod 600 /srv/tabbat/.env',
    )
  })

  it('says that a folder of archives is read, or written where months are archived', async () => {
    const folder = newFolder()
    const settings = { TABBAT_AUDIT_ARCHIVE_DIR: folder }
    expect(await checkLocally('archives', settings)).toBe(`ok: ${folder} can be read.`)
    expect(await checkLocally('archives', { ...settings, TABBAT_AUDIT_KEEP: '5y' })).toBe(
      `ok: ${folder} can be written.`,
    )
  })

  it('takes little free space for a warning, and hardly any for a failure', () => {
    const [few, low] = [200_000_000, 2_000_000_000]
    const free = [low, low - 1, few, few - 1]
    const size = 100_000_000_000
    expect(free.map((each) => toDiskStatus(each, size))).toEqual(['ok', 'warning', 'warning', 'failed'])
  })

  it('does not call a small disk full because it is small', () => {
    const size = 1_000_000_000
    const free = [900_000_000, 200_000_000, 199_999_999, 50_000_000, 49_999_999]
    expect(free.map((each) => toDiskStatus(each, size))).toEqual(['ok', 'ok', 'warning', 'warning', 'failed'])
  })

  it('warns of plain http for callers, and knows a proxy before this machine', async () => {
    const url = { TABBAT_PUBLIC_URL: 'http://id.example.com' }
    expect(await checkLocally('proxy', url)).toContain('TABBAT_PUBLIC_URL is plain http.')
    expect(await checkLocally('proxy', { ...url, TABBAT_TRUST_PROXY: '2001::/15' })).toContain(
      'TABBAT_TRUST_PROXY trusts 2001::/15',
    )
  })
})

describe.each(ENGINES)('tabbat doctor on %s', (engine) => {
  const open = async (more: Settings = {}) => {
    const settings = { ...(await newSettings(engine)), TABBAT_LOG_LEVEL: 'silent', ...more }
    await (await createContext(toConfig(settings))).close()
    return settings
  }
  const check = (settings: Settings) =>
    withSealed(settings, async (sealed) => {
      const found = await runDataChecks({ ...sealed, config: toConfig(settings) })
      return Object.fromEntries(found.map(({ check: name, status, text }) => [name, `${status}: ${text}`]))
    })
  const DOJAH = {
    ...{ TABBAT_NIN_SOURCES: 'dojah,registry', TABBAT_DOJAH_APP_ID: 'app', TABBAT_DOJAH_SECRET: 'secret' },
    ...{ TABBAT_DOJAH_PRICE: '50', TABBAT_DOJAH_DAILY_CAP: '100' },
  }

  it('finds a rotation that was not finished', async () => {
    const settings = await open()
    await withSealed(settings, async (sealed) => {
      const { store, keyring, rootKeys } = sealed
      const [root] = rootKeys.candidates
      await store.meta.set({ root_previous_fingerprint: String(root?.fingerprint) })
      const found = await runDataChecks({ store, keyring, rootKeys, config: toConfig(settings) })
      expect(found.find(({ check: name }) => name === 'root key')?.text).toContain(
        'A rotation is not finished. Run: tabbat keys rotate-root',
      )
    })
  })

  it('repeats the warnings of a vendor, how it failed, and how much of its cap is used', async () => {
    const settings = await open(DOJAH)
    const publish = (figures: object) =>
      withSealed(settings, ({ store }) => {
        const state = JSON.stringify({ state: 'closed', down: false, warnings: [], ...figures })
        return store.sources.publish([
          { node: 'one', name: 'dojah', operation: 'verify_nin', state, at: Date.now() },
        ])
      })
    await publish({ warnings: ['slow', 'unknown_shape'] })
    expect((await check(settings)).sources).toBe(
      'warning: dojah (verify_nin) has the warning slow. dojah (verify_nin) has the warning unknown_shape.',
    )
    const lastSuccessAt = '2026-11-01T12:00:00.000Z'
    await publish({ down: true, unanswered: 0, unansweredRate: 0, lastSuccessAt })
    expect((await check(settings)).sources).toContain(
      `dojah (verify_nin) failed, and was not needed in the last five minutes. Last answer: ${lastSuccessAt}.`,
    )
    await publish({})
    await withSealed(settings, ({ store }) => {
      const day = toLagosDay(Date.now())
      const sql = "INSERT INTO source_spend (name, day, calls, kobo) VALUES ('dojah', $1, 1, 8000)"
      return store.database.prepare(sql).run(day)
    })
    expect((await check(settings)).sources).toBe(
      'warning: dojah (verify_nin) has used 80 % of its daily cap.',
    )
  })

  it('says which of the sources that do not answer is disabled', async () => {
    const settings = await open({ ...DOJAH, TABBAT_NIN_SOURCES: 'dojah' })
    const state = JSON.stringify({ state: 'closed', down: false, warnings: [] })
    await withSealed(settings, async ({ store }) => {
      const published = { node: 'one', name: 'dojah', operation: 'verify_nin', state, at: Date.now() }
      await store.sources.publish([published])
      await store.sources.disable('dojah', Date.now())
    })
    expect((await check(settings)).sources).toMatch(
      /^failed: verify_nin gets no answers: dojah \(disabled\)\./,
    )
  })

  it('finds endpoints that were disabled or fail, and those that get no checkpoints', async () => {
    const settings = await open({ TABBAT_CHECKPOINT_DIR: newFolder() })
    const context = await createContext(toConfig(settings))
    await context.audit.record([{ phase: 'imported' }])
    await context.close()
    const insert = (id: string, event: string, values: (string | number | null)[]) =>
      withSealed(settings, async ({ store }) => {
        await store.database
          .prepare(
            `INSERT INTO webhook_endpoints (id, name, url, created_at, secret, paused_until, disabled_at, disabled_reason, failing_since)
             VALUES ($1, 'shop', 'https://shop.example', 1, $2, 0, $3, $4, $5)`,
          )
          .run(id, Buffer.alloc(32), ...values)
        await store.database
          .prepare("INSERT INTO webhook_subscriptions (endpoint_id, event, lineage) VALUES ($1, $2, '')")
          .run(id, event)
      })
    await insert('whk_off', 'catalogue.changed', [1, 'operator', null])
    expect((await check(settings)).webhooks).toBe('ok: 1 configured, and none fails.')
    await insert('whk_gone', 'catalogue.changed', [1, 'failing', null])
    await insert('whk_bad', 'catalogue.changed', [null, null, 0])
    const { webhooks } = await check(settings)
    expect(webhooks).toContain('Endpoint whk_gone was disabled by the server, and gets no events.')
    expect(webhooks).toContain('Endpoint whk_bad has accepted nothing since 1970-01-01T00:00:00.000Z.')
    expect(webhooks).not.toContain('whk_off')
    await insert('whk_witness', 'audit.checkpoint', [1, 'operator', null])
    await insert('whk_slow', 'audit.checkpoint', [null, null, null])
    await withSealed(settings, async ({ store }) => {
      const add = store.database.prepare(
        `INSERT INTO webhook_deliveries (endpoint_id, event_id, type, reference, position, body, state, due_at, tries, attempts)
         VALUES ('whk_slow', $1, 'audit.checkpoint', '', $2, '{}', 'pending', 1, 0, 0)`,
      )
      for (let index = 0; index < 4; index++) await add.run(`evt_${index}`, index)
    })
    const { checkpoints } = await check(settings)
    expect(checkpoints).toContain('Endpoint whk_witness is disabled and gets no checkpoints.')
    expect(checkpoints).toContain('Events that endpoint whk_slow has not got yet: 4. Is a server running?')
  })

  it('warns of nodes that all run another version than this program', async () => {
    const settings = await open()
    await withSealed(settings, ({ store }) =>
      store.nodes.sendHeartbeat(
        {
          ...{ owner: 'a', node: 'node-a', worker: 1, version: '9.9.9', inFlight: 0, requestsPerS: 0 },
          ...{ lagMs: 0, uptimeMs: 1000 },
        },
        Date.now(),
      ),
    )
    expect((await check(settings)).nodes).toBe(
      `warning: The nodes run 9.9.9, and this program is ${VERSION}. Restart the nodes.`,
    )
  })
})
