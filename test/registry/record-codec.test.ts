import { describe, expect, it } from 'vitest'
import { createBlankRecord, type RecordOf } from '../../src/contract/record.ts'
import { KINDS, type Kind } from '../../src/crypto/mac.ts'
import { decodeEntry, encodeEntry, readValues } from '../../src/registry/record-codec.ts'

/** A record in which every value is different. */
function toDistinct<K extends Kind>(kind: K): RecordOf[K] {
  let count = 0
  const text = JSON.stringify(createBlankRecord(kind, 'value')).replaceAll(
    '"value"',
    () => `"value ${++count}"`,
  )
  return JSON.parse(text) as RecordOf[K]
}

describe('decodeEntry', () => {
  it.each(KINDS)('returns the %s record that was encoded, field by field', (kind) => {
    for (const mediaId of [null, '0123456789abcdef']) {
      const entry = { record: toDistinct(kind), mediaId }
      const decoded = decodeEntry(kind, encodeEntry(kind, entry))
      expect(decoded).toEqual(entry)
      expect(JSON.stringify(decoded.record)).toBe(JSON.stringify(entry.record))
    }
  })

  it('returns empty values, null and characters that JSON escapes', () => {
    const record = {
      ...toDistinct('bvn'),
      watchlisted: null,
      name_on_card: '',
      enrolment_branch: 'Ìkẹjà, "Allen" \\ [1,2]\n',
    }
    const entry = { record, mediaId: null }
    expect(decodeEntry('bvn', encodeEntry('bvn', entry))).toEqual(entry)
  })

  it('refuses an entry of another format, and a damaged one', () => {
    expect(() => decodeEntry('nin', Buffer.from('[2,null,"a"]'))).toThrow('format')
    for (const text of ['', '{', '[1,null', '[1,nul,"a"]', '[1,null,"a]', '[1,null,"a"'])
      expect(() => decodeEntry('nin', Buffer.from(text))).toThrow()
  })
})

describe('readValues', () => {
  it.each(['[1]', '[null]', '[""]', '[1,null,"a","",null,"b, c]"]', '["a\\"b"]'])('reads %s', (json) => {
    expect(readValues(json)).toEqual(JSON.parse(json))
  })
})
