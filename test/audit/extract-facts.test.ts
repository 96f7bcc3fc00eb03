import { expect, it } from 'vitest'
import { listExtractFacts } from '../../src/audit/extract/verify-extract.ts'
import { DEMO_NOTICE } from '../../src/contract/demo.ts'

const ABOUT = { made_at: '2026-11-01T12:00:00.000Z', view: 'verifications', filter: {}, archives: 0 } as const

const list = (more: object, about: object = {}) =>
  listExtractFacts({
    ...{ sound: true, rows: 9, unproved: 0, checkpoints: 2, ...more },
    about: { ...ABOUT, ...about },
  } as Parameters<typeof listExtractFacts>[0])

it('a good extract says what it holds, and what the check does not show', () => {
  expect(list({})).toEqual([
    'Made at 2026-11-01T12:00:00.000Z: all rows of the verifications that fit the filter.',
    'Filter: none.',
    'Rows: 9. Proved by 2 signed checkpoints: 9.',
    expect.stringContaining('The owner of the key has signed that these were all.'),
  ])
  expect(list({ rows: 0 })).toContain('Rows: 0. Nothing that was read fits the filter.')
})

it('a demonstration, rows of one kind, and rows that no checkpoint covers are named as such', () => {
  const facts = list({ unproved: 4 }, { demonstration: true, view: 'rows', filter: { phase: 'outcome' } })
  expect(facts.slice(0, 5)).toEqual([
    DEMO_NOTICE,
    'Made at 2026-11-01T12:00:00.000Z: rows that fit the filter.',
    'Filter: phase = outcome.',
    'Rows: 9. Proved by 2 signed checkpoints: 5.',
    'Covered by the signature of the file only: 4. No checkpoint covers them.',
  ])
})

it('an extract without some archives is never called complete', () => {
  for (const [archives, words] of [
    [1, '1 archive of the log was'],
    [3, '3 archives of the log were'],
  ] as const) {
    const facts = list({}, { archives })
    expect(facts.at(-1)).toBe(
      `NOT COMPLETE: ${words} not read, and may have more rows that fit. Export again with them.`,
    )
    expect(facts.join(' ')).not.toContain('these were all')
  }
})
