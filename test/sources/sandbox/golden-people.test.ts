import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { createSandboxSource } from '../../../src/sources/sandbox/index.ts'

/**
 * Clients keep tests against the people of the sandbox, so a released record never changes. If this test fails, undo the
 * change of the code. Do not write the file again.
 */
type GoldenPerson = {
  readonly kind: 'nin' | 'bvn'
  readonly number: string
  readonly phone: string
  readonly record: object
}

const people = readFileSync(
  new URL('../../../src/sources/sandbox/golden-people.ndjson', import.meta.url),
  'utf8',
)
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as GoldenPerson)
const source = createSandboxSource()
const call = { signal: new AbortController().signal, reference: 'ver_golden' }

test.each(people)(
  '$kind $number with the phone $phone has the record of the first release',
  async (golden) => {
    const { kind, number, phone, record } = golden
    const answer =
      kind === 'nin'
        ? await source.findNin?.({ nin: number, phone }, call)
        : await source.findBvn?.({ bvn: number, phone }, call)
    expect(answer).toEqual({ found: true, record })
  },
)

test('both kinds have 30 golden people, with scenarios and with the phone that never matches', () => {
  const count = (kind: string) => people.filter((person) => person.kind === kind).length
  expect([count('nin'), count('bvn')]).toEqual([30, 30])
  expect(people.filter(({ number }) => number.startsWith('0000000000')).length).toBeGreaterThan(4)
  expect(people.filter(({ phone }) => phone === '8000000000').length).toBeGreaterThan(4)
})
