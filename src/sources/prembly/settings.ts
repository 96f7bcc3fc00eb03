import { credential, required, setting, urlPath } from '../../settings/setting.ts'
import { notFoundSetting, vendorSettings } from '../vendor-settings.ts'

export const settings = {
  ...vendorSettings('PREMBLY', 'https://api.prembly.com/verification'),
  apiKey: required('TABBAT_PREMBLY_API_KEY', credential, 'API key (x-api-key) of the account.', true),
  appId: setting('TABBAT_PREMBLY_APP_ID', undefined, credential, 'App id, for accounts that have one.'),
  ninPath: setting(
    'TABBAT_PREMBLY_NIN_PATH',
    '/vnin',
    urlPath,
    'Path of the NIN look-up; /nin_wo_face in older versions of the API.',
  ),
  ninField: setting(
    'TABBAT_PREMBLY_NIN_FIELD',
    'number_nin',
    credential,
    'Name of the field for the NIN; number with /nin_wo_face.',
  ),
  vninPath: setting(
    'TABBAT_PREMBLY_VNIN_PATH',
    '/vnin',
    urlPath,
    'Path of the look-up of a virtual NIN, which is sent as number_nin.',
  ),
  bvnPath: setting('TABBAT_PREMBLY_BVN_PATH', '/bvn', urlPath, 'Path of the BVN look-up.'),
  notFound: notFoundSetting('PREMBLY'),
}
