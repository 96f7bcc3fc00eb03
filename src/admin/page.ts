import { gunzipSync } from 'node:zlib'
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

/** Serves the built web page of the console. On the data of `tabbat demo`, it says so on every page. */
export function addPage(app: App, isDemo: boolean, reader: AssetReader = shipped): void {
  // Read with the first request, so that the server starts faster.
  let files: Files | undefined
  const toFiles = () => {
    files ??= readFiles(reader, isDemo)
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
function readFiles(reader: AssetReader, isDemo: boolean): Files | undefined {
  const shown = readStaticFile(reader, `${FOLDER}/index.html`)
  const index = shown && isDemo ? toDemoPage(shown) : shown
  if (!index) return undefined
  const names = reader.list(`${FOLDER}/assets`).filter(isKnownType)
  const files = names.map((name) => [name, readStaticFile(reader, `${FOLDER}/assets/${name}`)] as const)
  return {
    index,
    assets: new Map(files.filter((entry): entry is [string, StaticFile] => entry[1] !== undefined)),
  }
}

/** console/src/main.tsx shows the notice if the page has this mark. */
function toDemoPage({ type, plain, gzip = Buffer.alloc(0) }: StaticFile): StaticFile {
  const marked = (plain ?? gunzipSync(gzip)).toString().replace('<html ', '<html data-demo ')
  return { type, plain: Buffer.from(marked), gzip: undefined }
}
