import type { BvnRecord } from '../../contract/bvn.ts'
import type { NinRecord } from '../../contract/nin.ts'
import type { Static } from '../../contract/schema.ts'
import { completeBvn, completeNin, type Given, toNumber } from '../record.ts'
import type { BvnReply, NinReply } from './wire.ts'

/** The shape is that of the contract. The picture is dropped: its URL belongs to the other server. */
export const toNinRecord = ({ data }: Static<typeof NinReply>): NinRecord =>
  completeNin({ ...data, nin_number: toNumber(data.nin_number) } as Given<NinRecord>)

export const toBvnRecord = ({ data }: Static<typeof BvnReply>): BvnRecord =>
  completeBvn({
    ...data,
    bvn_number: toNumber(data.bvn_number),
    nin: toNumber(data.nin),
  } as Given<BvnRecord>)
