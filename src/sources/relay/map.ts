import type { BvnRecord } from '../../contract/bvn.ts'
import type { NinRecord } from '../../contract/nin.ts'
import type { Static } from '../../contract/schema.ts'
import { completeBvn, completeNin, type Given, toNumber } from '../record.ts'
import type { BvnReply, NinReply } from './wire.ts'

/** The shape is ours already. The picture is dropped: its address is one of the other server. */
export const toNinRecord = ({ data }: Static<typeof NinReply>): NinRecord =>
  completeNin({ ...data, nin_number: toNumber(data.nin_number) } as Given<NinRecord>)

export const toBvnRecord = ({ data }: Static<typeof BvnReply>): BvnRecord =>
  completeBvn({
    ...data,
    bvn_number: toNumber(data.bvn_number),
    nin: toNumber(data.nin),
    watchlisted: toWatchlisted(data.watchlisted),
  } as Given<BvnRecord>)

/** The contract leaves its type open. An entry that is not text must not get lost: it would clear somebody. */
function toWatchlisted(value: unknown): unknown {
  if (typeof value === 'object' && value !== null) return Object.keys(value).length > 0 ? 'YES' : null
  return value === true ? 'YES' : value
}
