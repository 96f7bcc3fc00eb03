import { describe, expect, it } from 'vitest'
import { mergeFiles, parseFiles, parseList, toContent } from '../../src/catalogue/content.ts'
import { readShipped } from '../../src/catalogue/versions.ts'

const shipped = readShipped()
const [smile, spectranet] = shipped.internet as [
  (typeof shipped.internet)[number],
  (typeof shipped.internet)[number],
]

describe('content', () => {
  it('is parsed to the same lists', () => {
    const { content, digest } = toContent(shipped)
    expect(parseFiles(JSON.parse(content))).toEqual(shipped)
    expect(toContent(parseFiles(JSON.parse(content))).digest).toBe(digest)
  })

  it.each([
    ['nothing', null, /must be an object with "internet" and "tv"/],
    ['a list', [], /must be an object with/],
    ['a third field', { ...shipped, sme: [] }, /and nothing else/],
    ['a list twice', { ...shipped, internet: [smile, smile] }, /^smile.json: the list occurs more than once/],
    ['the name of another list', { ...shipped, internet: [{ ...smile, segment: 'sme' }] }, /name of another/],
    ['a list that is not an object', { ...shipped, tv: [7] }, /^list.json: the file must be object/],
    ['a missing name', { ...shipped, tv: [{ as_of: '2026-01-01' }] }, /^list.json: \/type is missing/],
    [
      'a path as a name',
      { ...shipped, internet: [{ ...smile, segment: '../x' }] },
      /\/segment must be lower/,
    ],
  ])('is refused with a message: %s', (_what, content, sentence) => {
    expect(() => parseFiles(content)).toThrow(sentence)
  })

  it('names every broken list', () => {
    const broken = [smile, spectranet].map((list) => ({ ...list, as_of: '2026-02-30' }))
    expect(() => parseFiles({ ...shipped, internet: broken })).toThrow(/smile.json: .*\nspectranet.json: /)
  })

  it('of one list replaces the list of the same name, or is added', () => {
    const one = parseList({ ...spectranet, bundles: [] })
    expect(mergeFiles(shipped, one).internet).toEqual([smile, { ...spectranet, bundles: [] }])
    const swift = { ...smile, segment: 'swift' }
    expect(mergeFiles(shipped, parseList(swift)).internet).toEqual([smile, spectranet, swift])
    expect(mergeFiles(shipped, parseList({ ...shipped.tv[0] })).tv).toEqual(shipped.tv)
  })
})
