import { baseUrl, InvalidSetting, naira, setting } from '../settings/setting.ts'

/** The settings of every vendor: URL, price of a call, daily spend cap. */
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
    'What one look-up costs, in naira: for the spend shown, and for the daily cap.',
  ),
  dailyCap: setting(
    `TABBAT_${vendor}_DAILY_CAP`,
    undefined,
    naira,
    'Most naira to spend in a day (Lagos time); then the next source is asked. Unset: no cap.',
  ),
})

/** For vendors that say "no such person" by a text and not by a code. */
export const notFoundSetting = (vendor: string) =>
  setting(
    `TABBAT_${vendor}_NOT_FOUND`,
    undefined,
    phrases,
    'More texts by which the vendor says that there is no such person, whole and separated by |. Any other error is a failure.',
  )

function phrases(text: string): readonly string[] {
  const list = text.split('|').map((phrase) => phrase.trim())
  if (list.every((phrase) => phrase !== '')) return list
  throw new InvalidSetting('must be texts separated by |, such as Record not found|No such NIN')
}
