import type { Settings, ValuesOf } from '../settings/setting.ts'
import { settings as baxi } from './baxi/settings.ts'
import { settings as blusalt } from './blusalt/settings.ts'
import { settings as dojah } from './dojah/settings.ts'
import { settings as prembly } from './prembly/settings.ts'
import { settings as qoreid } from './qoreid/settings.ts'
import { check as checkRelay, settings as relay } from './relay/settings.ts'
import type { CreateSource } from './source.ts'
import { settings as vtpass } from './vtpass/settings.ts'
import { settings as youverify } from './youverify/settings.ts'

type Ability = 'nin' | 'bvn' | 'catalogue'

export type Vendor<S extends Settings = Settings> = {
  readonly abilities: readonly Ability[]
  readonly settings: S
  /** Loaded on demand: a server without vendors starts sooner. */
  readonly load: () => Promise<{ readonly create: CreateSource<S> }>
  /** What is wrong with the combination of settings, in one sentence. */
  readonly check?: ((values: Partial<ValuesOf<S>>) => string | undefined) | undefined
}

const vendor = <S extends Settings>(
  abilities: readonly Ability[],
  settings: S,
  load: Vendor<S>['load'],
  check?: Vendor<S>['check'],
): Vendor<S> => ({ abilities, settings, load, check })

const IDENTITY = ['nin', 'bvn'] as const

/** Every vendor. A new one is a folder and a line here. */
export const VENDORS = {
  blusalt: vendor(IDENTITY, blusalt, () => import('./blusalt/index.ts')),
  dojah: vendor(IDENTITY, dojah, () => import('./dojah/index.ts')),
  prembly: vendor(IDENTITY, prembly, () => import('./prembly/index.ts')),
  youverify: vendor(IDENTITY, youverify, () => import('./youverify/index.ts')),
  qoreid: vendor(IDENTITY, qoreid, () => import('./qoreid/index.ts')),
  relay: vendor([...IDENTITY, 'catalogue'], relay, () => import('./relay/index.ts'), checkRelay),
  vtpass: vendor(['catalogue'], vtpass, () => import('./vtpass/index.ts')),
  baxi: vendor(['catalogue'], baxi, () => import('./baxi/index.ts')),
} as const

export type VendorName = keyof typeof VENDORS
export const VENDOR_NAMES = Object.keys(VENDORS) as VendorName[]

export const namesWith = (ability: Ability) =>
  VENDOR_NAMES.filter((name) => (VENDORS[name].abilities as readonly Ability[]).includes(ability))

/** The settings of each vendor that is in use. */
export type VendorValues = { readonly [Name in VendorName]?: ValuesOf<(typeof VENDORS)[Name]['settings']> }
