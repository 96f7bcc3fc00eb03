import { afterAll, afterEach, beforeAll } from 'vitest'
import { loadConfig } from '../../src/context/config.ts'
import { toPhoneCoreOf } from '../../src/simulator/people.ts'
import { openStandIn, type StandIn } from '../../src/simulator/stand-in.ts'
import { openVendor } from '../../src/sources/open-vendor.ts'
import type { Source } from '../../src/sources/source.ts'
import { toNeededDetails } from './identity-vendors.ts'

export const NUMBER = '12345678901'
export const PHONE = toPhoneCoreOf(NUMBER)

/** A simulated vendor whose answers about one person a test alters. To be called in a `describe`. */
export function useAlteredVendor(script: Parameters<typeof openStandIn>[0]) {
  let vendor: StandIn
  let source: Source
  beforeAll(async () => {
    vendor = await openStandIn(script)
    const { vendors } = loadConfig(vendor.settings, '')
    source = await openVendor(script.name, { vendors, allowPrivate: false, attemptMs: 20_000 })
  })
  afterEach(() => vendor.alter(undefined))
  afterAll(async () => {
    await source.close?.()
    await vendor.close()
  })
  const call = () => ({ signal: AbortSignal.timeout(60_000), reference: 'ver_test' })
  return {
    alter: (edit: Parameters<StandIn['alter']>[0]) => vendor.alter(edit),
    find: {
      nin: async () =>
        source.findNin?.(
          { nin: NUMBER, phone: PHONE, details: toNeededDetails(source, 'nin', NUMBER) },
          call(),
        ),
      bvn: async () =>
        source.findBvn?.(
          { bvn: NUMBER, phone: PHONE, details: toNeededDetails(source, 'bvn', NUMBER) },
          call(),
        ),
    },
  }
}
