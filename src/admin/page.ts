import { extname } from 'node:path'
import { type AssetReader, assets as shipped } from '../assets/asset.ts'
import { AppError } from '../errors.ts'
import type { App } from '../http/app.ts'
import type { Exchange, Reply } from '../http/exchange.ts'

const FOLDER = 'console/dist'

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
}

/** Content from this server only, no inline script, no frames, no browser features. */
const SECURITY_HEADERS = [
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

const NO_STORE = ['cache-control', 'no-store']
/** The name of an asset changes with its content. */
const IMMUTABLE = ['cache-control', 'public, max-age=31536000, immutable']

type File = { readonly type: string; readonly plain: Buffer; readonly gzip: Buffer | undefined }
type Files = { readonly index: File; readonly assets: ReadonlyMap<string, File> }

/** Serves the built web page of the console. */
export function addPage(app: App, reader: AssetReader = shipped): void {
  // Read with the first request, so that the server starts faster.
  let files: Files | undefined
  const toFiles = () => {
    files ??= readFiles(reader)
    return files
  }
  const toIndex = (exchange: Exchange) => toPageReply(exchange, toFiles()?.index, NO_STORE)
  const common = { methods: ['GET'], operation: 'console' }
  app.route({
    ...common,
    path: '/',
    answer: () => ({
      status: 302,
      headers: [...SECURITY_HEADERS, ...NO_STORE, 'location', '/console'],
      body: '',
    }),
  })
  app.route({ ...common, path: '/console', answer: toIndex })
  app.route({ ...common, path: '/console/', answer: toIndex })
  // The page says that there is no such page.
  app.route({
    ...common,
    path: '/console/*',
    answer: (exchange) => {
      const reply = toIndex(exchange)
      return reply.status === 200 ? { ...reply, status: 404 } : reply
    },
  })
  app.route({
    ...common,
    path: '/console/assets/:name',
    answer: (exchange) => {
      const built = toFiles()
      const file = built?.assets.get(exchange.params.name ?? '')
      if (built && !file) throw new AppError('not_found')
      return toPageReply(exchange, file, IMMUTABLE)
    },
  })
}

function toPageReply({ headers }: Exchange, file: File | undefined, caching: readonly string[]): Reply {
  if (!file)
    return {
      status: 503,
      headers: ['content-type', 'text/plain; charset=utf-8', ...NO_STORE, ...SECURITY_HEADERS],
      body: 'The console is not built. Run npm run build:console in the checkout.\n',
    }
  const all = ['content-type', file.type, 'vary', 'accept-encoding', ...caching, ...SECURITY_HEADERS]
  return file.gzip && takesGzip(headers['accept-encoding'])
    ? { status: 200, headers: [...all, 'content-encoding', 'gzip'], body: file.gzip }
    : { status: 200, headers: all, body: file.plain }
}

/** `gzip;q=0` means no gzip. */
const takesGzip = (header: string | string[] | undefined) =>
  String(header ?? '')
    .split(',')
    .some((part) => /^\s*(gzip|\*)\s*(;\s*q=(?!0(\.0*)?\s*$).*)?$/i.test(part))

/** Undefined while the page is not built. Requests are answered from this map, so no path of a request reaches the disk. */
function readFiles(reader: AssetReader): Files | undefined {
  const index = readOne(reader, `${FOLDER}/index.html`)
  if (!index) return undefined
  const names = reader.list(`${FOLDER}/assets`).filter((name) => extname(name) in TYPES)
  const files = names.map((name) => [name, readOne(reader, `${FOLDER}/assets/${name}`)] as const)
  return { index, assets: new Map(files.filter((entry): entry is [string, File] => entry[1] !== undefined)) }
}

function readOne(reader: AssetReader, path: string): File | undefined {
  const plain = reader.read(path)
  const type = TYPES[extname(path)] ?? 'application/octet-stream'
  return plain && { type, plain, gzip: reader.read(`${path}.gz`) }
}
