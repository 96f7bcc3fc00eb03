import type { BvnRecord } from '../../src/contract/bvn.ts'
import type { NinRecord } from '../../src/contract/nin.ts'
import type { PersonDetails } from '../../src/contract/person.ts'
import type { Settings } from '../../src/settings/setting.ts'
import type { HttpReply, HttpRequest, Source, VendorDeps } from '../../src/sources/source.ts'
import { compileAnswer } from '../../src/sources/vendor-file/answer.ts'
import { createFileSource } from '../../src/sources/vendor-file/create-source.ts'
import type { VendorFile } from '../../src/sources/vendor-file/schema.ts'
import { SHIPPED_VENDORS } from '../../src/sources/vendors.ts'

/** The parts of a question that differ from the usual ones. */
type Asked = { readonly number?: string; readonly details?: PersonDetails }

const QUESTION = { phone: '8031234567', reference: 'ver_test', callId: 'a1b2', at: new Date(0) }

const NOW = new Date('2026-11-17T06:00:00.000Z')

/** A vendor that comes with the program, and how it reads records. */
export function useShippedFile(name: string) {
  const vendor = SHIPPED_VENDORS.get(name)
  const file = vendor?.loaded?.file as VendorFile
  const read = (kind: 'nin' | 'virtual_nin' | 'bvn', body: unknown, number: string) => {
    const map = file.answers[kind] ?? file.answers.nin
    if (!map) throw new Error(`${name} has no answer to a ${kind}`)
    return compileAnswer(name, kind, map)(body, { ...QUESTION, number }).record
  }
  return {
    file,
    settings: vendor?.settings as Settings,
    create: (values: Readonly<Record<string, unknown>>, deps: VendorDeps): Source =>
      createFileSource(name, file, values, deps),
    /** Asks the vendor, with the default settings and `test-…` as credentials. Every request gets this reply. */
    ask: async (kind: 'nin' | 'bvn', reply: HttpReply, { number = '12345678901', details }: Asked = {}) => {
      const requests: HttpRequest[] = []
      const values = Object.entries(vendor?.settings ?? {}).map(
        ([key, { fallback, required, read: toValue }]) => [
          key,
          required && key !== 'url' ? `test-${key}` : fallback === undefined ? undefined : toValue(fallback),
        ],
      )
      const send = async (request: HttpRequest) => {
        requests.push(request)
        return reply
      }
      const source = createFileSource(name, file, Object.fromEntries(values), { send, now: () => NOW })
      const query = { phone: QUESTION.phone, details }
      const call = { signal: AbortSignal.timeout(60_000), reference: 'ver_test' }
      const answer =
        kind === 'nin'
          ? await source.findNin?.({ ...query, nin: number }, call)
          : await source.findBvn?.({ ...query, bvn: number }, call)
      return { answer, requests }
    },
    toNinRecord: (body: unknown, number = '12345678901') =>
      read(number.length === 11 ? 'nin' : 'virtual_nin', body, number) as NinRecord,
    toBvnRecord: (body: unknown, number = '12345678901') => read('bvn', body, number) as BvnRecord,
  }
}
