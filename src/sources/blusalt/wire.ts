import type { BvnRecord } from '../../contract/bvn.ts'
import type { NinRecord } from '../../contract/nin.ts'
import { Type } from '../../contract/schema.ts'
import { type Given, toText } from '../record.ts'
import { objectWith } from '../wire.ts'

/** {"status_code": 200, "status": "Success", "message": "…", "results": {…}}; the same without results for an error. */
type Envelope = { readonly status_code?: unknown; readonly message?: unknown } | null | undefined

/** The vendor's own status, which overrides the HTTP status. NaN when there is none: the reply is not from Blusalt. */
export const toCode = (body: unknown): number => Number(toText((body as Envelope)?.status_code) || Number.NaN)

/** Only for comparing: it may contain personal data. */
export const toMessage = (body: unknown): string => toText((body as Envelope)?.message)

/** The results have the contract's own shape. A record that is not verified is a bad response. */
const results = <T>() =>
  Type.Unsafe<Given<T> & { readonly request_reference?: unknown }>({
    type: 'object',
    properties: { verification_status: { enum: ['VERIFIED', '', null] } },
  })

export const NinReply = objectWith({ results: results<NinRecord>() })
export const BvnReply = objectWith({ results: results<BvnRecord>() })
