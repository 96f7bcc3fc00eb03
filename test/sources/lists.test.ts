import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { readShipped } from '../../src/catalogue/versions.ts'
import { loadConfig } from '../../src/context/config.ts'
import { CANARY, type Fault, SERVER_FAILURES, SLOW } from '../../src/simulator/faults.ts'
import { openStandIn, type StandIn } from '../../src/simulator/stand-in.ts'
import { LIST_VENDORS } from '../../src/simulator/vendors.ts'
import { openVendor } from '../../src/sources/open-vendor.ts'
import { type Source, SourceError } from '../../src/sources/source.ts'

/** Tests for every vendor of lists: the common faults, over real sockets. See contract.test.ts. */
const newCall = () => ({ signal: AbortSignal.timeout(60_000), reference: 'catalogue' })

describe.each(LIST_VENDORS.map((script) => [script.name, script] as const))(
  'the lists of %s',
  (name, script) => {
    let vendor: StandIn
    let source: Source
    let impatient: Source
    beforeAll(async () => {
      vendor = await openStandIn(script)
      source = await openSource(20_000)
      impatient = await openSource(150)
    })
    const openSource = (attemptMs: number) => {
      const { vendors } = loadConfig(vendor.settings, '')
      return openVendor(name, { vendors, allowPrivate: false, attemptMs })
    }
    afterEach(() => vendor.fail(undefined))
    afterAll(async () => {
      await source.close?.()
      await impatient.close?.()
      await vendor.close()
    })
    const fetchFrom = (from: Source) => from.fetchCatalogue?.(readShipped(), newCall())

    it('are fetched', async () => {
      const { internet = [], tv = [] } = (await fetchFrom(source)) ?? {}
      expect(internet.length + tv.length).toBeGreaterThan(2)
    })

    it.each(Object.entries(SERVER_FAILURES))(
      'cannot be fetched with the fault %s: %s',
      async (fault, reason) => {
        vendor.fail(fault as Fault)
        const error = await fetchFrom(SLOW.includes(fault as Fault) ? impatient : source)?.then(
          () => undefined,
          (failed: unknown) => failed,
        )
        expect(error).toBeInstanceOf(SourceError)
        const { reason: actual, problem, message, stack } = error as SourceError
        expect([actual, problem]).toEqual([reason, expect.any(String)])
        for (const secret of [CANARY, 'simulated-']) expect(`${message} ${stack}`).not.toContain(secret)
      },
    )

    it.each(['unauthorised', 'error_in_200', 'missing_fields'] as const)(
      'cannot be fetched with the vendor’s own fault %s',
      async (fault) => {
        vendor.fail(fault)
        await expect(fetchFrom(source)).rejects.toBeInstanceOf(SourceError)
      },
    )
  },
)
