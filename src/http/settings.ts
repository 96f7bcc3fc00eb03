import {
  addresses,
  credential,
  hostNames,
  origin,
  orOff,
  plain,
  port,
  type Setting,
  setting,
  type ValuesOf,
  wholeNumber,
} from '../settings/setting.ts'

/** The listener of the API. */
export const ADDRESS_SETTINGS = {
  host: setting('TABBAT_HOST', '127.0.0.1', plain, 'Address to listen on.'),
  port: setting('TABBAT_PORT', '8080', port, 'Port to listen on; 0 picks a free one.'),
} satisfies Record<string, Setting<unknown>>

/** The address that callers see. */
export const ORIGIN_SETTINGS = {
  publicUrl: setting(
    'TABBAT_PUBLIC_URL',
    undefined,
    origin,
    'Public URL of this server, used in picture links, /openapi.json and /docs. Unset: the address of the request, with https if TABBAT_TLS_CERT is set or a proxy in TABBAT_TRUST_PROXY says so (X-Forwarded-Proto).',
  ),
} satisfies Record<string, Setting<unknown>>

/** How many requests are worked on at the same time. */
export const LIMIT_SETTINGS = {
  maxInFlight: setting(
    'TABBAT_MAX_IN_FLIGHT',
    '1000',
    wholeNumber(1, 1_000_000),
    'Concurrent requests that the server works on. Further requests wait up to 30 ms, then get 503 overloaded. Requests that only wait count against TABBAT_MAX_WAITING instead.',
  ),
  maxWaiting: setting(
    'TABBAT_MAX_WAITING',
    '10000',
    wholeNumber(1, 1_000_000),
    'Requests that may wait for a vendor, for the answer of a pending verification (Prefer: wait) or for the body of a batch. One key may have as many as are free: half of them if no other key waits. Further requests get 503 overloaded, or 202 pending if they prefer that.',
  ),
  maxInFlightPerKey: setting(
    'TABBAT_MAX_IN_FLIGHT_PER_KEY',
    undefined,
    wholeNumber(1, 1_000_000),
    'Concurrent requests of one key, on all nodes together. Unset: four fifths of TABBAT_MAX_IN_FLIGHT, so that one busy key leaves room for others.',
  ),
  maxStrangersPerAddress: setting(
    'TABBAT_MAX_STRANGERS_PER_ADDRESS',
    '100',
    wholeNumber(1, 1_000_000),
    'Connections of one address that have not sent a valid key. A further connection closes the oldest of them that is older than three seconds and is idle or does not read its responses. Addresses in TABBAT_TRUST_PROXY are exempt.',
  ),
} satisfies Record<string, Setting<unknown>>

/** TLS, proxies and the other listeners. */
export const LISTENER_SETTINGS = {
  trustProxy: setting(
    'TABBAT_TRUST_PROXY',
    undefined,
    addresses,
    'IP addresses or networks of proxies whose X-Forwarded-For and X-Forwarded-Proto are trusted, for keys with an IP list.',
  ),
  tlsCert: setting(
    'TABBAT_TLS_CERT',
    undefined,
    plain,
    'File with the TLS certificate and its intermediate certificates, in PEM format. Both listeners then speak TLS 1.2 or later only. Replaced files are used within 10 seconds. Unset: plain HTTP.',
  ),
  tlsKey: setting(
    'TABBAT_TLS_KEY',
    undefined,
    plain,
    'File with the private key of TABBAT_TLS_CERT, in PEM format, without a passphrase.',
  ),
  adminHost: setting(
    'TABBAT_ADMIN_HOST',
    '127.0.0.1',
    plain,
    'Address of the admin listener (console, metrics). Keep it on loopback, or use TLS: see docs/console.md.',
  ),
  adminNames: setting(
    'TABBAT_ADMIN_NAMES',
    undefined,
    hostNames,
    'Host names of the admin listener, besides localhost and its address, separated by commas, for example console.example.com. Requests with another Host are refused.',
  ),
  metricsToken: setting(
    'TABBAT_METRICS_TOKEN',
    undefined,
    credential,
    'Token for /metrics, sent as Authorization: Bearer <token>. Unset: every client of the listener may read the metrics.',
    true,
  ),
  metricsPort: setting(
    'TABBAT_METRICS_PORT',
    'off',
    orOff(port),
    'Port of a listener that has /metrics and nothing else, or off. The admin listener has /metrics in any case.',
  ),
  metricsHost: setting(
    'TABBAT_METRICS_HOST',
    '127.0.0.1',
    plain,
    'Address of the listener of TABBAT_METRICS_PORT.',
  ),
  adminPort: setting('TABBAT_ADMIN_PORT', '8081', orOff(port), 'Port of the admin listener, or off.'),
} satisfies Record<string, Setting<unknown>>

export type HttpSettings = ValuesOf<
  typeof ADDRESS_SETTINGS & typeof ORIGIN_SETTINGS & typeof LIMIT_SETTINGS & typeof LISTENER_SETTINGS
>
