import { credential, InvalidSetting, required, setting, urlPath } from '../../settings/setting.ts'
import { notFoundSetting, vendorSettings } from '../vendor-settings.ts'

const pattern = (text: string) => {
  try {
    return new RegExp(text, 'i')
  } catch {
    throw new InvalidSetting('must be a regular expression such as phone.*not match')
  }
}

export const settings = {
  ...vendorSettings('BLUSALT', 'https://api.blusalt.net/v2'),
  clientId: required('TABBAT_BLUSALT_CLIENT_ID', credential, 'Client id of the account.'),
  appName: required('TABBAT_BLUSALT_APP_NAME', credential, 'App name of the account.'),
  apiKey: required('TABBAT_BLUSALT_API_KEY', credential, 'API key of the account.', true),
  publicKey: setting(
    'TABBAT_BLUSALT_PUBLIC_KEY',
    undefined,
    credential,
    'Public key, for accounts that have one.',
    true,
  ),
  ninPath: setting(
    'TABBAT_BLUSALT_NIN_PATH',
    '/IdentityVerification/NIN',
    urlPath,
    'Path of the NIN look-up.',
  ),
  bvnPath: setting(
    'TABBAT_BLUSALT_BVN_PATH',
    '/IdentityVerification/BVN',
    urlPath,
    'Path of the BVN look-up.',
  ),
  mismatch: setting(
    'TABBAT_BLUSALT_MISMATCH',
    '^(the )?(phone|phone[ _]number|number) (mismatch|(does|did) not match|is not linked)( (with |to )?(the |this |our )?(nin|bvn|records?))?[. ]*$',
    pattern,
    'Regular expression for the error text of a 400 or 422 that means that the phone does not match. A text about a format or about trying again never counts.',
  ),
  notFound: notFoundSetting('BLUSALT'),
}
