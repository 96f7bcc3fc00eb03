import { STATES, toTown } from './geography.ts'
import type { Seed } from './seed.ts'

/** Picked together, because a state, an area and a town must belong together. */
export type Place = { readonly state: string; readonly lga: string; readonly town: string }

/** Every place, by state. */
const PLACES: readonly (readonly Place[])[] = STATES.map(({ name: state, lgas }) =>
  lgas.map((lga) => ({ state, lga, town: toTown(lga) })),
)

export const pickPlace = (seed: Seed): Place => seed.pick(seed.pick(PLACES))

const STREETS = [
  'Unity Street',
  'Independence Avenue',
  'Market Road',
  'Palm Grove Close',
  'Harmony Crescent',
  'Old Railway Road',
  'Mission Street',
  'Sunrise Avenue',
  'Cocoa Lane',
  'Baobab Street',
  'Emir Road',
  'Waterworks Road',
  'Goodwill Street',
  'Iroko Crescent',
] as const

export const pickAddress = (seed: Seed, place: Place) =>
  `${seed.between(1, 199)} ${seed.pick(STREETS)}, ${place.town}`
