import { createBaxi } from './baxi.ts'
import { blusalt } from './blusalt.ts'
import { dojah } from './dojah.ts'
import { prembly } from './prembly.ts'
import { qoreid } from './qoreid.ts'
import { relay } from './relay.ts'
import type { VendorScript } from './stand-in.ts'
import { createVtpass } from './vtpass.ts'
import { youverify } from './youverify.ts'

/** The vendors that verify people, each as a stand-in. */
export const VERIFIERS: readonly VendorScript[] = [dojah, blusalt, prembly, youverify, qoreid, relay]

/** The vendors that sell what is listed. */
export const SHOPS: readonly VendorScript[] = [createVtpass(), createBaxi()]

/** Every stand-in that `tabbat simulate` can run. */
export const STAND_INS: readonly VendorScript[] = [...VERIFIERS, ...SHOPS]

export { FAULTS, isFault } from './faults.ts'
export { openStandIn } from './stand-in.ts'
