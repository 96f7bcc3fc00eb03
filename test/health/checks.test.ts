import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Scope } from '../../src/contract/scope.ts'
import { runDataChecks } from '../../src/health/data-checks.ts'
import { runLocalChecks } from '../../src/health/local-checks.ts'
import { checkPatroni } from '../../src/health/postgres-checks.ts'
import { createKey } from '../../src/keys/manage.ts'
import { createContext } from '../../src/server/create-context.ts'
import { VERSION } from '../../src/version.ts'
import { createCertificate, writeCertificate } from '../certificate.ts'
import type { Settings } from '../process/tabbat.ts'
import { ENGINES, newSettings, save, toConfig, withSealed } from '../registry/sealed-registry.ts'

const DAY_MS = 86_400_000
const newFolder = () => mkdtempSync(join(tmpdir(), 'tabbat-doctor-'))

async function checkLocally(name: string, settings: Settings = {}, now = Date.now()): Promise<string> {
  const found = await runLocalChecks(toConfig({ TABBAT_DATA_DIR: newFolder(), ...settings }), now)
  const { status, text } = found.find(({ check }) => check === name) ?? { status: 'missing', text: '' }
  return `${status}: ${text}`
}

describe('tabbat doctor on this machine', () => {
  it('names unknown settings', async () => {
    expect(await checkLocally('settings')).toMatch(/^ok/)
    expect(await checkLocally('settings', { TABBAT_PROT: '1' })).toMatch(
      /^warning: TABBAT_PROT is not a setting/,
    )
  })

  it.runIf(process.getuid !== undefined)('finds a data folder that others may read or change', async () => {
    const folder = newFolder()
    const settings = { TABBAT_DATA_DIR: folder }
    expect(await checkLocally('permissions', settings)).toMatch(/^ok/)
    writeFileSync(join(folder, 'root.key'), 'ab'.repeat(32), { mode: 0o644 })
    expect(await checkLocally('permissions', settings)).toMatch(/^failed: .*root\.key.*chmod 600/)
    rmSync(join(folder, 'root.key'))
    chmodSync(folder, 0o755)
    expect(await checkLocally('permissions', settings)).toMatch(/^warning: .*chmod 700/)
    chmodSync(folder, 0o777)
    expect(await checkLocally('permissions', settings)).toMatch(/^failed: .*chmod go-w/)
    expect(await checkLocally('permissions', { TABBAT_DATA_DIR: join(folder, 'none') })).toMatch(
      /^warning: .*not exist/,
    )
  })

  it('says how much space is free', async () => {
    expect(await checkLocally('disk')).toMatch(/: \d+\.\d GB are free at /)
    const url = 'postgres://localhost/x'
    expect(await checkLocally('disk', { TABBAT_DATABASE_URL: url })).toMatch(/PostgreSQL is not checked\.$/)
  })

  it('says which folder it cannot look into, and makes the other checks', async () => {
    const loop = join(newFolder(), 'loop')
    symlinkSync(loop, loop)
    for (const name of ['TABBAT_CHECKPOINT_DIR', 'TABBAT_AUDIT_ARCHIVE_DIR']) {
      const settings = { [name]: join(loop, 'copies') }
      expect(await checkLocally('disk', settings)).toMatch(/^failed: .*loop\/copies cannot be used \(ELOOP\)/)
      expect(await checkLocally('tls', settings)).toMatch(/^ok/)
    }
    const settings = { TABBAT_DATA_DIR: join(loop, 'data') }
    expect(await checkLocally('permissions', settings)).toMatch(/^failed: .*ELOOP/)
    expect(await checkLocally('proxy', settings)).toMatch(/^ok/)
  })

  it('checks the folder of the archives', async () => {
    expect(await checkLocally('archives')).toMatch(/^skipped/)
    const folder = newFolder()
    const settings = { TABBAT_AUDIT_ARCHIVE_DIR: folder, TABBAT_AUDIT_KEEP: '1y' }
    expect(await checkLocally('archives', settings)).toMatch(/^ok: .* can be written/)
    chmodSync(folder, 0o777)
    expect(await checkLocally('archives', settings)).toMatch(/^failed: Other users .*chmod go-w/)
    rmSync(folder, { recursive: true })
    expect(await checkLocally('archives', settings)).toMatch(/^warning: .*does not exist yet/)
    expect(await checkLocally('archives', { TABBAT_AUDIT_ARCHIVE_DIR: folder })).toMatch(
      /^warning: There is no/,
    )
    writeFileSync(folder, '')
    expect(await checkLocally('archives', settings)).toMatch(/^failed: .* is not a folder/)
  })

  it('finds a port that another program uses, and an address that is not of this machine', async () => {
    const other = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1')
    await once(other, 'listening')
    onTestFinished(() => void other.close())
    const { port } = other.address() as AddressInfo
    const settings = { TABBAT_PORT: String(port), TABBAT_ADMIN_PORT: 'off' }
    expect(await checkLocally('ports', settings)).toBe(
      `failed: Another program uses 127.0.0.1:${port} (TABBAT_PORT). Stop it, or choose another port.`,
    )
    const far = { TABBAT_HOST: '192.0.2.1', TABBAT_PORT: String(port), TABBAT_ADMIN_PORT: 'off' }
    expect(await checkLocally('ports', far)).toMatch(/^failed: .*cannot be opened \(EADDRNOTAVAIL\)/)
    other.close()
    await once(other, 'close')
    expect(await checkLocally('ports', settings)).toBe(`ok: Free: 127.0.0.1:${port}.`)
    const none = { TABBAT_PORT: '0', TABBAT_ADMIN_PORT: 'off' }
    expect(await checkLocally('ports', none)).toMatch(/^skipped/)
  })

  it('finds a proxy that is not trusted, and one that is too many', async () => {
    expect(await checkLocally('proxy')).toMatch(/^ok: No proxy/)
    const url = { TABBAT_PUBLIC_URL: 'https://id.example.com' }
    expect(await checkLocally('proxy', url)).toMatch(/^warning: .*TABBAT_TRUST_PROXY is not set/)
    for (const few of ['10.0.0.5,10.0.0.6', '10.1.0.0/16', '2001:db8:1::/48', 'fd00::5'])
      expect(await checkLocally('proxy', { ...url, TABBAT_TRUST_PROXY: few })).toMatch(/^ok: Trusted/)
    for (const many of ['10.0.0.0/8', '172.16.0.0/15', '2001:db8::/47', 'fd00::/8'])
      expect(await checkLocally('proxy', { ...url, TABBAT_TRUST_PROXY: many })).toBe(
        `warning: TABBAT_TRUST_PROXY trusts ${many}: every machine in it can claim the address of any caller. Name the addresses of the proxies, or a network of their own.`,
      )
    expect(await checkLocally('proxy', { TABBAT_PUBLIC_URL: 'http://127.0.0.1:8080' })).toMatch(/^ok/)
  })

  it('checks the certificate, and plain HTTP on the network', async () => {
    expect(await checkLocally('tls')).toMatch(/^ok: Off/)
    expect(await checkLocally('tls', { TABBAT_HOST: '0.0.0.0' })).toMatch(/^warning: .*plain HTTP/)
    const metrics = { TABBAT_METRICS_HOST: '0.0.0.0', TABBAT_METRICS_PORT: '9464' }
    expect(await checkLocally('tls', metrics)).toMatch(/^warning: .*plain HTTP/)
    const proxy = { TABBAT_PUBLIC_URL: 'https://id.example.com', TABBAT_TRUST_PROXY: '10.0.0.5' }
    expect(await checkLocally('tls', { ...proxy, TABBAT_HOST: '0.0.0.0' })).toBe(
      'ok: Off. The proxy of https://id.example.com has TLS. The network between it and this server must be private.',
    )
    expect(await checkLocally('tls', { ...proxy, ...metrics, TABBAT_ADMIN_HOST: '10.0.0.7' })).toBe(
      'warning: Plain HTTP on the network: the console, the listener of TABBAT_METRICS_PORT. Put a proxy with TLS in front, or let only a private network reach them.',
    )
    const plain = { ...proxy, TABBAT_PUBLIC_URL: 'http://id.example.com', TABBAT_HOST: '0.0.0.0' }
    expect(await checkLocally('tls', plain)).toMatch(/^warning: .*Set TABBAT_TLS_CERT/)
    const until = Date.now() + 60 * DAY_MS
    const files = writeCertificate(createCertificate({ until }))
    expect(await checkLocally('tls', { ...files, TABBAT_HOST: '0.0.0.0' })).toMatch(/^ok: .*valid until/)
    expect(await checkLocally('tls', files, until - 13 * DAY_MS)).toMatch(/^warning: .*Renew/)
    expect(await checkLocally('tls', files, until + 1)).toMatch(/^failed: .*ended/)
    expect(await checkLocally('tls', files, until - 400 * DAY_MS)).toMatch(/^failed: .*not valid yet/)
    rmSync(files.TABBAT_TLS_KEY)
    expect(await checkLocally('tls', files)).toMatch(/^failed: The file of TABBAT_TLS_KEY cannot be read/)
  })
})

describe.each(ENGINES)('tabbat doctor on %s', (engine) => {
  const open = async (more: Settings = {}) => {
    const settings = { ...(await newSettings(engine)), TABBAT_LOG_LEVEL: 'silent', ...more }
    await (await createContext(toConfig(settings))).close()
    return settings
  }
  const check = (settings: Settings, now?: number) =>
    withSealed(settings, async (sealed) => {
      const found = await runDataChecks({ ...sealed, config: toConfig(settings) }, now)
      return Object.fromEntries(found.map(({ check: name, status, text }) => [name, `${status}: ${text}`]))
    })

  it('finds nothing wrong with a new database, but warns about what lies beside it', async () => {
    const settings = await open()
    expect(await check(settings)).toEqual({
      data: expect.stringMatching(/^ok/),
      postgresql: expect.stringMatching(engine === 'sqlite' ? /^skipped/ : /^ok/),
      connections: expect.stringMatching(engine === 'sqlite' ? /^skipped/ : /^ok: PostgreSQL allows \d+/),
      patroni: expect.stringMatching(/^skipped/),
      'audit rows': expect.stringMatching(/^ok/),
      clock: expect.stringMatching(
        engine === 'sqlite' ? /^skipped/ : /^ok: The clock of PostgreSQL is \d+ ms/,
      ),
      'root key': expect.stringMatching(
        /^warning: It is the one of this database \(version 1\).*beside the data/,
      ),
      checkpoints: expect.stringMatching(/^(warning: The copies lie beside|ok: There is none yet)/),
      erasures: 'ok: No person was erased.',
      revocations: 'ok: Nothing was revoked.',
      backups: expect.stringMatching(/^warning: None was made/),
      sources: 'ok: No vendor is configured.',
      webhooks: 'ok: No endpoint is configured.',
      notices:
        'ok: No channel is configured: no message is sent when an incident begins or ends. To send messages, see docs/notices.md.',
      nodes: 'ok: No server is running on this database.',
    })
  })

  it('says that live keys get no answers while nothing is imported and no vendor is configured', async () => {
    const settings = await open()
    const readSources = async () => (await check(settings)).sources
    const create = (scope: Scope) =>
      withSealed(settings, ({ store, keyring }) =>
        createKey(
          { store, keyring, audit: { record: async () => {} } },
          { mode: 'live', name: scope, scopes: [scope], expiresAt: undefined },
        ),
      )
    await create('catalogue:read')
    expect(await readSources()).toBe('ok: No vendor is configured.')
    await create('kyc:nin')
    const text =
      'warning: No NIN records are imported, and TABBAT_NIN_SOURCES names no vendor: live NIN requests get 503. Run: tabbat import nin FILE'
    expect(await readSources()).toBe(text)
    await save(settings, 0, 1)
    expect(await readSources()).toBe('ok: No vendor is configured.')
    const { row } = await create('kyc:bvn')
    expect(await readSources()).toBe(text.replaceAll('NIN', 'BVN').replace(' nin ', ' bvn '))
    await withSealed(settings, ({ store }) => store.keys.revoke(row.id, Date.now()))
    expect(await readSources()).toBe('ok: No vendor is configured.')
  })

  it('says that callers get no answers from a vendor that is down, also between two probes', async () => {
    const settings = await open({
      TABBAT_NIN_SOURCES: 'dojah,prembly',
      TABBAT_DOJAH_APP_ID: 'app',
      TABBAT_DOJAH_SECRET: 'secret',
      TABBAT_PREMBLY_API_KEY: 'key',
    })
    const figures = { state: 'half_open', down: true, warnings: [], unanswered: 42, unansweredRate: 1 }
    const publish = (name: string, down: boolean, node = 'one') =>
      withSealed(settings, ({ store }) => {
        const state = JSON.stringify({ ...figures, down, lastSuccessAt: null })
        return store.sources.publish([{ node, name, operation: 'verify_nin', state, at: Date.now() }])
      })
    await publish('dojah', true)
    await publish('prembly', false)
    expect((await check(settings)).sources).toMatch(
      /^warning: dojah \(verify_nin\) does not answer: 42 requests of the last five minutes \(100 %\)/,
    )
    await publish('prembly', true)
    expect((await check(settings)).sources).toMatch(
      /^failed: verify_nin gets no answers: dojah, prembly\. Callers get 502, 503 or 504\. Ask the vendor/,
    )
    await publish('prembly', false, 'two')
    expect((await check(settings)).sources).toMatch(/^failed: verify_nin gets no answers on one: dojah/)
  })

  it('knows the age of the last backup', async () => {
    const settings = await open()
    const at = '2026-03-01T08:00:00.000Z'
    await withSealed(settings, ({ store }) => store.meta.set({ last_backup_at: at }))
    expect((await check(settings, Date.parse(at) + 6 * DAY_MS)).backups).toBe(
      'ok: The last was made on 2026-03-01. None was checked here: tabbat backup check FILE',
    )
    expect((await check(settings, Date.parse(at) + 8 * DAY_MS)).backups).toMatch(
      /^warning: .*older than 7 days/,
    )
    const noteCheck = (result: string) =>
      withSealed(settings, ({ store }) =>
        store.meta.set({
          last_backup_check_at: '2026-03-02T08:00:00.000Z',
          last_backup_check_result: result,
          last_backup_check_of: at,
        }),
      )
    await noteCheck('good')
    expect((await check(settings, Date.parse(at) + DAY_MS)).backups).toBe(
      'ok: The last was made on 2026-03-01. The one of 2026-03-01 was checked on 2026-03-02, and is good.',
    )
    await noteCheck('bad')
    expect((await check(settings, Date.parse(at) + DAY_MS)).backups).toMatch(
      /^failed: The backup that was checked on 2026-03-02 is NOT good\./,
    )
  })

  it('speaks of PostgreSQL only where there is one', async () => {
    expect((await check(await open())).backups).toBe(
      engine === 'sqlite'
        ? 'warning: None was made. Run: tabbat backup FILE'
        : 'warning: None was made with tabbat backup. If you back up PostgreSQL in another way, test a restore.',
    )
  })

  it('finds missing and late copies of the checkpoints, and counts running processes', async () => {
    const checkpoints = join(newFolder(), 'copies')
    const settings = await open({ TABBAT_CHECKPOINT_DIR: checkpoints, TABBAT_ROOT_KEY: 'ab'.repeat(32) })
    const context = await createContext(toConfig(settings))
    await context.audit.record([{ phase: 'imported' }])
    const now = Date.now()
    expect(await check(settings, now)).toMatchObject({
      'root key': expect.stringMatching(/^ok: .*from TABBAT_ROOT_KEY\.$/),
      nodes: expect.stringMatching(/^ok: 1 process of \d+\.\d+\.\d+; nodes \S+\.$/),
    })
    await context.close()
    expect((await check(settings)).checkpoints).toMatch(/^ok: The last is of .*, with copies in /)
    rmSync(checkpoints, { recursive: true })
    expect((await check(settings)).checkpoints).toMatch(/^failed: There is no copy/)
    // The rows are of another node: this one has recorded nothing.
    writeFileSync(join(toConfig(settings).dataDir, 'node.id'), 'fresh\n')
    expect((await check(settings)).checkpoints).toMatch(/^ok: This node has recorded nothing yet/)
  })

  it('finds rows that no checkpoint covers, and no fault in a server without new rows', async () => {
    const settings = await open({ TABBAT_CHECKPOINT_DIR: newFolder() })
    const context = await createContext(toConfig(settings))
    await context.audit.record([{ phase: 'imported' }])
    await context.audit.checkpoint()
    const later = Date.now() + 10 * 60_000
    const { owner } = context.audit
    await withSealed(settings, async ({ store }) => {
      const own = (await store.audit.chains()).find((each) => each.owner === owner)
      await store.audit.sendHeartbeat(own?.chain ?? '', owner, later)
    })
    expect((await check(settings, later)).checkpoints).toMatch(/^ok: The last is of /)
    await context.audit.record([{ phase: 'imported' }])
    expect((await check(settings, later)).checkpoints).toMatch(
      /^failed: A server is running, but rows of the last minutes are in no checkpoint/,
    )
    await context.close()
  })

  it('finds a database that is older than its checkpoints', async () => {
    const checkpoints = join(newFolder(), 'copies')
    const settings = await open({ TABBAT_CHECKPOINT_DIR: checkpoints })
    const context = await createContext(toConfig(settings))
    await context.audit.record([{ phase: 'imported' }])
    await context.close()
    const later = { time: '2999-01-01T00:00:00.000Z', body: '{}', signature: '' }
    writeFileSync(join(checkpoints, 'checkpoints.log'), `${JSON.stringify(later)}\n`)
    expect((await check(settings)).checkpoints).toMatch(
      /^failed: The checkpoint of 2999-\S+ has no valid signature.* The database is older than its last checkpoint/,
    )
  })

  it('names the versions of running nodes, and warns when they differ or lag', async () => {
    const settings = await open()
    const beat = (owner: string, more: { version?: string; lagMs?: number } = {}) =>
      withSealed(settings, ({ store }) =>
        store.nodes.sendHeartbeat(
          {
            ...{ owner, node: `node-${owner}`, worker: 1, version: VERSION, inFlight: 0, requestsPerS: 0 },
            ...{ lagMs: 0, uptimeMs: 1000, ...more },
          },
          Date.now(),
        ),
      )
    await beat('a')
    await beat('b')
    expect((await check(settings)).nodes).toBe(`ok: 2 processes of ${VERSION}; nodes node-a, node-b.`)
    await beat('c', { version: '9.9.9', lagMs: 61_000 })
    expect((await check(settings)).nodes).toBe(
      `warning: Worker 1 of node-c has not read the catalogue and the kill switches for 61 s. See its log. The nodes have different versions: ${VERSION}, 9.9.9. Finish the upgrade.`,
    )
  })

  it('repeats what servers reported about vendors, and says when a vendor is disabled', async () => {
    const vendor = { TABBAT_NIN_SOURCES: 'dojah', TABBAT_DOJAH_APP_ID: 'app', TABBAT_DOJAH_SECRET: 'secret' }
    const settings = await open(vendor)
    expect((await check(settings)).sources).toMatch(/^ok: dojah: no problems reported/)
    await withSealed(settings, ({ store }) => store.sources.disable('dojah', Date.now()))
    expect((await check(settings)).sources).toBe('warning: dojah (verify_nin) is disabled.')
  })
})

describe('tabbat doctor on a PostgreSQL with Patroni', () => {
  /** As `GET /patroni` answers. */
  const answerWith = async (body: object) => {
    const server = createHttpServer((_request, response) => response.end(JSON.stringify(body)))
    await once(server.listen(0, '127.0.0.1'), 'listening')
    onTestFinished(() => void server.close())
    return (server.address() as AddressInfo).port
  }
  const check = async (port: number) => {
    const config = toConfig({
      TABBAT_DATA_DIR: newFolder(),
      TABBAT_DATABASE_URL: 'postgres://user@127.0.0.1:5432,127.0.0.1:5433/x',
    })
    const { status, text } = await checkPatroni({ config }, port)
    return `${status}: ${text}`
  }

  it.each([
    ['3.0.2', { etcd_api: 'v2' }, /^ok: 3\.0\.2 at 127\.0\.0\.1\.$/],
    ['3.0.3', {}, /^ok/],
    ['4.0.4', undefined, /^ok/],
    ['3.0.2', { etcd_api: 'v3' }, /^warning: Patroni 3\.0\.2 at 127\.0\.0\.1: a failover can lose/],
    ['2.1.9', undefined, /^warning/],
    ['3.0', undefined, /^warning/],
  ])('%s with the tags %j', async (version, tags, expected) => {
    expect(await check(await answerWith({ patroni: { version, scope: 'x' }, tags }))).toMatch(expected)
  })

  it('says that it is paused', async () => {
    const port = await answerWith({ patroni: { version: '4.0.4' }, pause: true })
    expect(await check(port)).toMatch(/^warning: Patroni at 127\.0\.0\.1 is paused.*patronictl resume/)
  })

  it('is silent where something else answers, or nothing', async () => {
    const port = await answerWith({ hello: 'world' })
    expect(await check(port)).toMatch(/^skipped: None answers/)
    const closed = await answerWith([])
    expect(await check(closed)).toMatch(/^skipped/)
  })
})
