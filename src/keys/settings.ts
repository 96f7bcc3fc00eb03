import { oneOf, orOff, type Setting, setting, type ValuesOf, wholeNumber } from '../settings/setting.ts'

/** Which keys work, and how often. */
export const KEY_SETTINGS = {
  sandbox: setting(
    'TABBAT_SANDBOX',
    undefined,
    oneOf('on', 'off'),
    'Whether test keys work. off: they are refused. on: they work, and so does the public sandbox key. Unset: they work, and the public sandbox key works while the server listens on loopback.',
  ),
  rateLimit: setting(
    'TABBAT_RATE_LIMIT',
    '3000',
    orOff(wholeNumber(1, 10_000_000)),
    'Requests per minute and key, or off.',
  ),
} satisfies Record<string, Setting<unknown>>

export type KeySettings = ValuesOf<typeof KEY_SETTINGS>
