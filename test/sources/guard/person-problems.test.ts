import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createPersonProblems } from '../../../src/sources/guard/call-guard.ts'
import { SourceError } from '../../../src/sources/source.ts'
import type { SourceProblem } from '../../../src/sources/source-problem.ts'

type Step = { readonly outcome: 'found' | 'not_found' | SourceProblem; readonly person: string }

const toOutcome = ({ outcome }: Step) =>
  outcome === 'found' || outcome === 'not_found'
    ? outcome
    : new SourceError('dojah', 'bad_response', { problem: outcome })

/** The rule again, from the whole history: the different people of the last row with this problem. */
function countsAgainstSource(steps: readonly Step[]): boolean {
  const { outcome } = steps.at(-1) as Step
  if (outcome === 'vendor_failed') return true
  if (outcome === 'found' || outcome === 'not_found') return false
  const isNeutral = (step: Step) =>
    step.outcome === 'vendor_failed' || (outcome === 'no_phone' && step.outcome === 'not_found')
  const relevant = steps.filter((step) => !isNeutral(step))
  const before = relevant.findLastIndex((step) => step.outcome !== outcome)
  return new Set(relevant.slice(before + 1).map(({ person }) => person)).size >= 6
}

it('a problem with people counts against the source when six different ones in a row have it', () => {
  const step = fc.record({
    outcome: fc.constantFrom(
      ...(['unlisted', 'unlisted', 'unlisted', 'no_phone', 'no_phone', 'no_phone'] as const),
      ...(['found', 'not_found', 'vendor_failed'] as const),
    ),
    person: fc.integer({ min: 1, max: 9 }).map(String),
  })
  // Runs of one outcome, so that rows of six occur.
  const run = fc
    .tuple(step, fc.array(fc.integer({ min: 1, max: 9 }).map(String), { maxLength: 12 }))
    .map(([first, people]): Step[] => [first, ...people.map((person) => ({ ...first, person }))])
  fc.assert(
    fc.property(fc.array(run, { maxLength: 8 }), (runs) => {
      const isOfSource = createPersonProblems()
      const steps = runs.flat()
      for (const [index, each] of steps.entries())
        expect(isOfSource(toOutcome(each), each.person)).toBe(countsAgainstSource(steps.slice(0, index + 1)))
    }),
  )
})

it('a call that our own deadline cut short counts neither way', () => {
  const isOfSource = createPersonProblems()
  for (let person = 0; person < 9; person++)
    expect(isOfSource(new SourceError('dojah', 'timeout', { fault: 'deadline' }), String(person))).toBe(false)
})
