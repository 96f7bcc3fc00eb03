import { credential, InvalidSetting, oneOf, required, setting, urlPath } from '../../settings/setting.ts'
import { notFoundSetting, vendorSettings } from '../vendor-settings.ts'

/** The number is sent in the path only. */
const numberPath = (text: string) => {
  if (text.includes('{number}')) return urlPath(text)
  throw new InvalidSetting('must be a path with {number} in it, such as /v1/ng/identities/nin/{number}')
}

export const settings = {
  ...vendorSettings('QOREID', 'https://api.qoreid.com'),
  clientId: required('TABBAT_QOREID_CLIENT_ID', credential, 'Client id of the account.'),
  secret: required('TABBAT_QOREID_SECRET', credential, 'Secret of the account.', true),
  ninPath: setting(
    'TABBAT_QOREID_NIN_PATH',
    '/v1/ng/identities/nin/{number}',
    numberPath,
    'Path of the NIN look-up; {number} stands for the number.',
  ),
  vninPath: setting(
    'TABBAT_QOREID_VNIN_PATH',
    '/v1/ng/identities/virtual-nin/{number}',
    numberPath,
    'Path of the look-up of a virtual NIN; {number} stands for it.',
  ),
  bvnPath: setting(
    'TABBAT_QOREID_BVN_PATH',
    '/v1/ng/identities/bvn-premium/{number}',
    numberPath,
    'Path of the BVN look-up; {number} stands for the number.',
  ),
  namesOptional: setting(
    'TABBAT_QOREID_NAMES_OPTIONAL',
    'off',
    oneOf('on', 'off'),
    'on: your QoreID products accept a request without names. Otherwise QoreID is passed over for requests without first_name and last_name; bvn-premium needs first_name only.',
  ),
  notFound: notFoundSetting('QOREID'),
}
