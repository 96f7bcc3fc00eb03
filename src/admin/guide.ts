import { hash } from 'node:crypto'
import { type AssetReader, assets as shipped } from '../assets/asset.ts'
import type { App } from '../http/app.ts'
import type { Exchange, Reply } from '../http/exchange.ts'
import { isCurrent } from '../operations/document.ts'
import {
  isKnownType,
  NO_STORE,
  readStaticFile,
  SECURITY_HEADERS,
  type StaticFile,
  toFileReply,
  toMissingReply,
} from './static-files.ts'

const FOLDER = 'guide/dist'

type GuideFile = StaticFile & { readonly etag: string }

/** Serves the documentation at /guide/. It is public text, so nobody has to sign in. Links inside it are names of files. */
export function addGuide(app: App, reader: AssetReader = shipped): void {
  // Read with the first request, so that the server starts faster.
  let files: ReadonlyMap<string, GuideFile> | undefined
  const answer = (name: string) => (exchange: Exchange) => {
    files ??= readFiles(reader)
    return toReply(exchange, files, exchange.params.name ?? name)
  }
  const common = { methods: ['GET'], operation: 'guide' }
  const headers = [...SECURITY_HEADERS, ...NO_STORE, 'location', '/guide/']
  app.route({ ...common, path: '/guide', answer: () => ({ status: 302, headers, body: '' }) })
  app.route({ ...common, path: '/guide/', answer: answer('index.html') })
  app.route({ ...common, path: '/guide/:name', answer: answer('') })
}

/** Undefined while the guide is not built. Requests are answered from this map, so no path of a request reaches the disk. */
function readFiles(reader: AssetReader): ReadonlyMap<string, GuideFile> | undefined {
  const names = reader.list(FOLDER).map((name) => name.replace(/\.gz$/, ''))
  const files = [...new Set(names)].filter(isKnownType).flatMap((name): [string, GuideFile][] => {
    const file = readStaticFile(reader, `${FOLDER}/${name}`)
    return file ? [[name, { ...file, etag: toEtag(file) }]] : []
  })
  return files.length > 0 ? new Map(files) : undefined
}

/** Weak: both forms of a file have the same one. */
const toEtag = ({ gzip, plain }: StaticFile) =>
  `W/"${hash('sha256', gzip ?? plain ?? '', 'base64url').slice(0, 27)}"`

/** `/guide/keys` is `/guide/keys.html`. A name that is unknown gets a page that says so. */
function toReply(exchange: Exchange, files: ReadonlyMap<string, GuideFile> | undefined, name: string): Reply {
  const found = files?.get(name) ?? files?.get(`${name}.html`)
  const file = found ?? files?.get('not-found.html')
  if (!file) return toMissingReply('The guide is not built. Run npm run docs in the checkout.\n')
  if (!found) return { ...toFileReply(exchange, file, NO_STORE), status: 404 }
  // The files of a version have the names of those of the last one.
  const caching = ['cache-control', 'no-cache', 'etag', file.etag]
  if (isCurrent(file.etag, exchange.headers['if-none-match']))
    return { status: 304, headers: [...caching, 'vary', 'accept-encoding', ...SECURITY_HEADERS], body: '' }
  return toFileReply(exchange, file, caching)
}
