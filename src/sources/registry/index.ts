import type { BvnRecord } from '../../contract/bvn.ts'
import type { NinRecord } from '../../contract/nin.ts'
import { type Source, SourceError } from '../source.ts'

/** What the source needs of the registry: it knows neither the store nor the keys. */
export type RegistryReader = {
  readonly findNin: (nin: string) => Promise<NinRecord | undefined>
  readonly findBvn: (bvn: string) => Promise<BvnRecord | undefined>
  readonly isEmpty: (kind: 'nin' | 'bvn') => Promise<boolean>
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
    findBvn: async ({ bvn }) => {
      await refuseEmpty('bvn')
      const record = await findBvn(bvn)
      return record ? { found: true, record } : { found: false }
    },
  }
}
