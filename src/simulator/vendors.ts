import { createBaxi } from './baxi.ts'
import { blusalt } from './blusalt.ts'
import { dojah } from './dojah.ts'
import { korapay } from './korapay.ts'
import { monnify } from './monnify.ts'
import { mono } from './mono.ts'
import { prembly } from './prembly.ts'
import { qoreid } from './qoreid.ts'
import { relay } from './relay.ts'
import { seamfix } from './seamfix.ts'
import { smileid } from './smileid.ts'
import { sourceid } from './sourceid.ts'
import type { VendorScript } from './stand-in.ts'
import { createVtpass } from './vtpass.ts'
import { youverify } from './youverify.ts'

/** The vendors of identity checks. */
export const IDENTITY_VENDORS: readonly VendorScript[] = [
  dojah,
  blusalt,
  prembly,
  youverify,
  qoreid,
  relay,
  korapay,
  mono,
  monnify,
  smileid,
  seamfix,
  sourceid,
]

/** The vendors of bundle and TV lists. */
export const LIST_VENDORS: readonly VendorScript[] = [createVtpass(), createBaxi()]

/** Every stand-in that `tabbat simulate` can run. */
export const STAND_INS: readonly VendorScript[] = [...IDENTITY_VENDORS, ...LIST_VENDORS]

export { FAULTS, isFault } from './faults.ts'
export { createFileVendor } from './file-vendor.ts'
export { openStandIn } from './stand-in.ts'
