import type { Source } from '../source.ts'
import { toBvnRecord } from './bvn-record.ts'
import { toNinRecord } from './nin-record.ts'
import { BVN_SCENARIOS, NIN_SCENARIOS } from './scenarios.ts'

/** Synthetic people, derived from their numbers. Every well-formed number has a record, except the scenarios. */
export const createSandboxSource = (): Source => ({
  name: 'sandbox',
  findNin: async ({ nin, phone }) =>
    NIN_SCENARIOS[nin]?.(nin, phone) ?? { found: true, record: toNinRecord(nin, phone) },
  findBvn: async ({ bvn, phone }) =>
    BVN_SCENARIOS[bvn]?.(bvn, phone) ?? { found: true, record: toBvnRecord(bvn, phone) },
})
