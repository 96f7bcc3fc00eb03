import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'
import { readAssetText } from '../assets/asset.ts'
import { makeFolderSync } from '../crypto/make-folder.ts'
import { UserError } from '../errors.ts'
import { dim, say, strong } from '../server/terminal.ts'
import { checkVendorFile } from '../sources/vendor-file/check.ts'
import { type NewVendor, proposeVendorFile } from '../sources/vendor-file/propose.ts'
import type { OperationName, VendorRequest } from '../sources/vendor-file/schema.ts'
import { isVendorName, SHIPPED_VENDORS } from '../sources/vendors.ts'
import { addHelp } from './help.ts'
import { readVendorsFolder } from './known-vendors.ts'
import { writeError } from './output-path.ts'
import { isInteractive, readText } from './prompt.ts'
import { readReply, readStatus } from './vendors-try.ts'

/** The questions, in their order. Each is an option, too. */
const QUESTIONS = {
  title: 'Name of the vendor, for people',
  documentation: 'Address of its documents (https://…)',
  url: 'Address of its API (https://…)',
  auth: 'Authentication: bearer, header NAME, basic, token /PATH or none',
  nin: 'Request for a NIN, such as POST /v1/nin {"id":"{number}"}; empty if there is none',
  virtualNin: 'Request for a virtual NIN; empty if there is none',
  bvn: 'Request for a BVN; empty if there is none',
  ninAnswer: 'File with a saved answer to a NIN; empty if there is none',
  bvnAnswer: 'File with a saved answer to a BVN; empty if there is none',
  notFoundAnswer: 'File with a saved answer to a number that does not exist; empty if there is none',
} as const

type Question = keyof typeof QUESTIONS
type NewOptions = Partial<Record<Question, string>> & { dir?: string; notFoundStatus?: number }

const NEEDED: readonly Question[] = ['title', 'documentation', 'url', 'auth']

export function addNewCommand(vendors: Command): void {
  const command = vendors
    .command('new')
    .description('begin a vendor file: asks a few questions, and writes the file and its schema')
    .argument('<name>', 'the vendor: small letters and digits, such as acme')
    .option('--title <text>', 'name of the vendor, for people')
    .option('--documentation <url>', 'address of its documents')
    .option('--url <url>', 'address of its API')
    .option('--auth <kind>', 'bearer, "header X-Api-Key", basic, "token /v1/token" or none')
    .option('--nin <request>', 'request for a NIN, such as "GET /v1/nin?id={number}"')
    .option('--virtual-nin <request>', 'request for a virtual NIN')
    .option('--bvn <request>', 'request for a BVN')
    .option('--nin-answer <file>', 'saved answer to a NIN')
    .option('--bvn-answer <file>', 'saved answer to a BVN')
    .option('--not-found-answer <file>', 'saved answer to a number that does not exist')
    .option('--not-found-status <status>', 'HTTP status of that answer; by default 404', readStatus)
    .option('--dir <folder>', 'folder for the file; by default TABBAT_VENDORS_DIR')
    .action(runNew)
  addHelp(command, {
    details:
      'On a terminal it asks for what is not given as an option. From a saved answer it takes the names of the members only, and proposes where the fields are by the names that other vendors have for them. It never replaces a file. See docs/vendors.md.',
    settings: ['TABBAT_VENDORS_DIR'],
    exitCodes: { 0: 'the file was written', 1: 'it was not; the reason is on standard error' },
    examples: {
      'vendors new acme': 'answer the questions',
      'vendors new acme --title Acme --documentation https://acme.example/docs --url https://api.acme.example --auth bearer --nin "GET /v1/nin/{number}"':
        'without a terminal',
    },
  })
}

async function runNew(name: string, given: NewOptions): Promise<void> {
  if (!isVendorName(name))
    throw new UserError('The name of a vendor is small letters and digits, such as acme.')
  if (SHIPPED_VENDORS.has(name))
    throw new UserError(`${name} comes with the program. To change it: tabbat vendors show ${name} --json`)
  const folder = given.dir ?? readVendorsFolder()
  if (folder === undefined) throw new UserError('Give --dir, or set TABBAT_VENDORS_DIR.')
  const path = join(folder, `${name}.json`)
  if (existsSync(path)) throw new UserError(`${path} exists. Give another name, or remove it.`)
  const { file, left } = proposeVendorFile(toVendor(await askQuestions(given)), new Date())
  const checked = checkVendorFile(file)
  write(folder, path, file)
  say(`${path} was written.`)
  const todo = [...left, ...(checked.problems ?? [])]
  if (todo.length > 0) say(`\n${strong('Left to do')}\n${todo.map((text) => `- ${text}`).join('\n')}`)
  say(dim(`\nThen: tabbat vendors validate ${path}`))
  say(dim(`      tabbat vendors try ${path} --answer saved.json`))
  say(dim(`      tabbat simulate ${path}`))
}

async function askQuestions(given: NewOptions): Promise<NewOptions> {
  if (!isInteractive()) {
    requireOptions(given)
    return given
  }
  const answers: NewOptions = { ...given }
  for (const [name, question] of Object.entries(QUESTIONS) as [Question, string][]) {
    const text = given[name] ?? (await readText(`${question}: `))
    if (text !== '') answers[name] = text
  }
  if (answers.notFoundAnswer !== undefined)
    answers.notFoundStatus ??= readStatus((await readText('HTTP status of that answer (404): ')) || '404')
  return answers
}

function requireOptions(given: NewOptions): void {
  const missing = NEEDED.filter((name) => given[name] === undefined).map((name) => `--${name}`)
  if (given.nin === undefined && given.bvn === undefined) missing.push('--nin or --bvn')
  if (missing.length > 0) throw new UserError(`Without a terminal, give ${missing.join(', ')}.`)
}

function toVendor(options: NewOptions): NewVendor {
  const { title = '', documentation = '', url = '', auth = 'none', nin, virtualNin, bvn } = options
  const readBody = (file: string, status = 200) => readReply({ answer: file, status })?.body
  const requests = { nin, virtual_nin: virtualNin, bvn } as const
  const given = Object.entries(requests).flatMap(([name, line]) =>
    line === undefined ? [] : [[name, toRequest(name as OperationName, line)] as const],
  )
  const { ninAnswer, bvnAnswer, notFoundAnswer, notFoundStatus: status = 404 } = options
  return {
    title,
    documentation,
    address: url.replace(/\/+$/, ''),
    ...toAuthentication(auth),
    requests: Object.fromEntries(given),
    answers: {
      ...(ninAnswer !== undefined && { nin: readBody(ninAnswer) }),
      ...(bvnAnswer !== undefined && { bvn: readBody(bvnAnswer) }),
    },
    ...(notFoundAnswer !== undefined && { missing: { status, body: readBody(notFoundAnswer, status) } }),
  }
}

const REQUEST = /^(GET|POST)\s+([/{][^\s?]*)(?:\?(\S+))?(?:\s+(\{.*\}))?$/is

/** POST /v1/nin {"id": "{number}"} as a request. Where the number is not named, it is sent by the usual name. */
function toRequest(operation: OperationName, line: string): VendorRequest {
  const [, method = '', path = '', query, body] = REQUEST.exec(line.trim()) ?? []
  if (path === '')
    throw new UserError(
      `The request for ${operation} must be a method, a path and optionally a body, such as POST /v1/nin {"id":"{number}"}`,
    )
  const isPost = method.toUpperCase() === 'POST'
  const usual = line.includes('{number}')
    ? {}
    : { [operation === 'virtual_nin' ? 'vnin' : operation]: '{number}' }
  const asked = { ...Object.fromEntries(new URLSearchParams(query ?? '')), ...(isPost ? {} : usual) }
  const sent = { ...parseBody(operation, body), ...(isPost ? usual : {}) }
  return {
    method: isPost ? 'POST' : 'GET',
    path,
    ...(Object.keys(asked).length > 0 && { query: asked }),
    ...(Object.keys(sent).length > 0 && { body: sent }),
  }
}

function parseBody(operation: OperationName, text = '{}'): object {
  try {
    return JSON.parse(text)
  } catch {
    throw new UserError(`The body of the request for ${operation} is not JSON.`)
  }
}

const secret = (help: string) => ({ required: true, secret: true, help })

/** The settings and the authentication of one of the usual kinds. */
function toAuthentication(text: string): Pick<NewVendor, 'settings' | 'authentication'> {
  const [kind = '', more = ''] = text.trim().split(/\s+/)
  const api_key = secret('Key of the account.')
  if (kind === 'none') return { settings: {}, authentication: {} }
  if (kind === 'bearer')
    return { settings: { api_key }, authentication: { headers: { Authorization: 'Bearer {api_key}' } } }
  if (kind === 'header' && /^[A-Za-z0-9-]+$/.test(more))
    return { settings: { api_key }, authentication: { headers: { [more]: '{api_key}' } } }
  if (kind === 'basic')
    return {
      settings: {
        user: { required: true, help: 'User of the account.' },
        password: secret('Password of the account.'),
      },
      authentication: { basic: { user: '{user}', password: '{password}' } },
    }
  if (kind === 'token' && more.startsWith('/'))
    return {
      settings: {
        client_id: { required: true, help: 'Client id of the account.' },
        secret: secret('Secret of the account.'),
      },
      authentication: {
        token: {
          $comment: 'Check the names in the request, and where the token and its lifetime in seconds are.',
          request: {
            method: 'POST',
            path: more,
            body: { client_id: '{client_id}', client_secret: '{secret}' },
          },
          token_at: 'access_token',
          lifetime_at: 'expires_in',
        },
      },
    }
  throw new UserError('Authentication is bearer, header NAME, basic, token /PATH or none.')
}

/** A list without objects stands on one line. */
const toJson = (file: object) =>
  `${JSON.stringify(file, undefined, 2).replace(/\[\n\s+([^[\]{}]*?)\n\s+\]/g, (_list, items: string) => `[${items.replace(/\n\s+/g, ' ')}]`)}\n`

/** The schema beside the file helps editors. */
function write(folder: string, path: string, file: object): void {
  const schema = join(folder, 'vendor.schema.json')
  try {
    makeFolderSync(folder, 0o777)
    writeFileSync(path, toJson(file), { flag: 'wx' })
    if (!existsSync(schema)) writeFileSync(schema, readAssetText('vendors/vendor.schema.json'))
  } catch (error) {
    throw writeError(path, error)
  }
}
