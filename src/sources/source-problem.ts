/** What can go wrong with a vendor, and what the operator should do about it. */
export const SOURCE_PROBLEMS = {
  no_such_host: 'The host name is not known. Check the URL in the settings, and the DNS of this machine.',
  no_connection:
    'No connection can be made to that address. The vendor may be down, or a firewall blocks it.',
  slow_connection:
    'The connection was not made within 2 seconds. The vendor may be down, or a firewall drops it.',
  bad_certificate: 'The TLS certificate is not valid for this host. Check the URL; do not disable the check.',
  no_tls:
    'No TLS connection could be made. The port may not speak TLS: check the URL and the port in the settings.',
  private_address:
    'The host name resolves to a private address. If that is intended, set TABBAT_SOURCES_PRIVATE=on.',
  plain_http: 'The URL is plain http, which others on the network can read. Use https.',
  cut_off: 'The vendor closed the connection before it answered.',
  too_slow: 'The vendor did not answer in time.',
  too_large: 'The answer is larger than 2 MiB. It is probably not the API of the vendor: check the URL.',
  compressed: 'The answer is compressed although plain text was requested. A proxy may have done that.',
  not_json: 'The answer is not JSON; often it is a web page. Check the URL and the path in the settings.',
  truncated: 'The connection was closed in the middle of the answer.',
  unknown_shape: 'The answer is JSON, but not in the documented format. The vendor may have changed its API.',
  contradictory: 'The answer contains a record and reports a failure at the same time. It was discarded.',
  wrong_person: 'The answer is about another number than the requested one. It was discarded.',
  no_phone:
    'The record has no phone, so it cannot be compared. If no record has one, ask the vendor for a product with phones.',
  unreadable_phone:
    'The phone of the record is masked or not a phone number, so it cannot be compared. If that is so for all records, ask the vendor to show phones to this account.',
  mixed_phones:
    'The record has a different phone and another one that cannot be read, which may be the right one. Ask the vendor to show phones to this account.',
  names_differ:
    'The vendor compared the names of the request itself: they are not those of this number, and it gives no record.',
  redirected: 'The vendor answered with a redirect, which is not followed. Check the URL in the settings.',
  rejected:
    'The vendor rejected the format of the request. Check the path, and that the account may use this product.',
  unknown_path: 'The vendor does not know this path. Check the URL and the path in the settings.',
  unknown_account:
    'The vendor does not know the app, client or merchant of these credentials. Check them in the settings.',
  unlisted:
    'The vendor answered with an unknown error. If its text can only mean that there is no such person, add it to TABBAT_<VENDOR>_NOT_FOUND. A text of any failure is refused there.',
  credentials: 'The vendor does not accept the credentials. Check them in the settings and at the vendor.',
  funds: 'The account at the vendor has no funds. Top it up.',
  too_many: 'The vendor answered that there are too many calls. Ask it for a higher limit.',
  repeated_call:
    'The vendor has got a call with this id before, and does not answer it again. Its file must send {call_id}, which differs for each call.',
  vendor_failed: 'The vendor reported an internal error. Try again later.',
  vendor_down: 'The vendor reported that its own source (NIMC or NIBSS) does not answer. Try again later.',
} as const
export type SourceProblem = keyof typeof SOURCE_PROBLEMS

/** May be about one person only: see `createPersonProblems`. */
const OF_ONE_PERSON: readonly SourceProblem[] = [
  'unknown_shape',
  'contradictory',
  'no_phone',
  'unreadable_phone',
  'mixed_phones',
  'rejected',
  'unknown_path',
  'unlisted',
]

export const mayBeOfOnePerson = (problem: SourceProblem | undefined): boolean =>
  problem !== undefined && OF_ONE_PERSON.includes(problem)
