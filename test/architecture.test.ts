import { globSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { describe, expect, it } from 'vitest'

/** The folders of src/, from the top down. A folder imports only folders below it in this list, types included. */
const ROOMS = [
  'main',
  'cli',
  'demo',
  'rehearsal',
  'server',
  'admin',
  'reference',
  'operations',
  'health',
  'context',
  'http',
  'simulator',
  'people',
  'batches',
  'verification',
  'notices',
  'webhooks',
  'registry',
  'catalogue',
  'backup',
  'accounts',
  'keys',
  'sources',
  'requests',
  'statistics',
  'audit',
  'ledger',
  'database',
  'telemetry',
  'settings',
  'crypto',
  'contract',
  'errors',
  'version',
  'assets',
]

type Import = { readonly from: string; readonly to: string }

const files = globSync('src/**/*.ts')
const textOf = (file: string) => readFileSync(file, 'utf8')

/** Every relative import of a file: at run time, type-only, dynamic, or re-exported. */
const importsOf = (file: string): Import[] =>
  [...textOf(file).matchAll(/(?:\bfrom|\bimport)\s*\(?\s*['"](\.[^'"]+)['"]/g)].map(([, target = '']) => ({
    from: file,
    to: join(dirname(file), target),
  }))

const allImports = files.flatMap(importsOf)
const CLIENT = 'packages/client/src/index.ts'
const imports = allImports.filter(({ to }) => to !== CLIENT)

/** What is bundled into the product. */
const PACKAGES = [
  '@opentelemetry/api',
  '@opentelemetry/core',
  '@opentelemetry/exporter-metrics-otlp-proto',
  '@opentelemetry/exporter-trace-otlp-proto',
  '@opentelemetry/resources',
  '@opentelemetry/sdk-metrics',
  '@opentelemetry/sdk-trace',
  '@simplewebauthn/server',
  '@simplewebauthn/server/helpers',
  'ajv',
  'commander',
  'find-my-way',
  'nodemailer',
  'openid-client',
  'pg',
  'sonic-boom',
  'typebox',
  'undici',
]

const roomOf = (file: string) => relative('src', file).split('/')[0]?.replace(/\.ts$/, '') ?? ''

const print = ({ from, to }: Import) => `${from} imports ${to}`

describe('the folders of src/', () => {
  it('are all in the list', () => {
    expect(files.filter((file) => !ROOMS.includes(roomOf(file)))).toEqual([])
  })

  it('import only folders below them, types included', () => {
    const upwards = imports.filter(({ from, to }) => {
      const [above, below] = [ROOMS.indexOf(roomOf(from)), ROOMS.indexOf(roomOf(to))]
      return roomOf(from) !== roomOf(to) && (below === -1 || above >= below)
    })
    expect(upwards.map(print)).toEqual([])
  })

  it('have specific names', () => {
    const nameless = /(^|\/)(utils?|helpers?|common|types|dto|services|controllers|managers)(\/|\.ts$)/
    expect(files.filter((file) => nameless.test(file))).toEqual([])
  })
})

describe('test/', () => {
  /** The contract suite of test/sources runs against the simulator. */
  const WITHOUT_A_FOLDER = ['simulator', 'assets']
  const folders = (root: string) => globSync(`${root}/*/`).map((folder) => relative(root, folder))

  it('has a folder for every folder of src/', () => {
    const missing = folders('src').filter((room) => !folders('test').includes(room))
    expect(missing.filter((room) => !WITHOUT_A_FOLDER.includes(room))).toEqual([])
  })

  it('holds all tests', () => {
    expect(files.filter((file) => file.endsWith('.test.ts'))).toEqual([])
  })
})

describe('a file with a single user', () => {
  /** The lists of entries: an operation, a command, a route file, a vendor, a simulated vendor, an exercise has its list as its only user. */
  const LISTS = [
    'src/operations/operations.ts',
    'src/cli/program.ts',
    'src/admin/routes.ts',
    'src/sources/vendors.ts',
    'src/simulator/vendors.ts',
    'src/cli/rehearse.ts',
  ]
  const users = Map.groupBy(allImports, ({ to }) => to)
  const single = files.flatMap((file) => {
    const [only, ...others] = new Set(users.get(file)?.map(({ from }) => from))
    return only !== undefined && others.length === 0 ? [{ file, only }] : []
  })

  it('is an entry, or one of few: a helper belongs to its user', () => {
    const helpers = single.filter(({ only }) => !LISTS.includes(only))
    expect(helpers.length / files.length).toBeLessThanOrEqual(0.1)
  })

  it('is rare', () => {
    expect(single.length / files.length).toBeLessThanOrEqual(0.24)
  })
})

it('only the command line uses the client', () => {
  const users = allImports.filter(({ to }) => to === CLIENT).map(({ from }) => from)
  expect(users.filter((file) => roomOf(file) !== 'cli')).toEqual([])
})

/** The imports between files that import themselves through others. */
function findCircular(among: readonly string[], all: readonly Import[]): Import[] {
  const targets = Map.groupBy(all, ({ from }) => from)
  const reaches = (start: string) => {
    const seen = new Set<string>()
    const queue = [start]
    for (let file = queue.pop(); file !== undefined; file = queue.pop())
      for (const { to } of targets.get(file) ?? [])
        if (!seen.has(to)) {
          seen.add(to)
          queue.push(to)
        }
    return seen
  }
  const circular = among.filter((file) => reaches(file).has(file))
  return all.filter(({ from, to }) => circular.includes(from) && circular.includes(to))
}

it('no file imports itself through other files', () => {
  expect(findCircular(files, imports).map(print)).toEqual([])
})

describe('the folders of console/src/', () => {
  /** From the top down. A page does not import another page; components/ is for what two pages or more use. */
  const ORDER = ['main', 'shell', 'navigation', 'pages', 'components', 'the rest']
  const consoleFiles = globSync('console/src/**/*.{ts,tsx}')
  const consoleImports = consoleFiles
    .flatMap(importsOf)
    .filter(({ to }) => to.startsWith('console/src/') && /\.tsx?$/.test(to))
  const partOf = (file: string) => relative('console/src', file).split('/')
  const placeOf = (file: string) => {
    const place = ORDER.indexOf(partOf(file)[0]?.replace(/\.tsx?$/, '') ?? '')
    return place === -1 ? ORDER.length - 1 : place
  }

  it('import only folders below them, and pages no other page', () => {
    const isPage = (file: string) => partOf(file)[0] === 'pages'
    const wrong = consoleImports.filter(
      ({ from, to }) =>
        placeOf(from) > placeOf(to) || (isPage(from) && isPage(to) && partOf(from)[1] !== partOf(to)[1]),
    )
    expect(consoleImports.length).toBeGreaterThan(100)
    expect(wrong.map(print)).toEqual([])
  })

  it('have no file that imports itself through other files', () => {
    expect(findCircular(consoleFiles, consoleImports).map(print)).toEqual([])
  })

  it('have few files with a single user, besides those that are loaded on demand', () => {
    const isLoaded = (file: string) =>
      consoleFiles.some((from) =>
        [...textOf(from).matchAll(/\bimport\('([^']+)'\)/g)].some(
          ([, target = '']) => join(dirname(from), target) === file,
        ),
      )
    const usersOf = (file: string) =>
      new Set(consoleImports.filter(({ to }) => to === file).map(({ from }) => from))
    const single = consoleFiles.filter((file) => usersOf(file).size === 1 && !isLoaded(file))
    expect(single.length, single.join('\n')).toBeLessThanOrEqual(consoleFiles.length * 0.15)
  })

  it('have in components/ only what two pages or more use, or what stands around them', () => {
    const reach = (file: string): string[] =>
      consoleImports
        .filter(({ to }) => to === file)
        .flatMap(({ from }) => {
          const [folder = '', page = ''] = partOf(from)
          return folder === 'components' ? reach(from) : folder === 'pages' ? [page] : [folder]
        })
    const lonely = consoleFiles.filter(
      (file) => partOf(file)[0] === 'components' && new Set(reach(file)).size < 2,
    )
    expect(lonely).toEqual([])
  })
})

it('production code imports only the packages of the list', () => {
  const others = files.flatMap((file) =>
    [...textOf(file).matchAll(/(?:^import|^\} from|\bimport\()[^'\n]*'([a-z@][^'\n]*)'/gm)]
      .map(([, name = '']) => name)
      .filter((name) => !name.startsWith('node:') && !PACKAGES.includes(name))
      .map((name) => `${file} imports ${name}`),
  )
  expect(others).toEqual([])
})

it('the libraries of OpenTelemetry are loaded on demand', () => {
  const users = files.filter((file) => textOf(file).includes("from '@opentelemetry/"))
  expect(users.length).toBeGreaterThan(1)
  const atStart = files
    .filter((file) => !users.includes(file))
    .flatMap((file) =>
      [...textOf(file).matchAll(/^import (?!type )[^;]*?from '(\.[^']+)'/gm)].map(([, target = '']) => ({
        from: file,
        to: join(dirname(file), target),
      })),
    )
  expect(atStart.filter(({ to }) => users.includes(to)).map(print)).toEqual([])
})

it('the libraries of sign-in are loaded on demand', () => {
  const atStart = files.flatMap((file) =>
    [
      ...textOf(file).matchAll(
        /^import (?!type )(?:\{[^}]*\}|[^'{]*) from '(@simplewebauthn[^']*|openid-client)'/gm,
      ),
    ].map(([, name]) => `${file} imports ${name}`),
  )
  expect(atStart).toEqual([])
})

describe('every boundary has one place that crosses it', () => {
  it.each([
    ['reads the environment', /process\.env\b/, /^settings\//],
    // An import of these also loads what a server without TLS, vendors and webhooks does not need: up to 60 ms and 13 MB each.
    [
      'imports node:http or node:tls, other than types',
      /^import (?!type )[^']* from 'node:(http|https|tls)'/m,
      /^simulator\/stand-in\.ts$/,
    ],
    // samples.ts writes calls for the readers of the reference.
    [
      'calls out',
      /\bfetch\(|import\('undici'\)|^import (?!type )[^\n]*from 'undici'/m,
      /^(sources\/http|reference\/docs-page\/samples)\.ts$/,
    ],
    ['uses pg', /from 'pg'/, /^database\//],
    ['makes folders', /\bmkdir(?:Sync)?\(/, /^crypto\/make-folder\.ts$/],
  ])('only one place %s', (_what, sign, allowed) => {
    const crossing = files.filter((file) => sign.test(textOf(file))).map((file) => relative('src', file))
    expect(crossing.filter((file) => !allowed.test(file))).toEqual([])
  })
})

it('only files that are given a database speak SQL', () => {
  const sql = /\b(SELECT|INSERT INTO|UPDATE|DELETE FROM)\b.*(\$1|FROM|VALUES)/
  const speaking = files.filter((file) => sql.test(textOf(file)))
  const strangers = speaking.filter(
    (file) =>
      !/^src\/(database|ledger)\//.test(file) &&
      !/\/database\/(database|define-table)\.ts'/.test(textOf(file)),
  )
  expect(strangers).toEqual([])
})

describe('exports', () => {
  const sources = globSync(['{src,test,bench,build,console,guide}/**/*.{ts,tsx}', 'vitest.config.ts']).filter(
    (file) => !/node_modules|\/dist\//.test(file),
  )
  const isTest = (file: string) => /^(test|bench)\/|\.test\./.test(file)
  const filesWith = new Map<string, string[]>()
  for (const file of sources)
    for (const name of new Set(textOf(file).match(/[\w$]+/g))) {
      const others = filesWith.get(name)
      if (others) others.push(file)
      else filesWith.set(name, [file])
    }
  const exportsOf = (file: string) =>
    [...textOf(file).matchAll(/^export (?:async )?(?:const|function\*?|type|class) ([\w$]+)/gm)].map(
      ([, name = '']) => name,
    )
  const usersOf = (file: string, name: string) =>
    (filesWith.get(name) ?? []).filter((other) => other !== file)

  it('are used by another file', () => {
    const unused = sources.flatMap((file) =>
      exportsOf(file)
        .filter((name) => usersOf(file, name).length === 0)
        .map((name) => `${file} exports ${name}`),
    )
    expect(unused).toEqual([])
  })

  it('of production code are used by production code', () => {
    // The simulator has stand-ins for tests.
    const forTests = files
      .filter((file) => !file.startsWith('src/simulator/'))
      .flatMap((file) =>
        exportsOf(file)
          .filter((name) => textOf(file).split(new RegExp(`\\b${name}\\b`)).length === 2)
          .filter((name) => usersOf(file, name).every(isTest))
          .map((name) => `${file} exports ${name}`),
      )
    expect(forTests).toEqual([])
  })
})
