import type { Settings, ValuesOf } from '../settings.ts'
import { type Source, SourceError } from './source.ts'
import { VENDORS, type Vendor, type VendorName, type VendorValues } from './vendors.ts'

export type OpenOptions = {
  readonly vendors: VendorValues
  readonly allowPrivate: boolean
  /** Shorter in tests. */
  readonly attemptMs?: number
}

/** A vendor with its connections, ready to be asked. */
export async function openVendor(
  name: VendorName,
  { vendors, allowPrivate, attemptMs }: OpenOptions,
): Promise<Source> {
  const values = vendors[name] as ValuesOf<Settings> & { readonly url: string }
  // Loaded where it is needed: a server without vendors starts sooner.
  const { openHttp } = await import('./http.ts')
  const { send, close } = openHttp({
    source: name,
    url: values.url,
    allowPrivate,
    ...(attemptMs === undefined ? {} : { attemptMs }),
  })
  const { create } = await (VENDORS[name] as unknown as Vendor).load()
  return { ...withRightPerson(create(values, { send })), close }
}

/** Whatever a vendor sends: the number in its answer is the one that was asked for, or there is no answer. */
function withRightPerson(source: Source): Source {
  const { findNin, findBvn } = source
  const wrong = () => new SourceError(source.name, 'bad_response', { trouble: 'wrong_person' })
  return {
    ...source,
    ...(findNin && {
      findNin: async (ask, call) => {
        const answer = await findNin(ask, call)
        if (answer.found && answer.record.nin_number !== ask.nin) throw wrong()
        return answer
      },
    }),
    ...(findBvn && {
      findBvn: async (ask, call) => {
        const answer = await findBvn(ask, call)
        if (answer.found && answer.record.bvn_number !== ask.bvn) throw wrong()
        return answer
      },
    }),
  }
}
