import type { BvnRecord } from '../../src/contract/bvn.ts'
import type { NinRecord } from '../../src/contract/nin.ts'
import type { Settings } from '../../src/settings/setting.ts'
import type { Source, VendorDeps } from '../../src/sources/source.ts'
import { compileAnswer } from '../../src/sources/vendor-file/answer.ts'
import { createFileSource } from '../../src/sources/vendor-file/create-source.ts'
import type { VendorFile } from '../../src/sources/vendor-file/schema.ts'
import { SHIPPED_VENDORS } from '../../src/sources/vendors.ts'

const QUESTION = { phone: '8031234567', reference: 'ver_test', at: new Date(0) }

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
    toNinRecord: (body: unknown, number = '12345678901') =>
      read(number.length === 11 ? 'nin' : 'virtual_nin', body, number) as NinRecord,
    toBvnRecord: (body: unknown, number = '12345678901') => read('bvn', body, number) as BvnRecord,
  }
}
