import { duration, type Setting, setting } from '../settings/setting.ts'

/** The daily statistics. */
export const STATISTICS_SETTINGS = {
  statisticsKeep: setting(
    'TABBAT_STATISTICS_KEEP',
    '800d',
    duration({ least: '62d', most: '36500d' }),
    'How long daily statistics are kept, for the overview and the usage of keys. The audit log is not affected.',
  ),
} satisfies Record<string, Setting<unknown>>
