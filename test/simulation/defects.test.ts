import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { INVARIANTS } from './checks.ts'
import { DEFECTS } from './defects.ts'
import { fits } from './hooks.ts'
import { runSeeds } from './pool.ts'

/** Found at once, so that they are tried in every run of the tests. All are tried by `npm run simulate:defects`. */
const QUICK = ['phone-ignored', 'counts-replaced', 'one-guess-too-many']

describe('planted defects', () => {
  it('fit into the product', () => {
    const others = Object.entries(DEFECTS).flatMap(([name, { defect }]) => (fits(defect) ? [] : [name]))
    expect(others).toEqual([])
  })

  it('break each invariant in at least two ways', () => {
    const breaks = Object.values(DEFECTS).map((planted) => planted.breaks)
    const few = Object.keys(INVARIANTS).filter(
      (name) => breaks.filter((broken) => broken === name).length < 2,
    )
    expect(few).toEqual([])
  })

  it('stand in the documentation, each with its seed', () => {
    const text = readFileSync('docs/reliability.md', 'utf8')
    const missing = Object.entries(DEFECTS).flatMap(([name, { says, breaks, seed }]) =>
      text.includes(`| ${says} (\`${name}\`) | ${breaks} | ${seed} |`) ? [] : [name],
    )
    expect(missing).toEqual([])
  })

  it.each(QUICK)('%s is found at its seed', async (name) => {
    const { breaks, seed } = DEFECTS[name] ?? { seed: 0 }
    const faults: string[] = []
    await runSeeds([seed], {
      jobs: 1,
      defect: name,
      onResult: (result) => {
        faults.push(...result.faults)
        return true
      },
    })
    expect(faults.filter((fault) => fault.startsWith(`${breaks}: `))).not.toEqual([])
  })
})
