import { baseUrl, naira, setting } from '../settings.ts'

/** What every vendor has: where it is, what a call costs, and how much may be spent in a day. */
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
