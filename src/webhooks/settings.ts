import { duration, oneOf, orOff, type Setting, setting, wholeNumber } from '../settings/setting.ts'

/** Webhooks and their events. */
export const WEBHOOK_SETTINGS = {
  webhooksPrivate: setting(
    'TABBAT_WEBHOOKS_PRIVATE',
    'off',
    oneOf('on', 'off'),
    'Whether webhooks may go to private, loopback and link-local addresses, and over plain http. See docs/webhooks.md.',
  ),
  webhooksLog: setting(
    'TABBAT_WEBHOOKS_LOG',
    '30d',
    duration({ least: '1h', most: '400d' }),
    'How long finished deliveries of webhooks stay in their log.',
  ),
  spendAlert: setting(
    'TABBAT_SPEND_ALERT',
    '80',
    orOff(wholeNumber(1, 100)),
    'Share of the daily cap of a vendor, in percent, from which the event spend.near_cap is sent, once a day. off: never.',
  ),
} satisfies Record<string, Setting<unknown>>
