import { credential, oneOf, required, setting, urlPath } from '../../settings/setting.ts'
import { vendorSettings } from '../vendor-settings.ts'

const { url } = vendorSettings('BAXI', 'https://payments.baxipay.com.ng/api/baxipay')

/** Lists cost nothing, so there is no price and no cap. */
export const settings = {
  url,
  apiKey: required('TABBAT_BAXI_API_KEY', credential, 'API key of the account.', true),
  bundlesPath: setting(
    'TABBAT_BAXI_BUNDLES_PATH',
    '/services/databundle/bundles',
    urlPath,
    'Path of the data bundles.',
  ),
  startimes: setting(
    'TABBAT_BAXI_STARTIMES',
    'off',
    oneOf('on', 'off'),
    'on: fetches the list of StarTimes too. VTpass has it under other codes: fetch it from one of them.',
  ),
}
