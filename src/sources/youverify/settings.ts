import { credential, oneOf, required, setting, urlPath } from '../../settings/setting.ts'
import { notFoundSetting, vendorSettings } from '../vendor-settings.ts'

export const settings = {
  ...vendorSettings('YOUVERIFY', 'https://api.youverify.co'),
  token: required('TABBAT_YOUVERIFY_TOKEN', credential, 'API token of the account.', true),
  ninPath: setting(
    'TABBAT_YOUVERIFY_NIN_PATH',
    '/v2/api/identity/ng/nin',
    urlPath,
    'Path of the NIN look-up.',
  ),
  vninPath: setting(
    'TABBAT_YOUVERIFY_VNIN_PATH',
    '/v2/api/identity/ng/vnin',
    urlPath,
    'Path of the look-up of a virtual NIN.',
  ),
  bvnPath: setting(
    'TABBAT_YOUVERIFY_BVN_PATH',
    '/v2/api/identity/ng/bvn',
    urlPath,
    'Path of the BVN look-up.',
  ),
  premium: setting(
    'TABBAT_YOUVERIFY_PREMIUM',
    'off',
    oneOf('on', 'off'),
    'on: requests the premium products, which return more fields and cost more.',
  ),
  notFound: notFoundSetting('YOUVERIFY'),
}
