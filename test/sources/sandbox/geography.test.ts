import { describe, expect, test } from 'vitest'
import { STATES, toTown } from '../../../src/sources/sandbox/place.ts'

// The known number of areas in each state, so that a list cannot lose or gain one unnoticed.
const COUNTS = {
  Abia: 17,
  Adamawa: 21,
  'Akwa Ibom': 31,
  Anambra: 21,
  Bauchi: 20,
  Bayelsa: 8,
  Benue: 23,
  Borno: 27,
  'Cross River': 18,
  Delta: 25,
  Ebonyi: 13,
  Edo: 18,
  Ekiti: 16,
  Enugu: 17,
  FCT: 6,
  Gombe: 11,
  Imo: 27,
  Jigawa: 27,
  Kaduna: 23,
  Kano: 44,
  Katsina: 34,
  Kebbi: 21,
  Kogi: 21,
  Kwara: 16,
  Lagos: 20,
  Nasarawa: 13,
  Niger: 25,
  Ogun: 20,
  Ondo: 18,
  Osun: 30,
  Oyo: 33,
  Plateau: 17,
  Rivers: 23,
  Sokoto: 23,
  Taraba: 16,
  Yobe: 17,
  Zamfara: 14,
}

describe('the geography of Nigeria', () => {
  test('has 36 states and FCT with 774 local government areas', () => {
    expect(STATES).toHaveLength(37)
    expect(STATES.flatMap((state) => state.lgas)).toHaveLength(774)
  })

  test('has the right number of areas in every state', () => {
    expect(Object.fromEntries(STATES.map((state) => [state.name, state.lgas.length]))).toEqual(COUNTS)
  })

  test('names no area twice within a state', () => {
    for (const state of STATES) expect(new Set(state.lgas).size, state.name).toBe(state.lgas.length)
  })

  test('writes every area in title case, with single spaces', () => {
    const titleCase = /^[A-Z][a-z]+(?:'[a-z]+)?(?:[ /-][A-Z][a-z]+(?:'[a-z]+)?)*$/
    for (const lga of STATES.flatMap((state) => state.lgas)) expect(lga).toMatch(titleCase)
  })

  test('takes the town out of the name of an area', () => {
    expect(
      ['Aba North', 'Ibadan South West', 'Irepodun/Ifelodun', 'Lagos Island', 'Ikeja'].map(toTown),
    ).toEqual(['Aba', 'Ibadan', 'Irepodun', 'Lagos', 'Ikeja'])
    for (const lga of STATES.flatMap((state) => state.lgas)) expect(toTown(lga)).not.toBe('')
  })
})
