import { credential, required } from '../../settings/setting.ts'
import { vendorSettings } from '../vendor-settings.ts'

const { url } = vendorSettings('VTPASS', 'https://vtpass.com/api')

/** Lists cost nothing, so there is no price and no cap. */
export const settings = {
  url,
  apiKey: required('TABBAT_VTPASS_API_KEY', credential, 'API key of the account.', true),
  publicKey: required('TABBAT_VTPASS_PUBLIC_KEY', credential, 'Public key of the account.', true),
}
