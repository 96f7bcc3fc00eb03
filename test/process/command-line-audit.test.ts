import { spawnSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ENGINES, newSettings, withSealed } from '../registry/sealed-registry.ts'
import { type Settings, tabbat } from './tabbat.ts'

type Row = { phase: string; outcome: string | null; detail: string | null; subject: string | null }

const readRows = (settings: Settings): Promise<Row[]> =>
  withSealed(settings, async ({ store: { audit } }) => {
    const pages = await Promise.all((await audit.chains()).map(({ chain }) => audit.page(chain, 0, 1000)))
    return pages.flat()
  })

describe.each(ENGINES)('commands on %s', (engine) => {
  it('leave a row that says "by command line"', async () => {
    const settings = await newSettings(engine)
    const made = JSON.parse(
      (await tabbat(settings, 'keys', 'create', '--name', 'shop', '--mode', 'test', '--json')).stdout,
    )
    await tabbat(settings, 'keys', 'revoke', made.id)
    const create = ['tokens', 'create', '--name', 'deploy', '--role', 'operator', '--json']
    const token = JSON.parse((await tabbat(settings, ...create)).stdout)
    expect(token).toMatchObject({ token: expect.stringMatching(/^tbt_admin_/), state: 'active' })
    await tabbat(settings, 'tokens', 'revoke', token.id)
    const [listed] = JSON.parse((await tabbat(settings, 'tokens', 'list', '--json')).stdout)
    expect(listed).toMatchObject({
      id: token.id,
      state: 'revoked',
      role: 'operator',
      made_by: 'command line',
    })
    await tabbat(settings, 'admin', 'invite', '--url', 'http://127.0.0.1:8081')
    await tabbat(settings, 'sources', 'disable', 'dojah')
    await tabbat(settings, 'import', 'nin', 'docs/examples/nin.ndjson')
    const rows = await readRows(settings)
    expect(rows.map(({ phase }) => phase)).toEqual(
      expect.arrayContaining([
        'key_created',
        'key_revoked',
        'token_created',
        'token_revoked',
        'account_invited',
        'source_disabled',
        'import_started',
        'imported',
      ]),
    )
    // Once, not twice.
    expect(rows.filter(({ detail }) => detail?.split('by command line').length !== 2)).toEqual([])
  })

  it('that export data record it first, so that the export contains the row', async () => {
    const settings = await newSettings(engine)
    await tabbat(settings, 'keys', 'create', '--name', 'shop', '--mode', 'test')
    const { stdout } = await tabbat(settings, 'audit', 'export')
    const exported = stdout.trimEnd().split('\n')
    expect(JSON.parse(exported.at(-1) ?? '')).toMatchObject({
      phase: 'audit_exported',
      outcome: 'ok',
      detail: 'by command line',
    })
    const file = join(settings.TABBAT_DATA_DIR ?? tmpdir(), 'all.backup')
    const { rows } = JSON.parse((await tabbat(settings, 'backup', file, '--json')).stdout)
    expect(rows.audit).toBe(3)
    await tabbat(settings, 'backup', join(file, 'no-folder'))
    spawnSync('bin/tabbat', ['audit', 'subject', 'nin'], {
      env: { PATH: process.env.PATH ?? '', HOME: tmpdir(), ...settings },
      input: '12345678901\n',
    })
    const written = (await readRows(settings)).slice(1)
    expect(written.map(({ phase, outcome, detail }) => `${phase} ${outcome} ${detail}`)).toEqual([
      'audit_exported ok by command line',
      'backup_written ok by command line',
      'backup_written ok by command line',
      'backup_written failed by command line',
      'audit_searched ok by command line',
    ])
    expect(written.at(-1)?.subject).toMatch(/^[0-9a-f]{64}$/)
  })
})
