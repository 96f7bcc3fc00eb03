/** What can go wrong with a vendor, and what the operator should do about it, in plain words. */
export const TROUBLES = {
  no_such_host: 'The host name is not known. Check the URL in the settings, and the DNS of this machine.',
  no_connection:
    'No connection can be made to that address. The vendor may be down, or a firewall blocks it.',
  slow_connection:
    'The connection was not made within 2 seconds. The vendor may be down, or a firewall drops it.',
  bad_certificate:
    'The TLS certificate is not valid for this host. Check the URL; do not switch the check off.',
  no_tls:
    'No TLS connection could be made. The port may not speak TLS: check the URL and the port in the settings.',
  private_address:
    'The host name leads to a private address. If that is meant, set TABBAT_SOURCES_PRIVATE=on.',
  cut_off: 'The vendor closed the connection before it had answered.',
  too_slow: 'The vendor did not answer in time.',
  too_large: 'The answer is larger than 2 MiB. This is not the API that was expected: check the URL.',
  compressed: 'The answer is compressed although we asked for plain text. A proxy may stand between.',
  not_json: 'The answer is not JSON; often it is a web page. Check the URL and the path in the settings.',
  truncated: 'The answer broke off in the middle.',
  unknown_shape: 'The answer is JSON, but not of the documented shape. The vendor may have changed its API.',
  contradictory:
    'The answer holds a record and says at the same time that the look-up failed. It was thrown away.',
  wrong_person: 'The answer is about another number than the one asked for. It was thrown away.',
  no_phone:
    'The record has no phone, so it cannot be compared. If that is so for all, ask the vendor for a product with phones.',
  unreadable_phone:
    'The phone of the record is masked or is no phone number, so it cannot be compared. If that is so for all, ask the vendor to show phones to this account.',
  mixed_phones:
    'The record has a phone that differs and another one that cannot be read, which may be the right one. Ask the vendor to show phones to this account.',
  redirected: 'The vendor sent us to another address, which is not followed. Check the URL in the settings.',
  rejected:
    'The vendor rejected the form of the question. Check that the account may use this product, and the path.',
  unknown_path: 'The vendor does not know this path. Check the URL and the path in the settings.',
  unknown_account:
    'The vendor does not know the app, client or merchant of these credentials. Check them in the settings.',
  unlisted:
    'The vendor answered with an error that is on no list, so it says nothing about a person. If it means that there is no such person, add its text to TABBAT_<VENDOR>_NOT_FOUND (blusalt, dojah, qoreid, relay).',
  credentials: 'The vendor does not accept the credentials. Check them in the settings and at the vendor.',
  funds: 'The account at the vendor has no funds. Top it up.',
  too_many: 'The vendor says that we ask too often. Ask it for a higher limit.',
  vendor_failed: 'The vendor answered that it has a failure of its own. Try again later.',
  vendor_down: 'The vendor says that its own source (NIMC or NIBSS) does not answer. Try again later.',
} as const
export type Trouble = keyof typeof TROUBLES
