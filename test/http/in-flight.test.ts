import { expect, it } from 'vitest'
import { toInFlightLimits } from '../../src/http/admission.ts'
import { createInFlight } from '../../src/http/overload.ts'

/** How many requests of one key begin. */
function countAdmitted(maxInFlightPerKey: number | undefined, nodes: number): number {
  const inFlight = createInFlight(toInFlightLimits({ maxInFlight: 10, maxInFlightPerKey }, () => nodes))
  let admitted = 0
  while (inFlight.acquire('a')) admitted += 1
  inFlight.close()
  return admitted
}

it('nodes divide the limit of a key that the operator has set', () => {
  expect([1, 2, 3, 4].map((nodes) => countAdmitted(6, nodes))).toEqual([6, 3, 2, 1])
  // At least 1, however many nodes there are.
  expect(countAdmitted(2, 5)).toBe(1)
})

it('without one, the limit of a key is a part of that of the process', () => {
  expect([1, 3].map((nodes) => countAdmitted(undefined, nodes))).toEqual([8, 8])
})

it('the number of nodes is read anew', () => {
  let nodes = 2
  const inFlight = createInFlight({ all: 10, perKey: 4, countNodes: () => nodes })
  expect([inFlight.acquire('a'), inFlight.acquire('a'), inFlight.acquire('a')]).toEqual([true, true, false])
  nodes = 1
  expect(inFlight.acquire('a')).toBe(true)
  inFlight.close()
})
