import type { BvnRecord } from '../../contract/bvn.ts'
import type { NinRecord } from '../../contract/nin.ts'
import type { Static } from '../../contract/schema.ts'
import { completeBvn, completeNin, toNumber } from '../record.ts'
import type { BvnReply, NinReply } from './wire.ts'

export const toNinRecord = ({ results }: Static<typeof NinReply>): NinRecord =>
  completeNin({ ...results, nin_number: toNumber(results.nin_number) })

export const toBvnRecord = ({ results }: Static<typeof BvnReply>): BvnRecord =>
  completeBvn({ ...results, bvn_number: toNumber(results.bvn_number), nin: toNumber(results.nin) })
