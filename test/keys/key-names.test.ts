import { describe, expect, it } from 'vitest'
import { openKeyNames, readKeyNames } from '../../src/keys/key-names.ts'

const ROWS = [
  { id: 'new', name: 'Shop (new)', mode: 'live', lineage: 'first', createdAt: 3 },
  { id: 'first', name: 'Shop', mode: 'live', lineage: 'first', createdAt: 1 },
  { id: 'middle', name: 'Shop (middle)', mode: 'live', lineage: 'first', createdAt: 2 },
  { id: 'other', name: 'Trial', mode: 'test', lineage: 'other', createdAt: 4 },
]
const keys = { list: async () => ROWS } as never

describe('the names of keys', () => {
  it('are known by their ids, with that of the public sandbox key', async () => {
    expect(Object.fromEntries(await readKeyNames(keys))).toEqual({
      sandbox0: 'public sandbox key',
      new: 'Shop (new)',
      first: 'Shop',
      middle: 'Shop (middle)',
      other: 'Trial',
    })
  })

  it('are null for what is no key', async () => {
    const { nameOf, ofKey, ofLineage } = await openKeyNames(keys)
    expect([nameOf(null), nameOf('gone'), nameOf('other')]).toEqual([null, null, 'Trial'])
    expect(ofKey('gone')).toEqual({ key_id: 'gone', key_name: null, mode: null })
    expect(ofLineage('gone')).toEqual({ key_id: 'gone', key_name: null, mode: null })
  })

  it('come with the mode', async () => {
    const { ofKey } = await openKeyNames(keys)
    expect(ofKey('other')).toEqual({ key_id: 'other', key_name: 'Trial', mode: 'test' })
    expect(ofKey('first')).toEqual({ key_id: 'first', key_name: 'Shop', mode: 'live' })
  })

  it('of a lineage are those of its newest key, and of the sandbox key its own', async () => {
    const { ofLineage } = await openKeyNames(keys)
    expect(ofLineage('first')).toEqual({ key_id: 'new', key_name: 'Shop (new)', mode: 'live' })
    expect(ofLineage('sandbox0')).toEqual({ key_id: 'sandbox0', key_name: 'public sandbox key', mode: null })
  })
})
