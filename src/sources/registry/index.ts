import type { BvnRecord } from '../../contract/bvn.ts'
import type { NinRecord } from '../../contract/nin.ts'
import { toLocalPhone } from '../../contract/phone.ts'
import { type Source, SourceError } from '../source.ts'

type RegistryReader = {
  readonly findNin: (nin: string) => Promise<NinRecord | undefined>
  readonly findBvn: (bvn: string) => Promise<BvnRecord | undefined>
  readonly isEmpty: (kind: 'nin' | 'bvn') => Promise<boolean>
}

/**
 * A masked second phone may be the requested one, so neither answer is certain. The first phone is never masked: the import
 * refuses that.
 */
function requireReadable(
  { personal_info: { phone_number, phone_number_2 } }: BvnRecord,
  phone: string,
): void {
  if (!phone_number_2?.startsWith('*') || phone_number === toLocalPhone(phone)) return
  throw new SourceError('registry', 'bad_response', { problem: 'mixed_phones', fault: 'request' })
}

/** The operator's own records. An empty registry fails instead of answering "not found". */
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
