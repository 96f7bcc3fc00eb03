import {
  addresses,
  credential,
  hostNames,
  orOff,
  plain,
  port,
  type Setting,
  setting,
} from '../settings/setting.ts'

/** TLS, proxies and the admin listener. */
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
