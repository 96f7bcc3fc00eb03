import { expect, it } from 'vitest'
import { createRepeatedFailures, type FailureLine } from '../../src/telemetry/log.ts'

it('writes the first of a kind at once, and those that follow as one line with a count', () => {
  const written: (FailureLine & { count: number })[] = []
  const failures = createRepeatedFailures<FailureLine>((line) => written.push(line))
  const [a, b] = [
    { error: 'WriteError 13', at: ['at record'] },
    { error: 'WriteError 13', at: ['at beat'] },
  ]
  for (let count = 0; count < 1000; count++) failures.add(a)
  failures.add(b)
  failures.tick()
  expect(written).toEqual([
    { ...a, count: 1 },
    { ...b, count: 1 },
  ])
  failures.end()
  expect(written.slice(2)).toEqual([{ ...a, count: 999 }])
})
