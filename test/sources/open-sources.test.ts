import { afterEach, expect, it } from 'vitest'
import { loadConfig } from '../../src/context/config.ts'
import { dojah } from '../../src/simulator/dojah.ts'
import { openStandIn, type StandIn } from '../../src/simulator/stand-in.ts'
import { createReload, openSources } from '../../src/sources/open-sources.ts'
import type { SourceSettings } from '../../src/sources/settings.ts'
import { checkVendorFile } from '../../src/sources/vendor-file/check.ts'
import type { VendorFile } from '../../src/sources/vendor-file/schema.ts'
import { toFileVendor } from '../../src/sources/vendors.ts'

const QUERY = { nin: '12345678901', phone: '8035678901' }
const call = () => ({ signal: AbortSignal.timeout(60_000), reference: 'ver_test' })

let vendor: StandIn | undefined
afterEach(async () => {
  await vendor?.close()
  vendor = undefined
})

async function openWith(edit: (file: VendorFile) => VendorFile, price = '50') {
  vendor ??= await openStandIn(dojah)
  const config = loadConfig(
    { ...vendor.settings, TABBAT_NIN_SOURCES: 'dojah', TABBAT_DOJAH_PRICE: price },
    '',
  )
  const inUse = config.vendors.dojah
  if (!inUse?.vendor.loaded) throw new Error('no file')
  const changed = toFileVendor({ ...inUse.vendor.loaded, file: edit(inUse.vendor.loaded.file) })
  return { ...config, vendors: { dojah: { ...inUse, vendor: changed } } } as SourceSettings
}

it('a call that is under way when a file is read again ends with the file that it began with', async () => {
  const config = await openWith((file) => file)
  const log = { event: () => {} }
  const opened = await openSources(config, { registry: { name: 'registry' }, log })
  const { reload } = createReload(config, opened, log)
  const source = opened.get('dojah')
  vendor?.fail('dripping')
  const slow = source?.findNin?.(QUERY, call())
  await expect.poll(() => vendor?.count()).toBe(1)
  const withoutNin = ({ operations: { bvn }, answers, ...file }: VendorFile) =>
    ({ ...file, operations: { bvn }, answers: { bvn: answers.bvn } }) as VendorFile
  expect((await reload(await openWith(withoutNin))).problems).toEqual([
    'dojah can no longer answer, but TABBAT_NIN_SOURCES names it',
  ])
  expect(await reload(await openWith((file) => ({ ...file, title: 'Other' })))).toMatchObject({
    changed: ['dojah'],
  })
  expect(await reload(await openWith((file) => ({ ...file, title: 'Other' })))).toMatchObject({ changed: [] })
  vendor?.fail(undefined)
  expect(await source?.findNin?.(QUERY, call())).toMatchObject({ found: true })
  await expect(slow).rejects.toMatchObject({ reason: 'timeout' })
  await source?.close?.()
})

const withPrice = (file: VendorFile) => {
  const { nin } = file.answers
  return { ...file, answers: { ...file.answers, nin: { ...nin, price: '$.price' } } } as VendorFile
}

async function openWithPrice() {
  const config = await openWith(withPrice)
  const events: unknown[] = []
  const event = (_level: string, name: string, fields?: object) => void events.push({ name, ...fields })
  const opened = await openSources(config, { registry: { name: 'registry' }, log: { event } })
  return { opened, events, ...createReload(config, opened, { event }) }
}

it('a price of the vendor that is not in the settings is logged once', async () => {
  const { opened, events } = await openWithPrice()
  const find = () => opened.get('dojah')?.findNin?.(QUERY, call())
  for (const price of ['50.00', 50, '75.50', 75.5, 'free']) {
    vendor?.alter((body) => ({ ...(body as object), price }))
    await find()
  }
  const differs = { name: 'source_price_differs', source: 'dojah', operation: 'verify_nin' }
  expect(events).toEqual([{ ...differs, kobo: 7550, expected_kobo: 5000 }])
  await opened.get('dojah')?.close?.()
})

it('a price that was changed after the start is not what calls are counted with, so that it is logged', async () => {
  const { opened, events, reload } = await openWithPrice()
  await reload(await openWith(withPrice, '75'))
  vendor?.alter((body) => ({ ...(body as object), price: 75 }))
  await opened.get('dojah')?.findNin?.(QUERY, call())
  expect(events).toMatchObject([{ kobo: 7500, expected_kobo: 5000 }])
  await opened.get('dojah')?.close?.()
})

it('a number that a vendor does not know is not found, whatever its rule for a record asks for', async () => {
  const config = await openWith((file) => {
    const [missing, found] = file.rules.look_up ?? []
    const rule = { ...found, if: { status: [200], values: [{ at: 'entity.phone_number', is_not: [''] }] } }
    return { ...file, rules: { look_up: [missing, rule] } } as VendorFile
  })
  const log = { event: () => {} }
  const opened = await openSources(config, { registry: { name: 'registry' }, log })
  const source = opened.get('dojah')
  expect(checkVendorFile(config.vendors.dojah?.vendor.loaded?.file)).not.toHaveProperty('problems')
  expect(await source?.findNin?.(QUERY, call())).toMatchObject({ found: true })
  expect(await source?.findNin?.({ ...QUERY, nin: '99000000001' }, call())).toEqual({ found: false })
  await source?.close?.()
})
