import { createSecretKey, type KeyObject } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { type Keyring, openKeyring } from '../../../src/crypto/keyring.ts'
import type { Kind } from '../../../src/crypto/mac.ts'
import { readHeader } from '../../../src/registry/import/csv.ts'
import { createChunkSealer } from '../../../src/registry/import/seal-chunk.ts'
import { unpackRows } from '../../../src/registry/import/sealed-rows.ts'
import { sealEntry, toSubject, unsealEntry } from '../../../src/registry/sealed-entry.ts'
import { toBvnRecord } from '../../../src/sources/sandbox/bvn-record.ts'
import { toNinRecord } from '../../../src/sources/sandbox/nin-record.ts'

const derive = (label: string): KeyObject => createSecretKey(Buffer.alloc(32, label))
const root = { fingerprint: 'test', derive }
const keyring: Keyring = openKeyring(
  { candidates: [root], origin: 'setting', where: 'a test' },
  { fingerprint: 'test', version: 3, previousFingerprint: undefined, carried: undefined },
)

const toNumber = (index: number) => String(70_000_000_000 + index)

describe.each([
  ['nin', (number: string) => ({ ...toNinRecord(number, '8031234567') })],
  ['bvn', (number: string) => ({ ...toBvnRecord(number, '8031234567') })],
] as const)('a chunk of %s rows', (kind, toRow) => {
  const people = Array.from({ length: 40 }, (_person, index) => toRow(toNumber(index)))
  const seal = (text: string) =>
    createChunkSealer(keyring, { kind, format: 'ndjson', columns: [], strict: false })(Buffer.from(text))

  it('is sealed as each entry alone would be, and can be opened', () => {
    const { packed, count, rejects, lines } = seal(people.map((row) => `${JSON.stringify(row)}\n`).join(''))
    expect({ count, rejects, lines }).toEqual({ count: 40, rejects: [], lines: 40 })
    const rows = [...unpackRows(kind, 3, packed)]
    for (const [index, { record, media }] of rows.entries()) {
      const entry = unsealEntry(keyring, kind as Kind, record.subject, record)
      const alone = sealEntry(keyring, kind as Kind, toNumber(index), entry)
      expect(entry.record).toMatchObject({ [`${kind}_number`]: toNumber(index) })
      expect([record.subject, record.digest, media]).toEqual([alone.subject, alone.digest, undefined])
    }
    expect(new Set(rows.map(({ record }) => Buffer.from(record.sealed).toString('hex', 0, 12))).size).toBe(40)
  })

  it('keeps the order of rows and the numbers of lines, with blank and rejected rows between', () => {
    const [first, second, third] = people.map((row) => JSON.stringify(row))
    const { packed, count, rejects, lines } = seal(`${first}\n\nno JSON\n${second}\n{}\n${third}`)
    expect([count, lines]).toEqual([3, 6])
    expect(rejects.map(({ line }) => line)).toEqual([2, 4])
    const subjects = [...unpackRows(kind, 3, packed)].map(({ record }) => record.subject)
    expect(subjects).toEqual([0, 1, 2].map((index) => toSubject(keyring, kind, toNumber(index))))
  })
})

it('has room for sealed rows that are longer than those of the file', () => {
  const header = 'nin_number,personal_info.phone_number'
  const columns = readHeader('nin', header, 'people.csv')
  const sealChunk = createChunkSealer(keyring, { kind: 'nin', format: 'csv', columns, strict: false })
  const lines = Array.from({ length: 300 }, (_row, index) => `${toNumber(index)},08031234567\n`)
  const { packed, count } = sealChunk(Buffer.from(lines.join('')))
  expect(count).toBe(300)
  const numbers = [...unpackRows('nin', 3, packed)].map(
    ({ record }) => unsealEntry(keyring, 'nin', record.subject, record).record.nin_number,
  )
  expect(numbers).toEqual(Array.from({ length: 300 }, (_number, index) => toNumber(index)))
})
