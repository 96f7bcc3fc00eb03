import { duration, orOff, type Setting, setting, type ValuesOf } from '../settings/setting.ts'
import { sourceNames } from '../sources/settings.ts'
import { namesWith } from '../sources/vendors.ts'

/** Which vendors the lists of bundles are fetched from. */
export const CATALOGUE_SETTINGS = {
  catalogueSources: setting(
    'TABBAT_CATALOGUE_SOURCES',
    undefined,
    sourceNames,
    `Vendors whose lists are fetched on the schedule of TABBAT_CATALOGUE_SYNC: ${namesWith('catalogue').join(', ')}.`,
  ),
  catalogueSync: setting(
    'TABBAT_CATALOGUE_SYNC',
    'off',
    orOff(duration({ least: '1m' })),
    'How often the lists of TABBAT_CATALOGUE_SOURCES are fetched, for example 6h, at least 1m.',
  ),
} satisfies Record<string, Setting<unknown>>

export type CatalogueSettings = ValuesOf<typeof CATALOGUE_SETTINGS>
