import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { loadConfig } from '../../src/context/config.ts'
import { CANARY, type Fault } from '../../src/simulator/faults.ts'
import { monnify } from '../../src/simulator/monnify.ts'
import { qoreid } from '../../src/simulator/qoreid.ts'
import { relay } from '../../src/simulator/relay.ts'
import { openStandIn, type StandIn } from '../../src/simulator/stand-in.ts'
import { openVendor } from '../../src/sources/open-vendor.ts'
import { type Source, SourceError } from '../../src/sources/source.ts'

/** The faults of contract.test.ts occur after a token was fetched. Here the token cannot be fetched. */
const FAULTS = {
  unauthorised: 'refused',
  throttled: 'throttled',
  failing: 'unreachable',
  malformed_json: 'bad_response',
  html_with_200: 'bad_response',
  slow_headers: 'timeout',
  dripping: 'timeout',
  truncated: 'bad_response',
  huge: 'bad_response',
  gzip_bomb: 'bad_response',
  redirect: 'bad_response',
  reset: 'unreachable',
} as const

const QUERY = { nin: '12345678901', phone: '8035678901' }
const newCall = () => ({ signal: AbortSignal.timeout(60_000), reference: 'ver_test' })

describe.each([qoreid, relay, monnify].map((script) => [script.name, script] as const))(
  '%s',
  (name, script) => {
    let vendor: StandIn
    let source: Source
    /** The same with a time limit that is meant to pass. */
    let impatient: Source
    beforeEach(async () => {
      vendor = await openStandIn(script)
      const { vendors } = loadConfig({ ...vendor.settings, TABBAT_NIN_SOURCES: name }, '')
      source = await openVendor(name, { vendors, allowPrivate: false, attemptMs: 60_000 })
      impatient = await openVendor(name, { vendors, allowPrivate: false, attemptMs: 400 })
    })
    afterEach(async () => {
      await source.close?.()
      await impatient.close?.()
      await vendor.close()
    })

    it.each(Object.entries(FAULTS))('reports %s of the token endpoint as %s', async (fault, reason) => {
      vendor.fail(fault as Fault)
      const asked = reason === 'timeout' ? impatient : source
      const error = await asked.findNin?.(QUERY, newCall()).catch((failure: unknown) => failure)
      expect(error).toBeInstanceOf(SourceError)
      expect(error).toMatchObject({ reason, sent: false })
      // A busy machine may have sent nothing before the short limit.
      expect(vendor.count()).toBeLessThanOrEqual(1)
      const output = `${String(error)} ${JSON.stringify(error)}`
      for (const secret of [CANARY, 'simulated-']) expect(output).not.toContain(secret)
    })

    it('fetches a token once, and then sends one request per look-up', async () => {
      const answers = Array.from({ length: 10 }, () => source.findNin?.(QUERY, newCall()))
      for (const answer of await Promise.all(answers)) expect(answer?.found).toBe(true)
      expect(vendor.count()).toBe(11)
      await source.findNin?.(QUERY, newCall())
      expect(vendor.count()).toBe(12)
    })

    it('recovers when the token endpoint works again', async () => {
      vendor.fail('failing')
      await expect(source.findNin?.(QUERY, newCall())).rejects.toBeInstanceOf(SourceError)
      vendor.fail(undefined)
      expect((await source.findNin?.(QUERY, newCall()))?.found).toBe(true)
    })
  },
)
