import { describe, expect, it } from 'vitest'
import { diffFiles, listDoubts, summarise } from '../../src/catalogue/diff.ts'
import { readShipped } from '../../src/catalogue/versions.ts'
import type { CatalogueFiles } from '../../src/contract/bundles.ts'

const shipped = readShipped()

/** The shipped lists with other bundles of one provider. */
function withBundles(
  segment: string,
  change: (
    bundles: CatalogueFiles['internet'][number]['bundles'],
  ) => CatalogueFiles['internet'][number]['bundles'],
): CatalogueFiles {
  return {
    ...shipped,
    internet: shipped.internet.map((list) =>
      list.segment === segment ? { ...list, bundles: change(list.bundles) } : list,
    ),
  }
}

describe('diffFiles', () => {
  it('ignores dates, notes and order', () => {
    const later = {
      internet: shipped.internet.map((list) => ({
        ...list,
        as_of: '2030-01-01',
        note: 'x',
        bundles: list.bundles.toReversed(),
      })),
      tv: shipped.tv,
    }
    expect(diffFiles(shipped, later)).toEqual([])
  })

  it('finds items that were added or removed, and changes of price or name', () => {
    const changed = withBundles('spectranet', ([first, second, , ...rest]) => [
      { ...first, price: '1100' } as never,
      { ...second, description: 'Voucher' } as never,
      ...rest,
      { code: 'vt-9', price: '9', description: ' Nine ', duration: '' },
    ])
    const changes = diffFiles(shipped, changed)
    expect(changes.map(({ kind, code }) => [kind, code])).toEqual([
      ['price', 'vt-1000'],
      ['other', 'vt-2000'],
      ['added', 'vt-9'],
      ['removed', 'vt-5000'],
    ])
    expect(changes[0]).toMatchObject({ list: 'spectranet', priceBefore: '1000', priceAfter: '1100' })
    expect(summarise(changes)).toBe('1 added, 1 removed, 1 price changed, 1 changed otherwise')
  })

  it('compares add-ons as a separate list', () => {
    const tv = shipped.tv.map((list) => ({
      ...list,
      add_ons: list.add_ons.map((addOn) => ({ ...addOn, products: addOn.products.slice(1) })),
    }))
    const changes = diffFiles(shipped, { ...shipped, tv })
    expect(changes).toHaveLength(5)
    expect(new Set(changes.map(({ list, kind }) => `${list} ${kind}`))).toEqual(
      new Set(['dstv add-ons other']),
    )
  })
})

describe('listDoubts', () => {
  it.each([
    [0, ['The list smile would be empty.']],
    [21, ['The list smile would lose 23 of its 44 codes.']],
    [22, ['The list smile would lose 22 of its 44 codes.']],
    [23, []],
    [44, []],
  ])('with %i of 44 codes left', (left, doubts) => {
    expect(
      listDoubts(
        shipped,
        withBundles('smile', (bundles) => bundles.slice(0, left)),
      ),
    ).toEqual(doubts)
  })

  it('counts codes, not items: new codes do not compensate for lost ones', () => {
    const renamed = withBundles('spectranet', (bundles) =>
      bundles.map((bundle) => ({ ...bundle, code: `x${bundle.code}` })),
    )
    expect(listDoubts(shipped, renamed)).toEqual(['The list spectranet would lose 5 of its 5 codes.'])
  })

  it('reports missing lists, and new lists that are empty', () => {
    const [smile] = shipped.internet
    const internet = [smile as never, { ...(smile as object), segment: 'swift', bundles: [] } as never]
    expect(listDoubts(shipped, { ...shipped, internet })).toEqual([
      'The list spectranet would be empty.',
      'The new list swift is empty.',
    ])
  })
})
