import type { BvnRecord } from '../../contract/bvn.ts'
import type { NinRecord } from '../../contract/nin.ts'
import type { Answer, BvnQuery, NinQuery, Source } from '../source.ts'
import { toBvnRecord } from './bvn-record.ts'
import { toNinRecord } from './nin-record.ts'
import { BVN_SCENARIOS, NIN_SCENARIOS } from './scenarios.ts'

/** Synthetic people, derived from their numbers: every well-formed number is a person, except for the scenarios. */
export const createSandboxSource = (): Source => ({
  name: 'sandbox',
  findNin: async (query) => findNin(query),
  findBvn: async (query) => findBvn(query),
  acceptsVirtualNin: true,
  local: { findNin, findBvn },
})

const findNin = ({ nin, phone }: NinQuery): Answer<NinRecord> =>
  NIN_SCENARIOS[nin]?.(nin, phone) ?? { found: true, record: toNinRecord(nin, phone) }

const findBvn = ({ bvn, phone }: BvnQuery): Answer<BvnRecord> =>
  BVN_SCENARIOS[bvn]?.(bvn, phone) ?? { found: true, record: toBvnRecord(bvn, phone) }
