import { spawnSync } from 'node:child_process'
import { copyFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openAuditLog } from '../../src/audit/audit-log.ts'
import { createSigner } from '../../src/audit/signing.ts'
import { createFullProgram } from '../../src/cli/program.ts'
import type { SealedStore } from '../../src/context/sealed-store.ts'
import { toBlindIndexText } from '../../src/crypto/mac.ts'
import { listCommands } from '../cli/parse.ts'
import { ENGINES, newSettings, withSealed } from '../registry/sealed-registry.ts'
import { type Settings, startServer, TABBAT, tabbat } from './tabbat.ts'

type Row = { phase: string; outcome: string | null; detail: string | null; subject: string | null }

const BY = `by ${userInfo().username} (cli)`

const readRows = (settings: Settings): Promise<Row[]> =>
  withSealed(settings, async ({ store: { audit } }) => {
    const pages = await Promise.all((await audit.chains()).map(({ chain }) => audit.page(chain, 0, 1000)))
    return pages.flat()
  })

const NUMBER = '12345678901'
const REFERENCE = `ver_${'0'.repeat(36)}`

/** Writes the outcome of a verification to the log. */
async function recordVerification(
  settings: Settings,
  { store, keyring }: SealedStore,
  more: { readonly consent_reference?: string } = {},
): Promise<void> {
  const log = await openAuditLog({
    ...{ table: store.audit, dataDir: settings.TABBAT_DATA_DIR ?? '', losses: undefined },
    signer: createSigner(keyring['audit-signing']),
    checkpointDir: settings.TABBAT_DATA_DIR ?? '',
    ...{ onUnavailable: () => {}, onCheckpointFailure: () => {}, onCorruption: () => {} },
  })
  const subject = toBlindIndexText(keyring.subject, 'nin', NUMBER)
  const about = { request_reference: REFERENCE, subject, ...more }
  await log.record([{ ...about, phase: 'outcome', outcome: 'verified' }])
  await log.close()
}

/** Runs a command that reads the number from standard input. */
const runWithNumber = (settings: Settings, ...args: string[]) =>
  spawnSync(TABBAT.file, args, {
    env: { PATH: process.env.PATH ?? '', HOME: tmpdir(), ...settings },
    input: `${NUMBER}\n`,
    encoding: 'utf8',
  })

describe.each(ENGINES)('commands on %s', (engine) => {
  it('leave a row that names the system user and the word cli', async () => {
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
      made_by: expect.stringMatching(/ \(cli\)$/),
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
    expect(rows.filter(({ detail }) => detail?.split(BY).length !== 2)).toEqual([])
  })

  it('that export data record it first, so that the export contains the row', async () => {
    const settings = await newSettings(engine)
    await tabbat(settings, 'keys', 'create', '--name', 'shop', '--mode', 'test')
    const { stdout } = await tabbat(settings, 'audit', 'export')
    const exported = stdout.trimEnd().split('\n')
    expect(JSON.parse(exported.at(-1) ?? '')).toMatchObject({
      phase: 'audit_exported',
      outcome: 'ok',
      detail: BY,
    })
    const file = join(settings.TABBAT_DATA_DIR ?? tmpdir(), 'all.backup')
    const { rows } = JSON.parse((await tabbat(settings, 'backup', file, '--json')).stdout)
    expect(rows.audit).toBe(3)
    await tabbat(settings, 'backup', join(file, 'no-folder'))
    spawnSync(TABBAT.file, ['audit', 'subject', 'nin'], {
      env: { PATH: process.env.PATH ?? '', HOME: tmpdir(), ...settings },
      input: '12345678901\n',
    })
    const written = (await readRows(settings)).slice(1)
    expect(written.map(({ phase, outcome, detail }) => `${phase} ${outcome} ${detail}`)).toEqual([
      `audit_exported ok ${BY}`,
      `backup_written ok to ${JSON.stringify(file)}; ${BY}`,
      `backup_written ok to ${JSON.stringify(join(file, 'no-folder'))}; ${BY}`,
      `backup_written failed to ${JSON.stringify(join(file, 'no-folder'))}; ${BY}`,
      `audit_searched ok ${BY}`,
    ])
    expect(written.at(-1)?.subject).toMatch(/^[0-9a-f]{64}$/)
  })

  it('record what a key was granted', async () => {
    const settings = await newSettings(engine)
    const options = [
      '--scope',
      'kyc:nin',
      '--ip',
      '10.0.0.0/8',
      '--reveal',
      'next_of_kin',
      '--hide',
      'religion',
    ]
    const limits = ['--subjects-per-day', '7', '--require-consent', '--expires', '30d']
    const name = 'x"}; by root (cli)'
    await tabbat(settings, 'keys', 'create', '--name', name, '--mode', 'test', ...options, ...limits)
    const { detail } = (await readRows(settings))[0] ?? {}
    const [, granted = ''] = /^granted (.*); by \S+ \(cli\)$/.exec(detail ?? '') ?? []
    expect(JSON.parse(granted)).toEqual({
      name,
      scopes: ['kyc:nin'],
      allowed_ips: ['10.0.0.0/8'],
      hide: ['religion'],
      reveal: ['next_of_kin'],
      subjects_per_day: 7,
      requires_consent: true,
      expires_at: expect.stringMatching(/^20/),
    })
  })

  it('that unlock a number record the reason, and never the number', async () => {
    const settings = await newSettings(engine)
    await tabbat(settings, 'keys', 'create', '--name', 'shop', '--mode', 'test')
    const unlock = (reason: string) =>
      spawnSync(TABBAT.file, ['unlock', 'nin', '--reason', reason, '--json'], {
        env: { PATH: process.env.PATH ?? '', HOME: tmpdir(), ...settings },
        input: '12345678901\n',
        encoding: 'utf8',
      })
    const done = unlock('wrong phone in the import')
    expect(JSON.parse(done.stdout)).toMatchObject({ unlocked: false, failed_matches: 0 })
    const bad = unlock('NIN 12345678901')
    expect([bad.status, bad.stderr]).toEqual([1, expect.not.stringContaining('12345678901')])
    const written = (await readRows(settings)).slice(1)
    expect(written.map(({ phase, detail }) => `${phase} ${detail}`)).toEqual([
      `number_unlocked nin; reason: wrong phone in the import; ${BY}`,
    ])
    expect(written[0]?.subject).toMatch(/^[0-9a-f]{64}$/)
  })

  it('that unlock a number take the reference of a verification instead of the number', async () => {
    const settings = await newSettings(engine)
    await tabbat(settings, 'keys', 'create', '--name', 'shop', '--mode', 'test')
    const [reference, subject] = [`ver_${'0'.repeat(36)}`, 'ab'.repeat(32)]
    await withSealed(settings, async ({ store, keyring }) => {
      const log = await openAuditLog({
        ...{ table: store.audit, dataDir: settings.TABBAT_DATA_DIR ?? '', losses: undefined },
        signer: createSigner(keyring['audit-signing']),
        checkpointDir: settings.TABBAT_DATA_DIR ?? '',
        ...{ onUnavailable: () => {}, onCheckpointFailure: () => {}, onCorruption: () => {} },
      })
      await log.record([{ phase: 'outcome', outcome: 'not_verified', request_reference: reference, subject }])
      await log.close()
    })
    const unlock = (...args: string[]) =>
      tabbat(settings, 'unlock', ...args, '--reason', 'wrong phone in the import')
    expect((await unlock('--reference', reference)).stdout).toContain('This number has no failed matches')
    expect((await readRows(settings)).at(-1)).toMatchObject({
      phase: 'number_unlocked',
      subject,
      detail: `${reference}; reason: wrong phone in the import; ${BY}`,
    })
    const unknown = await unlock('--reference', `ver_${'1'.repeat(36)}`)
    expect([unknown.code, unknown.stderr]).toEqual([1, expect.stringContaining('is not in the audit log')])
    const neither = await unlock()
    expect([neither.code, neither.stderr]).toEqual([1, expect.stringContaining('or --reference')])
  })

  it('that show data record it first', async () => {
    const settings = await newSettings(engine)
    const reference = `ver_${'0'.repeat(36)}`
    await withSealed(settings, async ({ store, keyring }) => {
      const log = await openAuditLog({
        ...{ table: store.audit, dataDir: settings.TABBAT_DATA_DIR ?? '', losses: undefined },
        signer: createSigner(keyring['audit-signing']),
        checkpointDir: settings.TABBAT_DATA_DIR ?? '',
        ...{ onUnavailable: () => {}, onCheckpointFailure: () => {}, onCorruption: () => {} },
      })
      await log.record([{ phase: 'outcome', request_reference: reference, outcome: 'verified' }])
      await log.close()
    })
    expect((await tabbat(settings, 'audit', 'show', reference)).stdout).toContain('verified')
    expect((await tabbat(settings, 'audit', 'prove', reference)).stdout).toContain('tabbat-audit-proof')
    expect((await tabbat(settings, 'registry', 'stats')).stdout).toContain('NIN records')
    const written = (await readRows(settings)).slice(1)
    expect(written.map(({ phase, outcome, detail }) => `${phase} ${outcome} ${detail}`)).toEqual([
      `audit_viewed ok reference ${reference}; ${BY}`,
      `audit_proved ok reference ${reference}; ${BY}`,
      `registry_counted ok ${BY}`,
    ])
    // The timeline of the verification itself has no new row.
    expect(JSON.parse((await tabbat(settings, 'audit', 'show', reference, '--json')).stdout)).toHaveLength(1)
  })

  it('that show data show none of it where the row cannot be written', async () => {
    const settings = await newSettings(engine)
    await withSealed(settings, (sealed) =>
      recordVerification(settings, sealed, { consent_reference: 'form-17' }),
    )
    const run = (...args: string[]) => runWithNumber(settings, ...args)
    const commands = [
      ['audit', 'show', REFERENCE],
      ['audit', 'prove', REFERENCE],
      ['audit', 'subject', 'nin'],
      ['audit', 'export'],
      ['consents', 'form-17'],
      ['registry', 'stats'],
      ['person', 'report', 'nin', '--reason', 'Request of access, case 17'],
    ]
    for (const args of commands) {
      const { status, stdout } = run(...args)
      expect([args, status, stdout !== '']).toEqual([args, 0, true])
    }
    const action =
      engine === 'sqlite'
        ? "BEGIN SELECT RAISE(ABORT, 'blocked'); END"
        : 'FOR EACH ROW EXECUTE FUNCTION refuse_change()'
    await withSealed(settings, ({ store }) =>
      store.database.prepare(`CREATE TRIGGER blocked BEFORE INSERT ON audit ${action}`).run(),
    )
    for (const args of commands) {
      const { status, stdout } = run(...args)
      expect([args, status === 0, stdout]).toEqual([args, false, ''])
    }
  })
})

/** These write nothing about people, access or settings. */
const WITHOUT_ROWS = [
  ...['serve', 'demo', 'simulate', 'verify-file', 'rehearse', 'doctor', 'nodes', 'completion', 'help'],
  ...['keys list', 'keys usage', 'tokens list', 'admin list', 'sources status', 'notices list'],
  ...['vendors list', 'vendors show', 'vendors validate', 'vendors try', 'vendors new'],
  ...['webhooks list', 'webhooks deliveries', 'requests list', 'requests show', 'requests tail'],
  ...['catalogue history', 'catalogue diff', 'catalogue export', 'backup check'],
  ...['audit verify', 'audit verify-extract', 'audit public-key', 'audit check-proof'],
]

/** These need more than a database. Their rows are shown by the tests of what they call. */
const SHOWN_ELSEWHERE = [
  ...['init', 'restore', 'backup revocations', 'person erase-again', 'audit archive', 'audit accept-loss'],
  ...['sources check', 'vendors certify', 'catalogue sync', 'catalogue review', 'notices test'],
  'admin reset-2fa',
]

type Step = { readonly command: string; readonly args: readonly string[]; readonly phases: readonly string[] }

const REASON = ['--reason', 'Request of access, case 17']
/** Nothing listens there. */
const HOOKS = ['--url', 'http://127.0.0.1:1/hooks', '--event', 'source.down']

/** All other commands, in an order in which each has what it needs. */
function toSteps(
  folder: string,
  ids: Readonly<Record<'key' | 'endpoint' | 'token' | 'link', string>>,
): Step[] {
  const step = (command: string, args: readonly string[], ...phases: string[]) => ({ command, args, phases })
  const lists = join(folder, 'lists.json')
  return [
    step('keys create', ['--name', 'other', '--mode', 'test'], 'key_created'),
    step('keys change', [ids.key, '--subjects-per-day', '7'], 'key_changed'),
    step('keys roll', [ids.key], 'key_rolled'),
    step('keys revoke', [ids.key], 'key_revoked'),
    step('import', ['nin', 'docs/examples/nin.ndjson'], 'import_started', 'imported'),
    step('keys rotate-root', ['--yes'], 'root_rotation_started', 'root_rotated'),
    step('registry stats', [], 'registry_counted'),
    step('registry erase', ['nin', '--yes'], 'record_erased'),
    step('person report', ['nin', ...REASON], 'person_reported'),
    step('person erase', ['nin', ...REASON, '--yes'], 'record_erased'),
    step('consents', [], 'audit_searched'),
    step('unlock', ['nin', ...REASON], 'number_unlocked'),
    step('sources disable', ['dojah'], 'source_disabled'),
    step('sources enable', ['dojah'], 'source_enabled'),
    step('sources order', ['nin', 'registry'], 'source_order_changed'),
    step('webhooks create', ['--name', 'b', ...HOOKS], 'webhook_created'),
    step('webhooks roll', [ids.endpoint], 'webhook_rolled'),
    step('webhooks test', [ids.endpoint], 'webhook_tested'),
    step('webhooks resend', [ids.endpoint, '--failed', '--since', '6h'], 'webhook_resent'),
    step('webhooks disable', [ids.endpoint], 'webhook_disabled'),
    step('webhooks enable', [ids.endpoint], 'webhook_enabled'),
    step('webhooks delete', [ids.endpoint, '--yes'], 'webhook_deleted'),
    step('catalogue import', [lists], 'catalogue_changed'),
    step('catalogue rollback', [], 'catalogue_changed'),
    step('admin invite', ['--role', 'viewer'], 'account_invited'),
    step('admin invitations', ['--void', ids.link], 'invitation_voided'),
    step('admin reset', ['ada'], 'account_reset'),
    step('admin role', ['ada', 'viewer'], 'role_changed'),
    step('admin sessions', ['ada', '--end'], 'sessions_ended'),
    step('admin remove', ['ada', '--yes'], 'account_removed'),
    step('tokens create', ['--name', 'b', '--role', 'viewer'], 'token_created'),
    step('tokens revoke', [ids.token], 'token_revoked'),
    step('audit export', [], 'audit_exported'),
    step('audit show', [REFERENCE], 'audit_viewed'),
    step('audit subject', ['nin'], 'audit_searched'),
    step('audit prove', [REFERENCE], 'audit_proved'),
    step('backup', [join(folder, 'all.backup')], 'backup_written'),
  ]
}

/** What the commands work with. */
async function prepare(settings: Settings, folder: string) {
  const make = async (...args: string[]) => {
    const { stdout } = await tabbat(settings, ...args, '--json')
    return JSON.parse(stdout) as Readonly<Record<string, string>>
  }
  const { id: key = '' } = await make('keys', 'create', '--name', 'shop', '--mode', 'test')
  const { id: endpoint = '' } = await make('webhooks', 'create', '--name', 'a', ...HOOKS)
  const { id: token = '' } = await make('tokens', 'create', '--name', 'a', '--role', 'viewer')
  await make('admin', 'invite')
  const { stdout } = await tabbat(settings, 'admin', 'invitations', '--json')
  const [{ id: link = '' }] = JSON.parse(stdout)
  await withSealed(settings, async (sealed) => {
    const { accounts } = sealed.store
    for (const name of ['ada', 'bola']) {
      const id = Buffer.alloc(32, name)
      const role = 'owner'
      await accounts.invite({
        id,
        role,
        account: undefined,
        madeBy: 'root (cli)',
        createdAt: 1,
        expiresAt: 9,
      })
      await accounts.accept(id, { name, role, password: 'p', createdAt: 1, lastSeenAt: undefined })
    }
    await recordVerification(settings, sealed)
  })
  const lists = await tabbat(settings, 'catalogue', 'export')
  writeFileSync(join(folder, 'lists.json'), lists.stdout.replace('"price": "450"', '"price": "460"'))
  return { key, endpoint, token, link }
}

it('tabbat audit verify compares with the checkpoints of this server: an older copy of the database is found', async () => {
  const settings: Settings = { ...(await newSettings('sqlite')), TABBAT_LOG_LEVEL: 'silent' }
  const [database = '', older = ''] = ['tabbat.db', 'older.db'].map((name) =>
    join(settings.TABBAT_DATA_DIR ?? '', name),
  )
  // A server that ends writes a checkpoint of the new rows.
  const use = async (name: string) => {
    await tabbat(settings, 'keys', 'create', '--name', name, '--mode', 'test')
    await (await startServer(settings)).stop()
  }
  await use('first')
  copyFileSync(database, older)
  await use('second')
  expect((await tabbat(settings, 'audit', 'verify')).stdout).toMatch(/checkpoints? in \//)
  for (const end of ['-wal', '-shm']) rmSync(`${database}${end}`, { force: true })
  copyFileSync(older, database)
  const { code, stdout } = await tabbat(settings, 'audit', 'verify')
  expect([code, stdout]).toEqual([1, expect.stringContaining('The audit log is NOT sound')])
})

describe('every command', () => {
  it('leaves its rows, with the system user, or is known to leave none', { timeout: 900_000 }, async () => {
    const settings: Settings = { ...(await newSettings('sqlite')), TABBAT_WEBHOOKS_PRIVATE: 'on' }
    const folder = settings.TABBAT_DATA_DIR ?? ''
    const steps = toSteps(folder, await prepare(settings, folder))
    let seen = (await readRows(settings)).length
    for (const { command, args, phases } of steps) {
      const { stderr } = runWithNumber(settings, ...command.split(' '), ...args)
      const rows = (await readRows(settings)).slice(seen)
      seen += rows.length
      expect([command, rows.map(({ phase }) => phase)], stderr).toEqual([command, phases])
      for (const { detail } of rows) expect(detail?.endsWith(BY), `${command}: ${detail}`).toBe(true)
    }
    const commands = listCommands(await createFullProgram())
      .filter(({ command }) => command.commands.length === 0 || command.registeredArguments.length > 0)
      .map(({ path }) => path.replace('tabbat ', ''))
    const listed = [...steps.map(({ command }) => command), ...WITHOUT_ROWS, ...SHOWN_ELSEWHERE]
    expect(listed.toSorted()).toEqual(commands.toSorted())
  })
})
