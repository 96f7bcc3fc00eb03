import { describe, expect, it } from 'vitest'
import { queryInOrder, type SourceQuery } from '../../src/sources/failover.ts'
import { type Answer, SourceError } from '../../src/sources/source.ts'
import {
  answering,
  createGuard,
  createSearch,
  failing,
  NOT_FOUND,
  PERSON,
  type Person,
  readCode,
} from './search-setup.ts'

describe("the vendor's reference of an answer", () => {
  const referenceOf = async (answer: Answer<Person>, secrets: string[] = []) => {
    const search = createSearch({ secrets })
    await readCode(queryInOrder([answering('a', answer)], search))
    return search.sourceAttempts[0]
  }

  it('is written down, for a record and for none', async () => {
    expect(await referenceOf({ ...PERSON, reference: 'R-1' })).toMatchObject({
      result: 'found',
      reference: 'R-1',
    })
    expect(await referenceOf({ found: false, reference: 'R-2' })).toMatchObject({
      result: 'not_found',
      reference: 'R-2',
    })
    expect(await referenceOf(PERSON)).not.toHaveProperty('reference')
  })

  it('is left out if it contains the number of the request, or a phone of the record', async () => {
    const phone = '08031234567'
    const record: Answer<Person> = { found: true, record: { phone }, reference: `ref-${phone}` }
    expect(await referenceOf(record)).not.toHaveProperty('reference')
    expect(
      await referenceOf({ ...PERSON, reference: 'ref-12345678901' }, ['12345678901']),
    ).not.toHaveProperty('reference')
  })
})

describe('a search without an answer', () => {
  it('because the operator has disabled every source is no "not found"', async () => {
    const disabled = answering('a', PERSON, { admit: 'disabled' })
    expect(await readCode(queryInOrder([disabled], createSearch()))).toBe('source_unavailable')
  })

  it.each([
    ['unreachable', 'source_unavailable'],
    ['refused', 'source_unavailable'],
    ['throttled', 'source_unavailable'],
    ['timeout', 'source_timeout'],
    ['bad_response', 'source_bad_response'],
  ] as const)('because of %s ends with %s', async (reason, code) => {
    expect(await readCode(queryInOrder([failing('a', reason)], createSearch()))).toBe(code)
  })

  it('is never "not found" when a source was skipped, but may be when the operator disabled it', async () => {
    const search = () => createSearch({ continueOnNotFound: true })
    const without = (admit: 'disabled' | 'spend_cap') =>
      queryInOrder([answering('a', NOT_FOUND), answering('b', PERSON, { admit })], search())
    expect(await without('disabled')).toEqual({ found: false })
    expect(await readCode(without('spend_cap'))).toBe('source_unavailable')
  })

  it('asks the caller to wait for the shortest pause of the sources, if it is longer than usual', async () => {
    const readWait = async (...pauses: (number | undefined)[]) => {
      const queries = pauses.map((ms, index) => ({
        name: `${index}`,
        guard: { ...createGuard(`${index}`, { admit: 'retry_after' as const }), retryAfterMs: () => ms },
        query: async () => PERSON,
      }))
      const error = await queryInOrder(queries, createSearch()).catch((thrown) => thrown)
      return error.headers['retry-after']
    }
    expect(await readWait(90_001, 600_000)).toBe('91')
    expect(await readWait(600_000, undefined)).toBe('600')
    expect(await readWait(1000, 600_000)).toBe(await readWait(0))
    expect(await readWait(undefined)).toBe(await readWait(0))
  })

  it('ends with the error of the store, when a call could not be written down', async () => {
    const broken = {
      ...createGuard('a'),
      admit: async () => {
        throw new Error('store unavailable')
      },
    }
    const queries = [{ name: 'a', guard: broken, query: async () => PERSON }, answering('b', PERSON)]
    await expect(queryInOrder(queries, createSearch())).rejects.toThrow('store unavailable')
  })
})

describe('a call that certainly was not sent', () => {
  const flaky = (errors: readonly SourceError[]) => {
    const left = [...errors]
    const made = { calls: 0 }
    const query: SourceQuery<Person> = {
      name: 'a',
      guard: createGuard('a'),
      query: async () => {
        made.calls += 1
        const error = left.shift()
        if (error) throw error
        return PERSON
      },
    }
    return { query, made }
  }
  const unsent = new SourceError('a', 'unreachable', { sent: false })

  it('is made once more, and not a third time', async () => {
    const once = flaky([unsent])
    expect(await queryInOrder([once.query], createSearch())).toBe(PERSON)
    const twice = flaky([unsent, unsent])
    expect(await readCode(queryInOrder([twice.query], createSearch()))).toBe('source_unavailable')
    expect([once.made.calls, twice.made.calls]).toEqual([2, 2])
  })

  it('is not made again for another reason, or when the time is over', async () => {
    const refused = flaky([new SourceError('a', 'refused', { sent: false })])
    await readCode(queryInOrder([refused.query], createSearch()))
    const end = new AbortController()
    let calls = 0
    const late: SourceQuery<Person> = {
      name: 'b',
      query: async () => {
        calls += 1
        end.abort()
        throw unsent
      },
    }
    await readCode(queryInOrder([late], createSearch({ signal: end.signal })))
    expect([refused.made.calls, calls]).toEqual([1, 1])
  })
})
