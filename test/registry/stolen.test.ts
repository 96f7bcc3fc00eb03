import { createHash, createHmac, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { describe, expect, it, onTestFinished } from 'vitest'
import { writeBackup } from '../../src/backup/write-backup.ts'
import type { SealedStore } from '../../src/context/sealed-store.ts'
import { createBlankRecord } from '../../src/contract/record.ts'
import { SCOPES } from '../../src/contract/scope.ts'
import { KINDS, toBlindIndexText } from '../../src/crypto/mac.ts'
import { loadKeyring } from '../../src/database/load-keyring.ts'
import type { Caller } from '../../src/keys/caller.ts'
import { createKey } from '../../src/keys/manage.ts'
import { rotateRoot } from '../../src/registry/rotate.ts'
import { sealEntry, sealMedia, toSubject } from '../../src/registry/sealed-entry.ts'
import { createGuessLimit } from '../../src/verification/guess-limit.ts'
import { commitParts } from '../ledger/commit-parts.ts'
import { hasPostgres } from '../postgres.ts'
import type { Settings } from '../process/tabbat.ts'
import { ENGINES, newSettings, toConfig, withSealed } from './sealed-registry.ts'
import { search, toSpellings } from './spellings.ts'

const NIN = '73914650281'
const BVN = '22819406375'
/** A requested number without a record. */
const GUESSED = '60482917353'
const PHONE = '08067319245'
const NAMES = ['Oluwadamilọla', "N'Golo-Ekpenyong", 'Chukwuebuka Ifeanyichukwu']
const ADDRESS = '14 Balogun-Ajasa Crescent'
const PICTURE = Buffer.concat([Buffer.from('not a face, a canary: '), randomBytes(64)])

/** Stores all kinds of data about people and callers through the program's own functions. Returns the API key. */
async function storeCanaries({ store, keyring }: SealedStore): Promise<string> {
  const [first_name = '', last_name = '', middle_name = ''] = NAMES
  const person = { first_name, last_name, middle_name, phone_number: PHONE }
  const [nin, bvn] = [createBlankRecord('nin'), createBlankRecord('bvn')]
  const mediaId = randomBytes(16)
  const ninEntry = sealEntry(keyring, 'nin', NIN, {
    mediaId: mediaId.toString('hex'),
    record: {
      ...nin,
      nin_number: NIN,
      personal_info: { ...nin.personal_info, ...person },
      residential_info: { ...nin.residential_info, address: ADDRESS },
    },
  })
  const bvnEntry = sealEntry(keyring, 'bvn', BVN, {
    mediaId: null,
    record: { ...bvn, bvn_number: BVN, nin: NIN, personal_info: { ...bvn.personal_info, ...person } },
  })
  const media = [sealMedia(keyring, mediaId, ninEntry.subject, PICTURE)]
  await store.registry.save({ records: [ninEntry], media, at: Date.now() })
  await store.registry.save({ records: [bvnEntry], media: [], at: Date.now() })

  const options = {
    name: 'shop',
    mode: 'live',
    scopes: SCOPES,
    expiresAt: undefined,
    allowedIps: undefined,
  } as const
  const key = await createKey({ store, keyring, audit: { record: async () => {} } }, options)
  const guessLimit = createGuessLimit(store.guesses)
  const caller = { lineage: key.row.lineage, subjectsPerDay: 10 } as Caller
  for (const kind of KINDS)
    for (const number of [NIN, BVN, GUESSED]) {
      const guess = guessLimit.open(caller, toBlindIndexText(keyring.subject, kind, number), '8031234567')
      await commitParts(store, [{ guess: guessLimit.toReserved(caller, guess) }])
    }
  return key.text
}

/** The secret part of a key; its public id may be known. */
const secretOf = (key: string) => key.slice('tbt_live_'.length + 8)

const toCanaries = (key: string) =>
  new Map(
    [
      NIN,
      BVN,
      GUESSED,
      PHONE,
      PHONE.slice(1),
      ...NAMES,
      ADDRESS,
      secretOf(key),
      PICTURE.toString('latin1', 0, 20),
    ].map((secret) => [secret, toSpellings(secret)]),
  )

/** Hashes that an attacker could compute for a guess: without a key, or with a guessable key. */
function toGuesses(): Map<string, Map<string, Buffer>> {
  const texts = [NIN, BVN, GUESSED, PHONE].flatMap((number) => [
    number,
    ...KINDS.flatMap((kind) => [`${kind}:${number}`, `${kind}${number}`, `${kind}\n${number}`]),
  ])
  const digests = texts.flatMap((text) => [
    ...['md5', 'sha1', 'sha256', 'sha512'].map((name) => createHash(name).update(text).digest()),
    ...['', 'tabbat', 'blind-index', 'subject', '\0'.repeat(32)].map((key) =>
      createHmac('sha256', key).update(text).digest(),
    ),
  ])
  return new Map(
    digests.map((digest, index) => [
      `guess ${index}`,
      new Map([
        ['raw', digest.subarray(0, 16)],
        ['hex', Buffer.from(digest.toString('hex').slice(0, 32))],
        ['base64', Buffer.from(digest.toString('base64').slice(0, 20))],
      ]),
    ]),
  )
}

function readBackup(file: string): [string, Buffer][] {
  const bytes = readFileSync(file)
  const text = gunzipSync(bytes)
  const blobs = [...text.toString().matchAll(/"base64":"([^"]*)"/g)].map(([, base64 = '']) =>
    Buffer.from(base64, 'base64'),
  )
  return [
    ['the backup', bytes],
    ['the backup, unpacked', text],
    ['the binary values of the backup', Buffer.concat(blobs)],
  ]
}

/** After a rotation. */
const reload = async (settings: Settings, { store }: SealedStore) => ({
  store,
  ...(await loadKeyring(toConfig(settings), store)),
})

describe.concurrent.each(ENGINES)('a stolen database on %s', (engine) => {
  it('contains no personal data, and no guess can be confirmed with it', async () => {
    const settings = await newSettings(engine)
    const inFolder = (name: string) => join(settings.TABBAT_DATA_DIR ?? '', name)
    await withSealed(settings, async (sealed) => {
      const key = await storeCanaries(sealed)
      // Read while the database is open: the write-ahead log exists and has rows that are not yet in the file.
      const readFiles = (when: string) => {
        const files = ['tabbat.db', 'tabbat.db-wal', 'tabbat.db-shm'].filter((name) =>
          existsSync(inFolder(name)),
        )
        expect(files).toHaveLength(engine === 'sqlite' ? 3 : 0)
        return files.map((name): [string, Buffer] => [`${name} ${when}`, readFileSync(inFolder(name))])
      }
      await writeBackup(sealed, inFolder('before.backup'))
      const before = readFiles('before the rotation')
      await rotateRoot(toConfig(settings), sealed)
      await writeBackup(await reload(settings, sealed), inFolder('after.backup'))
      const places = new Map([
        ...before,
        ...readFiles('after the rotation'),
        ...readBackup(inFolder('before.backup')),
        ...readBackup(inFolder('after.backup')),
      ])
      expect(search(places, toCanaries(key))).toEqual([])
      expect(search(places, toGuesses())).toEqual([])

      // Proves that the search works: with the key, the subject is found.
      const subject = toSubject(sealed.keyring, 'nin', NIN)
      const found = search(places, new Map([['subject', new Map([['raw', subject]])]]))
      expect(found).toContain('subject: raw in the binary values of the backup')
      if (engine === 'sqlite') expect(found).toContain('subject: raw in tabbat.db-wal before the rotation')
    })
  })

  it('does not contain the root key, nor does a backup', async () => {
    const settings = await newSettings(engine)
    const inFolder = (name: string) => join(settings.TABBAT_DATA_DIR ?? '', name)
    await withSealed(settings, async (sealed) => {
      const roots = [readFileSync(inFolder('root.key'), 'utf8').trim()]
      await storeCanaries(sealed)
      await rotateRoot(toConfig(settings), sealed)
      roots.push(readFileSync(inFolder('root.key'), 'utf8').trim())
      await writeBackup(await reload(settings, sealed), inFolder('a.backup'))
      const needles = roots.map((text): [string, Map<string, Buffer>] => {
        const bytes = Buffer.from(text, 'base64')
        return [
          text,
          new Map([
            ...toSpellings(bytes.toString('latin1')),
            ['base64', Buffer.from(text)],
            ['raw', bytes],
            ['hex', Buffer.from(bytes.toString('hex'))],
          ]),
        ]
      })
      const files = engine === 'sqlite' ? ['tabbat.db', 'tabbat.db-wal'] : []
      const places = new Map([
        ...files.map((name): [string, Buffer] => [name, readFileSync(inFolder(name))]),
        ...readBackup(inFolder('a.backup')),
      ])
      expect(search(places, new Map(needles))).toEqual([])
    })
  })
})

describe.skipIf(!hasPostgres())('the connection to PostgreSQL, without TLS', () => {
  /** Passes everything on, and keeps what is sent to the server. */
  async function record(databaseUrl: string) {
    const { hostname, port } = new URL(databaseUrl)
    const sent: Buffer[] = []
    const proxy = createServer((near) => {
      const far = connect(Number(port), hostname)
      near.on('data', (bytes) => sent.push(bytes)).pipe(far)
      far.pipe(near)
      for (const [one, other] of [[near, far] as const, [far, near] as const])
        one.on('error', () => {}).on('close', () => other.destroy())
    }).listen(0, '127.0.0.1')
    await once(proxy, 'listening')
    onTestFinished(() => void proxy.close())
    const own = String((proxy.address() as AddressInfo).port)
    return { url: Object.assign(new URL(databaseUrl), { port: own }).href, sent }
  }

  it('carries no personal data, and no root key', async () => {
    const settings = await newSettings('postgres')
    const { url, sent } = await record(settings.TABBAT_DATABASE_URL ?? '')
    const key = await withSealed({ ...settings, TABBAT_DATABASE_URL: url }, storeCanaries)
    const root = readFileSync(join(settings.TABBAT_DATA_DIR ?? '', 'root.key'), 'utf8').trim()
    const places = new Map([['the connection', Buffer.concat(sent)]])
    expect(search(places, toCanaries(key))).toEqual([])
    expect(search(places, toGuesses())).toEqual([])
    expect(search(places, new Map([['root key', toSpellings(root)]]))).toEqual([])
    // The name of the key is sent as it is: the search finds what is there.
    expect(search(places, new Map([['name', toSpellings('shop')]]))).not.toEqual([])
  })
})

describe('the search', () => {
  it('finds a canary in every spelling, at every offset', () => {
    for (const secret of [NIN, PHONE, ...NAMES]) {
      const spellings = toSpellings(secret)
      for (const [spelling, needle] of spellings) {
        expect(needle.length, `${spelling} of ${secret}`).toBeGreaterThanOrEqual(5)
        const place = new Map([['there', Buffer.concat([randomBytes(7), needle, randomBytes(7)])]])
        expect(search(place, new Map([[secret, spellings]]))).toContain(`${secret}: ${spelling} in there`)
      }
      for (const before of ['', 'x', 'xy', 'xyz']) {
        const place = new Map([
          ['base64', Buffer.from(Buffer.from(`${before}${secret}zz`).toString('base64'))],
        ])
        expect(search(place, new Map([[secret, spellings]])).join()).toMatch(/base64 at/)
      }
    }
  })
})
