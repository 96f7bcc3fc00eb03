import { duration, orOff, type Setting, setting, type ValuesOf } from '../settings/setting.ts'

/** The search for damage. */
export const SCRUB_SETTINGS = {
  scrub: setting(
    'TABBAT_SCRUB',
    '24h',
    orOff(duration({ least: '1s', most: '24d' })),
    'Pause between two searches for damage in the database. A search takes about 2 % of one processor: see docs/reliability.md. off: damage is found only when a damaged row is read.',
  ),
} satisfies Record<string, Setting<unknown>>

/** How long records are kept. */
export const RECORD_SETTINGS = {
  recordsKeep: setting(
    'TABBAT_RECORDS_KEEP',
    'off',
    orOff(duration({ least: '1d', most: '36500d' })),
    'How long records of the registry are kept after the last import that contained them. Older ones are erased with their pictures, and the number is recorded in the audit log. off: they are kept until they are erased.',
  ),
} satisfies Record<string, Setting<unknown>>

export type RegistrySettings = ValuesOf<typeof SCRUB_SETTINGS & typeof RECORD_SETTINGS>
