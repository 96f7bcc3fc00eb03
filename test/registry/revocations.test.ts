import {
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  rmdirSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createKeepRevocations, keepRevocationsFile } from '../../src/backup/find-revocations.ts'
import { type Access, appendAccess, fold, readAccess } from '../../src/backup/revocations-file.ts'
import { writeBackup } from '../../src/backup/write-backup.ts'
import type { SealedStore } from '../../src/context/sealed-store.ts'
import type { Role } from '../../src/contract/role.ts'
import { checkRevocations } from '../../src/health/restore-checks.ts'
import { createKey, revokeKey, rollKey } from '../../src/keys/manage.ts'
import type { Settings } from '../process/tabbat.ts'
import { tabbat } from './run.ts'
import { ENGINES, type Engine, keysOf, newSettings, toConfig, withSealed } from './sealed-registry.ts'

const HOUR_MS = 3_600_000
const ENDPOINT = 'whk_0123456789abcdef'
const TOKEN = 'tok12345'

const inFolder = (settings: Settings, name: string) => join(settings.TABBAT_DATA_DIR ?? '', name)
const fileOf = (settings: Settings) => inFolder(settings, 'revocations.log')
const keep = (settings: Settings, { store, keyring }: SealedStore) =>
  createKeepRevocations({ tables: store, keyring, config: toConfig(settings) })()

let invitations = 0

async function addAccount({ store: { accounts } }: SealedStore, name: string, role: Role): Promise<void> {
  invitations += 1
  const id = Buffer.alloc(32, invitations)
  const times = { createdAt: Date.now(), expiresAt: Date.now() + HOUR_MS }
  await accounts.invite({ id, role, account: undefined, madeBy: 'root (cli)', ...times })
  const row = { name, role, password: `hash of ${name}`, createdAt: times.createdAt, lastSeenAt: undefined }
  await accounts.accept(id, row)
}

const toKeyDeps = (sealed: SealedStore) => ({ ...sealed, audit: { record: async () => {} } })

/** Something of every kind, a backup of it, and then changes of access. Returns the ids of the keys by name. */
async function createHistory(engine: Engine) {
  const settings = await newSettings(engine)
  const backup = inFolder(settings, 'old.backup')
  const ids = await withSealed(settings, async (sealed) => {
    const { store } = sealed
    const keys: Record<string, string> = {}
    for (const name of ['stolen-shop', 'rolled-shop', 'changed-shop', 'same-shop']) {
      const options = { name, mode: 'live', scopes: ['kyc:nin', 'kyc:bvn'], expiresAt: undefined } as const
      keys[name] = (await createKey(toKeyDeps(sealed), { ...options, allowedIps: undefined })).row.id
    }
    const token = {
      id: TOKEN,
      name: 'deploy',
      hash: Buffer.alloc(32),
      role: 'operator',
      allowedIps: undefined,
    } as const
    const times = {
      createdAt: 1,
      expiresAt: Date.now() + HOUR_MS,
      revokedAt: undefined,
      lastUsedAt: undefined,
    }
    await store.adminTokens.insert({ ...token, madeBy: 'root (cli)', ...times })
    await addAccount(sealed, 'adaobi', 'owner')
    await addAccount(sealed, 'bolanle', 'operator')
    await addAccount(sealed, 'chidera', 'owner')
    const endpoint = { id: ENDPOINT, name: 'hooks', url: 'https://shop.example/hooks', createdAt: 1 }
    await store.webhooks.insert(
      { ...endpoint, secret: Buffer.alloc(60, 7), events: ['verification.completed'], lineages: [] },
      10,
    )
    expect(await keep(settings, sealed)).toEqual({ open: 0 })
    await writeBackup(sealed, backup)

    await revokeKey(toKeyDeps(sealed), keys['stolen-shop'] ?? '')
    await rollKey(toKeyDeps(sealed), keys['rolled-shop'] ?? '', 0)
    const changed = await store.keys.find(keys['changed-shop'] ?? '')
    if (changed) await store.keys.change(changed, { ...changed, scopes: ['kyc:nin'] })
    await store.adminTokens.revoke(TOKEN, Date.now())
    await store.accounts.remove('bolanle')
    await store.accounts.setRole('chidera', 'viewer')
    await store.webhooks.remove(ENDPOINT)
    expect(await keep(settings, sealed)).toEqual({ open: 0 })
    return keys
  })
  return { settings, backup, ids }
}

async function newTarget(engine: Engine, source: Settings): Promise<Settings> {
  const target = await newSettings(engine)
  writeFileSync(inFolder(target, 'root.key'), `${keysOf(source)[0]}\n`, { mode: 0o600 })
  return target
}

const describeAccess = (settings: Settings) =>
  withSealed(settings, async ({ store }) => ({
    keys: Object.fromEntries(
      (await store.keys.list()).map(({ name, revokedAt, expiresAt }) => [
        name,
        revokedAt ? 'revoked' : expiresAt ? 'ends' : 'valid',
      ]),
    ),
    tokens: (await store.adminTokens.list()).map(({ revokedAt }) => (revokedAt ? 'revoked' : 'valid')),
    accounts: (await store.accounts.list()).map(({ name, role }) => `${name} ${role}`),
    endpoints: (await store.webhooks.list()).map(({ id }) => id),
  }))

const AS_BEFORE = {
  keys: { 'stolen-shop': 'valid', 'rolled-shop': 'valid', 'changed-shop': 'valid', 'same-shop': 'valid' },
  tokens: ['valid'],
  accounts: ['adaobi owner', 'bolanle operator', 'chidera owner'],
  endpoints: [ENDPOINT],
}
const AS_AFTER = {
  keys: { 'stolen-shop': 'revoked', 'rolled-shop': 'ends', 'changed-shop': 'valid', 'same-shop': 'valid' },
  tokens: ['revoked'],
  accounts: ['adaobi owner', 'chidera viewer'],
  endpoints: [],
}

describe.each(ENGINES)('revocations after a backup, on %s', (engine) => {
  it('are made again by a restore, shown, and recorded in the audit log', async () => {
    const { settings, backup, ids } = await createHistory(engine)
    const target = await newTarget(engine, settings)
    const args = ['restore', backup, '--revocations', settings.TABBAT_DATA_DIR ?? '']
    const { code, stdout } = await tabbat(target, args)
    expect(code).toBe(0)
    expect(stdout).toContain('8 changes of access after the backup')
    expect(stdout).toContain(`key ${ids['stolen-shop']} (stolen-shop): revoked again`)
    expect(stdout).toContain('account bolanle: removed again')
    expect(stdout).toContain('account chidera: viewer again')
    expect(stdout).toContain(
      `key ${ids['changed-shop']} (changed-shop): not changed: it was rolled, or its options`,
    )
    expect(stdout).not.toContain('same-shop')
    expect(await describeAccess(target)).toEqual(AS_AFTER)
    const phases = await withSealed(target, async ({ store }) =>
      (
        await store.database.prepare("SELECT phase FROM audit WHERE detail LIKE '%after a restore%'").all()
      ).map(({ phase }) => String(phase)),
    )
    const made = [
      'account_removed',
      'key_changed',
      'key_revoked',
      'role_changed',
      'token_revoked',
      'webhook_deleted',
    ]
    expect(phases.toSorted()).toEqual(made)
    // The file of the new database knows them, too.
    expect(readFileSync(fileOf(target), 'utf8')).toContain('"state":"removed"')
  })

  it('that let a key end later, or disable an endpoint, are made again, too', async () => {
    const settings = await newSettings(engine)
    const backup = inFolder(settings, 'old.backup')
    const id = await withSealed(settings, async (sealed) => {
      const { store } = sealed
      const options = { name: 'shop', mode: 'live', scopes: ['kyc:nin'], expiresAt: undefined } as const
      const { row } = await createKey(toKeyDeps(sealed), { ...options, allowedIps: undefined })
      const endpoint = { id: ENDPOINT, name: 'hooks', url: 'https://shop.example/hooks', createdAt: 1 }
      await store.webhooks.insert(
        { ...endpoint, secret: Buffer.alloc(60, 7), events: ['verification.completed'], lineages: [] },
        10,
      )
      await keep(settings, sealed)
      await writeBackup(sealed, backup)
      await rollKey(toKeyDeps(sealed), row.id, HOUR_MS)
      await store.webhooks.disable(ENDPOINT, Date.now())
      expect(await keep(settings, sealed)).toEqual({ open: 0 })
      return row.id
    })
    const target = await newTarget(engine, settings)
    const args = ['restore', backup, '--revocations', settings.TABBAT_DATA_DIR ?? '']
    const { code, stdout } = await tabbat(target, args)
    expect([code, stdout]).toEqual([0, expect.stringMatching(`key ${id} \\(shop\\): ends on .* again`)])
    expect(stdout).toContain(`endpoint ${ENDPOINT} (hooks): disabled again`)
    const { ends, disabled } = await withSealed(target, async ({ store }) => ({
      ends: (await store.keys.find(id))?.expiresAt,
      disabled: (await store.webhooks.list()).map(({ disabledReason }) => disabledReason),
    }))
    expect(ends).toBeGreaterThan(Date.now())
    expect(ends).toBeLessThanOrEqual(Date.now() + HOUR_MS)
    expect(disabled).toEqual(['operator'])
  })

  it('are only shown with --no-revocations, named by doctor, and made later', async () => {
    const { settings, backup } = await createHistory(engine)
    const target = await newTarget(engine, settings)
    writeFileSync(fileOf(target), readFileSync(fileOf(settings)))
    const shown = await tabbat(target, ['restore', backup, '--no-revocations', '--json'])
    expect([shown.code, shown.stderr]).toEqual([
      0,
      expect.stringContaining('this database is older than revocations.log'),
    ])
    const { revocations } = JSON.parse(shown.stdout) as { revocations: { applied: boolean }[] }
    expect(revocations.map(({ applied }) => applied)).toEqual(Array.from({ length: 8 }, () => false))
    expect(await describeAccess(target)).toEqual(AS_BEFORE)

    await withSealed(target, async (sealed) => {
      const found = await checkRevocations({ ...sealed, config: toConfig(target), now: Date.now() })
      expect(found).toMatchObject({
        status: 'failed',
        text: expect.stringMatching(/older than revocations.log.*changed: 8\./),
      })
      // An older copy must not overwrite what the file knows.
      const before = readFileSync(fileOf(target))
      expect(await keep(target, sealed)).toEqual({ open: 8 })
      expect(readFileSync(fileOf(target)).equals(before)).toBe(true)
    })
    const listed = await tabbat(target, ['backup', 'revocations', fileOf(target)])
    expect([listed.code, listed.stdout]).toEqual([
      1,
      expect.stringContaining('8 changes of access found, 0 made again'),
    ])
    const made = await tabbat(target, ['backup', 'revocations', fileOf(target), '--apply', '--yes'])
    expect([made.code, made.stdout]).toEqual([
      0,
      expect.stringContaining('8 changes of access found, 6 made again'),
    ])
    expect(await describeAccess(target)).toEqual(AS_AFTER)
    await withSealed(target, async (sealed) => {
      // A role that is raised later is a change of its own, and no older copy.
      await sealed.store.accounts.setRole('chidera', 'operator')
      expect(await keep(target, sealed)).toEqual({ open: 0 })
      const lines = readFileSync(fileOf(target), 'utf8').trimEnd().split('\n').length
      expect(await keep(target, sealed)).toEqual({ open: 0 })
      expect(readFileSync(fileOf(target), 'utf8').trimEnd().split('\n')).toHaveLength(lines)
      expect(
        await checkRevocations({ ...sealed, config: toConfig(target), now: Date.now() + HOUR_MS }),
      ).toMatchObject({
        status: 'ok',
      })
    })
  })
})

describe.each(ENGINES)('revocations.log of several nodes, on %s', (engine) => {
  it('stays open for one node after another without the file has noted the older copy', async () => {
    const { settings, backup } = await createHistory(engine)
    const target = await newTarget(engine, settings)
    writeFileSync(fileOf(target), readFileSync(fileOf(settings)))
    await tabbat(target, ['restore', backup, '--no-revocations'])
    const other = { ...target, TABBAT_CHECKPOINT_DIR: inFolder(await newSettings('sqlite'), 'copies') }
    await withSealed(target, async (sealed) => {
      expect(await keep(other, sealed)).toEqual({ open: 0 })
      // The key, the token, the account and the endpoint: what has ended never becomes valid again.
      expect(await keep(target, sealed)).toEqual({ open: 4 })
      const found = await checkRevocations({ ...sealed, config: toConfig(target), now: Date.now() })
      expect(found).toMatchObject({ status: 'failed', text: expect.stringMatching(/changed: 4\./) })
    })
    const made = await tabbat(target, ['backup', 'revocations', fileOf(target), '--apply', '--yes'])
    expect(made.code).toBe(0)
    await withSealed(target, async (sealed) => {
      expect(await keep(target, sealed)).toEqual({ open: 0 })
    })
  })

  it('calls no database older because the clock of one node is ahead', async () => {
    const settings = await newSettings(engine)
    const other = { ...settings, TABBAT_CHECKPOINT_DIR: inFolder(await newSettings('sqlite'), 'copies') }
    await withSealed(settings, async (sealed) => {
      const { store, keyring } = sealed
      await addAccount(sealed, 'adaobi', 'viewer')
      const ahead = Date.now() + HOUR_MS
      await store.meta.set({ revocations_noted_at: String(ahead) })
      const lines = (await readAccess(store, keyring)).map((each) => ({ ...each, at: ahead }))
      await appendAccess(settings.TABBAT_DATA_DIR ?? '', keyring, lines)
      expect(await keep(other, sealed)).toEqual({ open: 0 })
      await store.accounts.setRole('adaobi', 'operator')
      expect(await keep(settings, sealed)).toEqual({ open: 0 })
      expect(await keep(other, sealed)).toEqual({ open: 0 })
      // A copy from before is older for the other node, too, whose clock is behind.
      await store.meta.set({ revocations_noted_at: String(ahead) })
      await store.accounts.setRole('adaobi', 'owner')
      expect(await keep(other, sealed)).toEqual({ open: 1 })
    })
  })
})

describe('a restore finds revocations.log', () => {
  it.each([
    ['of this node, also with --erasures FILE', 'node', 'erasures.log'],
    ['of this node, also with --erasures FOLDER', 'node', '.'],
    ['beside the file of --erasures', 'copies', 'erasures.log'],
    ['in the folder of --erasures', 'copies', '.'],
    ['once, if all of these are one folder', 'both', 'erasures.log'],
  ])('%s', async (_name, place, named) => {
    const { settings, backup } = await createHistory('sqlite')
    const target = await newTarget('sqlite', settings)
    const copies = await newSettings('sqlite')
    const [noted, erasures] = place === 'node' ? [target, copies] : [copies, copies]
    const checkpoints = place === 'both' ? { TABBAT_CHECKPOINT_DIR: inFolder(copies, '') } : {}
    writeFileSync(fileOf(noted), readFileSync(fileOf(settings)))
    writeFileSync(inFolder(erasures, 'erasures.log'), '')
    const args = ['restore', backup, '--erasures', inFolder(erasures, named), '--json']
    const { code, stdout } = await tabbat({ ...target, ...checkpoints }, args)
    expect([code, JSON.parse(stdout)]).toMatchObject([0, { revocation_files: [realpathSync(fileOf(noted))] }])
    expect(await describeAccess(target)).toEqual(AS_AFTER)
  })
})

describe('revocations.log', () => {
  it('holds no name, address, hash or secret', async () => {
    const { settings } = await createHistory('sqlite')
    const text = readFileSync(fileOf(settings), 'utf8')
    for (const word of [
      'adaobi',
      'bolanle',
      'shop',
      'deploy',
      'hash of',
      'https',
      Buffer.alloc(8, 7).toString('hex'),
    ])
      expect(text).not.toContain(word)
  })

  it('with a changed line is refused, and named by doctor', async () => {
    const { settings, backup } = await createHistory('sqlite')
    const target = await newTarget('sqlite', settings)
    writeFileSync(fileOf(target), readFileSync(fileOf(settings), 'utf8').replace('"revoked"', '"valid"'))
    const { code, stderr } = await tabbat(target, ['restore', backup])
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/Line \d+ of .* is not one that this database has signed/),
    ])
    const shown = await tabbat(target, ['restore', backup, '--no-revocations', '--json'])
    expect([shown.code, shown.stderr]).toEqual([
      0,
      expect.stringMatching(/line \d+ of .* has signed: .* The file is left out\./),
    ])
    expect(JSON.parse(shown.stdout)).toMatchObject({ revocation_files: [], revocations: [] })
    await withSealed(settings, async (sealed) => {
      writeFileSync(fileOf(settings), readFileSync(fileOf(target)))
      const found = await checkRevocations({ ...sealed, config: toConfig(settings), now: Date.now() })
      expect(found).toMatchObject({ status: 'failed', text: expect.stringContaining('has signed') })
    })
  })

  it.each<[string, (file: string) => void]>([
    ['deleted', (file) => rmSync(file)],
    ['cut', (file) => truncateSync(file, 10)],
  ])('is written again with all revocations after it was %s', async (_how, damage) => {
    const { settings, backup } = await createHistory('sqlite')
    damage(fileOf(settings))
    await withSealed(settings, async (sealed) => {
      const config = toConfig(settings)
      const late = { ...sealed, config, now: Date.now() + HOUR_MS }
      expect(await checkRevocations(late)).toMatchObject({
        text: expect.stringMatching(/^Not in .*: 4 of 4/),
      })
      await keep(settings, sealed)
      expect(await checkRevocations(late)).toMatchObject({ status: 'ok' })
    })
    const target = await newTarget('sqlite', settings)
    await tabbat(target, ['restore', backup, '--revocations', fileOf(settings)])
    expect(await describeAccess(target)).toEqual(AS_AFTER)
  })

  it('that lacks what the backup has is a warning of the restore, and so is none', async () => {
    const { settings, backup } = await createHistory('sqlite')
    await withSealed(settings, (sealed) => writeBackup(sealed, backup, { force: true }))
    const cut = await newTarget('sqlite', settings)
    writeFileSync(fileOf(cut), '')
    expect((await tabbat(cut, ['restore', backup])).stderr).toContain(
      '4 revocations of the backup are not in',
    )
    const none = await newTarget('sqlite', settings)
    const { code, stderr } = await tabbat(none, ['restore', backup])
    expect([code, stderr]).toEqual([0, expect.stringContaining('no revocations.log was found')])
  })

  it('that cannot be written, and then can, is told once each to the log', async () => {
    const settings = await newSettings('sqlite')
    await withSealed(settings, async (sealed) => {
      mkdirSync(fileOf(settings))
      const events: string[] = []
      const failures: unknown[] = []
      const log = {
        event: (level: string, name: string) => void events.push(`${level} ${name}`),
        failure: (error: unknown) => void failures.push(error),
      }
      await addAccount(sealed, 'adaobi', 'owner')
      const config = toConfig(settings)
      const keeper = keepRevocationsFile({
        ...{ tables: sealed.store, keyring: sealed.keyring, config, log, workerNumber: 1 },
      })
      await keeper.keep()
      expect(events).toEqual(['error revocations_file_failed'])
      expect(failures).toHaveLength(2)
      rmdirSync(fileOf(settings))
      await keeper.keep()
      await keeper.keep()
      await keeper.stop()
      expect(events).toEqual(['error revocations_file_failed', 'info revocations_file_written'])
    })
    expect(readFileSync(fileOf(settings), 'utf8')).toContain('"kind":"account"')
  })

  it('of an older database is told to the log', async () => {
    const { settings, backup } = await createHistory('sqlite')
    const target = await newTarget('sqlite', settings)
    writeFileSync(fileOf(target), readFileSync(fileOf(settings)))
    await tabbat(target, ['restore', backup, '--no-revocations'])
    await withSealed(target, async (sealed) => {
      const events: string[] = []
      const log = { event: (_level: string, name: string) => void events.push(name), failure: () => {} }
      const config = toConfig(target)
      const deps = { tables: sealed.store, keyring: sealed.keyring, config, log, workerNumber: 2 }
      const keeper = keepRevocationsFile(deps)
      await keeper.keep()
      await keeper.stop()
      expect(events).toEqual(['revocations_open'])
    })
  })

  it('never removes the last owner, and says so', async () => {
    const settings = await newSettings('sqlite')
    const backup = inFolder(settings, 'old.backup')
    await withSealed(settings, async (sealed) => {
      await addAccount(sealed, 'adaobi', 'owner')
      await writeBackup(sealed, backup)
      await addAccount(sealed, 'bolanle', 'owner')
      await sealed.store.accounts.remove('adaobi')
      await keep(settings, sealed)
    })
    const target = await newTarget('sqlite', settings)
    writeFileSync(fileOf(target), readFileSync(fileOf(settings)))
    const { stdout } = await tabbat(target, ['restore', backup])
    expect(stdout).toContain('account adaobi: not changed: adaobi is the last owner')
    expect((await describeAccess(target)).accounts).toEqual(['adaobi owner'])
    await withSealed(target, async (sealed) => {
      // It stays open, and later changes are noted all the same.
      await addAccount(sealed, 'chidera', 'owner')
      const before = readFileSync(fileOf(target), 'utf8')
      expect(await keep(target, sealed)).toEqual({ open: 1 })
      expect(readFileSync(fileOf(target), 'utf8').length).toBeGreaterThan(before.length)
    })
    const later = ['backup', 'revocations', fileOf(settings), '--apply', '--yes']
    expect((await tabbat(target, later)).stdout).toContain('account adaobi: removed again')
  })

  it('is written by a command at once, and a new account of the same name is not the removed one', async () => {
    const settings = await newSettings('sqlite')
    const made = await tabbat(settings, ['keys', 'create', '--name', 'shop', '--mode', 'live', '--json'])
    const { id } = JSON.parse(made.stdout) as { id: string }
    expect(existsSync(fileOf(settings))).toBe(true)
    await tabbat(settings, ['keys', 'revoke', id])
    expect(readFileSync(fileOf(settings), 'utf8')).toContain(`{"kind":"key","id":"${id}","state":"revoked"`)
    await withSealed(settings, async (sealed) => {
      await addAccount(sealed, 'chidera', 'owner')
      await addAccount(sealed, 'adaobi', 'viewer')
      await sealed.store.accounts.remove('adaobi')
      await addAccount(sealed, 'adaobi', 'viewer')
      expect(await keep(settings, sealed)).toEqual({ open: 0 })
      expect(await keep(settings, sealed)).toEqual({ open: 0 })
    })
  })

  it('says the same in any order of files, and what has ended stays ended', () => {
    const line = fc.record({
      kind: fc.constant<'key'>('key'),
      id: fc.constantFrom('a', 'b'),
      state: fc.constantFrom<Access['state']>('valid', 'disabled', 'revoked'),
      endsAt: fc.constant(null),
      role: fc.constant(null),
      options: fc.constantFrom('x', 'y'),
      at: fc.nat(1_000_000),
    })
    const lines = fc.uniqueArray(line, { selector: ({ at }) => at, maxLength: 12 })
    fc.assert(
      fc.property(lines, (all) => {
        const known = fold(all)
        expect(Object.fromEntries(fold(all.toReversed()))).toEqual(Object.fromEntries(known))
        for (const { id, state } of all)
          if (state === 'revoked') expect(known.get(`key ${id}`)?.state).toBe('revoked')
      }),
    )
  })
})
