import { execFileSync } from 'node:child_process'
import { createHash, createHmac, createSecretKey, randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { readBackup } from '../../src/backup/read-backup.ts'
import { openStore } from '../../src/context/store.ts'
import { loadRootKeys, type RootKeys } from '../../src/crypto/root-key.ts'
import { UserError } from '../../src/errors.ts'
import type { Settings } from '../process/tabbat.ts'
import { tabbat } from '../registry/run.ts'
import { ENGINES, keyFileOf, keysOf, newSettings, toConfig, withSealed } from '../registry/sealed-registry.ts'
import { changeFirst, rewriteBackup, toBackupKeyOf, toLines } from './backup-lines.ts'

let source: Settings
let good: Buffer
let rootKeys: RootKeys

beforeAll(async () => {
  source = await newSettings('sqlite')
  const file = join(source.TABBAT_DATA_DIR ?? '', 'good.backup')
  const { stdout } = await tabbat(source, ['keys', 'create', '--name', 'shop', '--mode', 'live', '--json'])
  await tabbat(source, ['keys', 'revoke', (JSON.parse(stdout) as { id: string }).id])
  await withSealed(source, async ({ store: { accounts } }) => {
    const invitation = {
      role: 'viewer',
      account: undefined,
      madeBy: 'root (cli)',
      createdAt: 1,
      expiresAt: 9,
    } as const
    await accounts.invite({ ...invitation, id: Buffer.alloc(32, 1) })
    const account = {
      name: 'ada',
      role: 'viewer',
      password: 'p',
      createdAt: 1,
      lastSeenAt: undefined,
    } as const
    await accounts.accept(Buffer.alloc(32, 1), account)
  })
  expect(await tabbat(source, ['backup', file])).toMatchObject({ code: 0 })
  good = readFileSync(file)
  rootKeys = await loadRootKeys(toConfig(source), false)
})

/** What an attacker who does not have the root key can do with a changed file. */
const FORGERIES: Readonly<Record<string, (change: (lines: string[]) => string[]) => Buffer>> = {
  'the MAC of the original': (change) => {
    const lines = toLines(good)
    return gzipSync(`${[...change(lines.slice(0, -1)), lines.at(-1)].join('\n')}\n`)
  },
  'a MAC under another key': (change) => rewriteBackup(good, createSecretKey(randomBytes(32)), change),
  'a SHA-256 in place of the MAC': (change) => {
    const lines = toLines(good)
    const text = `${change(lines.slice(0, -1)).join('\n')}\n`
    const end = lines.at(-1)?.replace(/,"mac".*/, '') ?? ''
    const mac = createHash('sha256').update(text).update(end).digest('hex')
    return gzipSync(`${text}${end},"mac":"${mac}"}\n`)
  },
  'the checksum of the older format': (change) => {
    const [first = '', ...lines] = toLines(good)
    const header = JSON.stringify({ ...JSON.parse(first), version: 1 })
    const text = `${change([header, ...lines.slice(0, -1)]).join('\n')}\n`
    const sha256 = createHash('sha256').update(text).digest('hex')
    const { counts } = JSON.parse(lines.at(-1) ?? '') as { counts: object }
    return gzipSync(`${text}${JSON.stringify({ end: true, counts, sha256 })}\n`)
  },
}

/** A viewer becomes an owner, and a revoked key is valid again. */
const tamper = (lines: string[]) =>
  changeFirst('api_keys', 'revoked_at', () => null)(changeFirst('accounts', 'role', () => 'owner')(lines))

/** A line once for each value in it, with that value changed to another of its type, so that a time is still a time. */
function changeEachValue(line: Record<string, unknown> | readonly unknown[]): unknown[] {
  if (Array.isArray(line)) return line.map((value, at) => line.with(at, toOther(value)))
  return Object.entries(line).map(([name, value]) => ({ ...line, [name]: toOther(value) }))
}

function toOther(value: unknown): unknown {
  if (Array.isArray(value)) return value.toReversed()
  if (typeof value === 'number') return value + 1
  if (typeof value !== 'string') return value === null ? 1 : { base64: 'AAAA' }
  const other = value.replace(/\d(?=\D*$)/, (digit) => String((Number(digit) + 1) % 10))
  return other === value ? `${value}x` : other
}

const REFUSED =
  /error: .*(was changed after it was written|made by a Tabbat before).*Nothing was changed\.\n$/

describe('a viewer made an owner and a revoked key made valid', () => {
  it.each(Object.entries(FORGERIES))(
    'are refused with %s, by every command and database',
    async (_how, forge) => {
      const file = join(source.TABBAT_DATA_DIR ?? '', 'forged.backup')
      writeFileSync(file, forge(tamper))
      const checked = await tabbat(source, ['backup', 'check', file])
      expect([checked.code, checked.stderr]).toEqual([1, expect.stringMatching(REFUSED)])
      for (const engine of ENGINES) {
        const target = await newSettings(engine)
        writeFileSync(keyFileOf(target), `${keysOf(source)[0]}\n`, { mode: 0o600 })
        const restored = await tabbat(target, ['restore', file, '--force', '--yes'])
        expect([restored.code, restored.stderr]).toEqual([1, expect.stringMatching(REFUSED)])
        const { dataDir, databaseUrl } = toConfig(target)
        const store = await openStore({ dataDir, databaseUrl })
        expect([await store.meta.read(), await store.keys.list()]).toEqual([{}, []])
        await store.close()
      }
    },
  )

  it('would be restored with a right MAC: the changes are such that a restore accepts them', async () => {
    const target = await newSettings('sqlite')
    const [rootKey = ''] = keysOf(source)
    writeFileSync(keyFileOf(target), `${rootKey}\n`, { mode: 0o600 })
    const file = join(target.TABBAT_DATA_DIR ?? '', 'signed.backup')
    writeFileSync(file, rewriteBackup(good, toBackupKeyOf(rootKey), tamper))
    expect(await tabbat(target, ['restore', file])).toMatchObject({ code: 0 })
    await withSealed(target, async ({ store }) => {
      expect(await store.accounts.list()).toMatchObject([{ name: 'ada', role: 'owner' }])
      expect(await store.keys.list()).toMatchObject([{ name: 'shop', revokedAt: undefined }])
    })
  })
})

it('is refused without being held in memory, however many facts about the database it has', async () => {
  const target = await newSettings('sqlite')
  writeFileSync(keyFileOf(target), readFileSync(keyFileOf(source)), { mode: 0o600 })
  const file = join(target.TABBAT_DATA_DIR ?? '', 'hostile.backup')
  const lines = toLines(good)
  const at = lines.findIndex((line) => line.startsWith('{"table":"meta"'))
  const toPart = (part: readonly string[]) => gzipSync(part.map((line) => `${line}\n`).join(''))
  const fact = toPart([JSON.stringify(['x', 'x'.repeat(4_000_000)])])
  const facts = Array.from({ length: 100 }, () => fact)
  writeFileSync(file, Buffer.concat([toPart(lines.slice(0, at + 1)), ...facts, toPart(lines.slice(at + 1))]))
  const { code, stderr } = await tabbat({ ...target, NODE_OPTIONS: '--max-old-space-size=200' }, [
    'restore',
    file,
  ])
  expect([code, stderr]).toEqual([1, expect.stringMatching(REFUSED)])
})

describe('a file that differs from what was written', () => {
  const file = () => join(source.TABBAT_DATA_DIR ?? '', 'differing.backup')
  const read = (lines: readonly string[]) => {
    writeFileSync(file(), gzipSync(lines.map((line) => `${line}\n`).join('')))
    return readBackup(file(), rootKeys, { onRows: () => {} }).then(
      () => 'good',
      () => 'refused',
    )
  }

  it('is refused, whichever lines were left out, repeated, swapped or added', async () => {
    const lines = toLines(good)
    expect(await read(lines)).toBe('good')
    const index = fc.nat(lines.length - 1)
    const change = fc.oneof(
      index.map((at) => lines.toSpliced(at, 1)),
      index.map((at) => lines.slice(0, at)),
      fc.tuple(index, index).map(([at, from]) => lines.toSpliced(at, 0, lines[from] ?? '')),
      fc
        .tuple(index, index)
        .map(([one, two]) => lines.with(one, lines[two] ?? '').with(two, lines[one] ?? '')),
      fc.constant([...lines, ...lines]),
    )
    await fc.assert(
      fc.asyncProperty(change, async (changed) => {
        fc.pre(changed.join('\n') !== lines.join('\n'))
        expect(await read(changed)).toBe('refused')
      }),
      { numRuns: 200 },
    )
  })

  it('is refused, whichever value of any line was changed', async () => {
    const lines = toLines(good).slice(0, -1)
    let count = 0
    for (const [at, line] of lines.entries())
      for (const changed of changeEachValue(JSON.parse(line))) {
        const text = JSON.stringify(changed)
        expect(text).not.toBe(line)
        expect(await read(toLines(good).with(at, text)), text).toBe('refused')
        count += 1
      }
    expect(count).toBeGreaterThan(100)
  })

  it('is refused when its last line says otherwise, also about what the MAC is', async () => {
    const lines = toLines(good)
    const end = lines.at(-1) ?? ''
    const { counts, mac } = JSON.parse(end) as { counts: object; mac: string }
    const ends = [
      end.replace('"audit":', '"audit":1'),
      end.replace(mac, mac.slice(0, -1)),
      end.replace(mac, ''),
      end.replace(
        mac,
        mac.replace(/.$/, (digit) => (digit === '0' ? '1' : '0')),
      ),
      JSON.stringify({ end: true, mac, counts }),
      JSON.stringify({ end: true, counts, mac, more: 1 }),
      JSON.stringify({ end: true, counts, mac: createHmac('sha256', '').digest('hex') }),
    ]
    for (const changed of ends) expect(await read(lines.with(-1, changed))).toBe('refused')
  })
})

it('a folder is refused, with the reason of the system', async () => {
  const folder = source.TABBAT_DATA_DIR ?? ''
  const reading = readBackup(folder, rootKeys, { onRows: () => {} })
  await expect(reading).rejects.toThrow(new UserError(`${folder} cannot be read (EISDIR).`))
})

describe('a pipe', () => {
  it.skipIf(process.platform === 'win32')('is refused, as it can be read only once', async () => {
    const target = await newSettings('sqlite')
    writeFileSync(keyFileOf(target), `${keysOf(source)[0]}\n`, { mode: 0o600 })
    const pipe = join(target.TABBAT_DATA_DIR ?? '', 'pipe')
    execFileSync('mkfifo', [pipe])
    const { code, stderr } = await tabbat(target, ['restore', pipe])
    expect([code, stderr]).toEqual([1, expect.stringContaining(`${pipe} is not a file`)])
  })
})
