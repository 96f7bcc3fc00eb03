import { baseUrl, credential, required, setting, urlPath, type ValuesOf } from '../../settings/setting.ts'
import { notFoundSetting, traceparentSetting, vendorSettings } from '../vendor-settings.ts'

const { price, ninPrice, bvnPrice, dailyCap, connections } = vendorSettings('RELAY', '')

export const settings = {
  url: required(
    'TABBAT_RELAY_URL',
    baseUrl,
    'Address of another server of this same API, up to the part before /kyc, for example https://verify.example.com/api/v2.',
  ),
  price,
  ninPrice,
  bvnPrice,
  dailyCap,
  connections,
  key: setting(
    'TABBAT_RELAY_KEY',
    undefined,
    credential,
    'Key for that server, if it accepts a key without a token.',
    true,
  ),
  publicKey: setting(
    'TABBAT_RELAY_PUBLIC_KEY',
    undefined,
    credential,
    'Public key, if that server requires a token.',
    true,
  ),
  secretKey: setting(
    'TABBAT_RELAY_SECRET_KEY',
    undefined,
    credential,
    'Secret key that belongs to the public key.',
    true,
  ),
  tokenPath: setting(
    'TABBAT_RELAY_TOKEN_PATH',
    '/merchant/authorization',
    urlPath,
    'Path of the token endpoint, below the URL.',
  ),
  amount: setting(
    'TABBAT_RELAY_AMOUNT',
    '0',
    credential,
    'The amount that is sent with a BVN, because that API requires one. The amount of the caller is never sent.',
  ),
  notFound: notFoundSetting('RELAY'),
  traceparent: traceparentSetting('RELAY'),
}

/** Either the key or both other keys are required. */
export const check = ({
  key,
  publicKey,
  secretKey,
}: Partial<ValuesOf<typeof settings>>): string | undefined =>
  key === undefined && (publicKey === undefined || secretKey === undefined)
    ? 'TABBAT_RELAY_KEY is required to use relay, or both TABBAT_RELAY_PUBLIC_KEY and TABBAT_RELAY_SECRET_KEY'
    : undefined
