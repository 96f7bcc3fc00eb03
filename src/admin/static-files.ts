import { extname } from 'node:path'
import { gunzipSync } from 'node:zlib'
import type { AssetReader } from '../assets/asset.ts'
import type { Exchange, Reply } from '../http/exchange.ts'

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
  '.txt': 'text/plain; charset=utf-8',
}

/** Content from this server only, no inline script, no frames, no browser features. */
export const SECURITY_HEADERS = [
  'content-security-policy',
  [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "font-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'x-content-type-options',
  'nosniff',
  'referrer-policy',
  'no-referrer',
  'cross-origin-opener-policy',
  'same-origin',
  'cross-origin-resource-policy',
  'same-origin',
  'permissions-policy',
  'camera=(), display-capture=(), geolocation=(), hid=(), microphone=(), midi=(), payment=(), serial=(), usb=()',
]

export const NO_STORE = ['cache-control', 'no-store']

/** A file of a web page. In the bundle, some files are there in gzip only. */
export type StaticFile = {
  readonly type: string
  readonly plain: Buffer | undefined
  readonly gzip: Buffer | undefined
}

export const isKnownType = (name: string) => extname(name) in TYPES

export function readStaticFile(reader: AssetReader, path: string): StaticFile | undefined {
  const [plain, gzip] = [reader.read(path), reader.read(`${path}.gz`)]
  if (!plain && !gzip) return undefined
  return { type: TYPES[extname(path)] ?? 'application/octet-stream', plain, gzip }
}

export function toFileReply({ headers }: Exchange, file: StaticFile, caching: readonly string[]): Reply {
  const { type, plain, gzip } = file
  const all = ['content-type', type, 'vary', 'accept-encoding', ...caching, ...SECURITY_HEADERS]
  if (gzip && takesGzip(headers['accept-encoding']))
    return { status: 200, headers: [...all, 'content-encoding', 'gzip'], body: gzip }
  return { status: 200, headers: all, body: plain ?? gunzipSync(gzip ?? '') }
}

/** For a checkout in which the files were not built. */
export const toMissingReply = (text: string): Reply => ({
  status: 503,
  headers: ['content-type', 'text/plain; charset=utf-8', ...NO_STORE, ...SECURITY_HEADERS],
  body: text,
})

/** `gzip;q=0` means no gzip. */
const takesGzip = (header: string | string[] | undefined) =>
  String(header ?? '')
    .split(',')
    .some((part) => /^\s*(gzip|\*)\s*(;\s*q=(?!0(\.0*)?\s*$).*)?$/i.test(part))
