import type { BvnRecord } from '../../contract/bvn.ts'
import type { NinRecord } from '../../contract/nin.ts'
import { toLocalPhone } from '../../contract/phone.ts'
import { type Source, SourceError } from '../source.ts'

/** What the source needs of the registry: it knows neither the store nor the keys. */
export type RegistryReader = {
  readonly findNin: (nin: string) => Promise<NinRecord | undefined>
  readonly findBvn: (bvn: string) => Promise<BvnRecord | undefined>
  readonly isEmpty: (kind: 'nin' | 'bvn') => Promise<boolean>
}

/**
 * A second phone that was masked before it was imported may be the one that is asked for: then the record says neither yes nor
 * no. The first one is never masked: the import refuses that.
 */
function requireReadable(
  { personal_info: { phone_number, phone_number_2 } }: BvnRecord,
  phone: string,
): void {
  if (!phone_number_2?.startsWith('*') || phone_number === toLocalPhone(phone)) return
  throw new SourceError('registry', 'bad_response', { trouble: 'mixed_phones', fault: 'question' })
}

/** The operator's own records. Without any it is no source: nobody would be told "not verified" by an empty table. */
export function createRegistrySource({ findNin, findBvn, isEmpty }: RegistryReader): Source {
  const refuseEmpty = async (kind: 'nin' | 'bvn') => {
    if (await isEmpty(kind)) throw new SourceError('registry', 'unreachable')
  }
  return {
    name: 'registry',
    findNin: async ({ nin }) => {
      await refuseEmpty('nin')
      const record = await findNin(nin)
      return record ? { found: true, record } : { found: false }
    },
    findBvn: async ({ bvn, phone }) => {
      await refuseEmpty('bvn')
      const record = await findBvn(bvn)
      if (record) requireReadable(record, phone)
      return record ? { found: true, record } : { found: false }
    },
  }
}
