import { type AssetReader, assets as shipped } from '../assets/asset.ts'
import { AppError } from '../errors.ts'
import type { App } from '../http/app.ts'
import type { Exchange, Reply } from '../http/exchange.ts'
import {
  isKnownType,
  NO_STORE,
  readStaticFile,
  SECURITY_HEADERS,
  type StaticFile,
  toFileReply,
  toMissingReply,
} from './static-files.ts'

const FOLDER = 'console/dist'

/** The name of an asset changes with its content. */
const IMMUTABLE = ['cache-control', 'public, max-age=31536000, immutable']

type Files = { readonly index: StaticFile; readonly assets: ReadonlyMap<string, StaticFile> }

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

const MISSING = 'The console is not built. Run npm run build:console in the checkout.\n'

const toPageReply = (exchange: Exchange, file: StaticFile | undefined, caching: readonly string[]): Reply =>
  file ? toFileReply(exchange, file, caching) : toMissingReply(MISSING)

/** Undefined while the page is not built. Requests are answered from this map, so no path of a request reaches the disk. */
function readFiles(reader: AssetReader): Files | undefined {
  const index = readStaticFile(reader, `${FOLDER}/index.html`)
  if (!index) return undefined
  const names = reader.list(`${FOLDER}/assets`).filter(isKnownType)
  const files = names.map((name) => [name, readStaticFile(reader, `${FOLDER}/assets/${name}`)] as const)
  return {
    index,
    assets: new Map(files.filter((entry): entry is [string, StaticFile] => entry[1] !== undefined)),
  }
}
