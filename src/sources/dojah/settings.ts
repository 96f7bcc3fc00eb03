import { credential, required, setting, urlPath } from '../../settings/setting.ts'
import { notFoundSetting, vendorSettings } from '../vendor-settings.ts'

export const settings = {
  ...vendorSettings('DOJAH', 'https://api.dojah.io'),
  appId: required('TABBAT_DOJAH_APP_ID', credential, 'App id of the account.'),
  secret: required('TABBAT_DOJAH_SECRET', credential, 'Secret key of the account.', true),
  ninPath: setting(
    'TABBAT_DOJAH_NIN_PATH',
    '/api/v1/kyc/nin/advance',
    urlPath,
    'Path of the NIN look-up; /api/v1/kyc/nin for the basic product, which does not repeat the NIN.',
  ),
  bvnPath: setting(
    'TABBAT_DOJAH_BVN_PATH',
    '/api/v1/kyc/bvn/full',
    urlPath,
    'Path of the BVN look-up; /api/v1/kyc/bvn/advance for the product with addresses, enrolment and the watch list.',
  ),
  vninPath: setting(
    'TABBAT_DOJAH_VNIN_PATH',
    '/api/v1/kyc/vnin',
    urlPath,
    'Path of the look-up of a virtual NIN.',
  ),
  notFound: notFoundSetting('DOJAH'),
}
