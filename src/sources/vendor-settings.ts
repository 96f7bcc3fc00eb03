import { baseUrl, InvalidSetting, naira, oneOf, setting, wholeNumber } from '../settings/setting.ts'

/** The settings of every vendor: URL, price of a call, daily spend cap, connections. */
export const vendorSettings = (vendor: string, url: string) => ({
  url: setting(
    `TABBAT_${vendor}_URL`,
    url,
    baseUrl,
    'Address of the API; set it to use the vendor’s sandbox.',
  ),
  price: setting(
    `TABBAT_${vendor}_PRICE`,
    '0',
    naira,
    'Price of one look-up in naira, for the displayed spend and the daily cap.',
  ),
  dailyCap: setting(
    `TABBAT_${vendor}_DAILY_CAP`,
    undefined,
    naira,
    'Maximum spend in naira per day (Lagos time). Above it, the next source is called. Unset: no cap.',
  ),
  connections: setting(
    `TABBAT_${vendor}_CONNECTIONS`,
    '512',
    wholeNumber(1, 10_000),
    'Calls under way at the same time, at most, of each process. A request that waits for longer than a second goes to the next source, or gets 503.',
  ),
})

/** For vendors that accept the W3C header `traceparent`. Other vendors get no trace ids. */
export const traceparentSetting = (vendor: string) =>
  setting(
    `TABBAT_${vendor}_TRACEPARENT`,
    'off',
    oneOf('on', 'off'),
    'Whether calls carry the header traceparent, so that the traces of that server join ours: see docs/observability.md.',
  )

/** For every vendor that verifies people: "no such person" may be a text. */
export const notFoundSetting = (vendor: string) =>
  setting(
    `TABBAT_${vendor}_NOT_FOUND`,
    undefined,
    phrases,
    'More error texts that mean that there is no such person: complete texts, separated by |. Any other error is a failure.',
  )

function phrases(text: string): readonly string[] {
  const list = text.split('|').map((phrase) => phrase.trim())
  if (list.every((phrase) => phrase !== '')) return list
  throw new InvalidSetting('must be texts separated by |, such as Record not found|No such NIN')
}
