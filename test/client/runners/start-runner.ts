import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { whyMissing } from '../../cluster/programs.ts'
import { type Command, ENVIRONMENT, whyMissingPhp } from '../../examples/languages.ts'

/** A call for a runner. Clients are made anew for each scenario. */
export type Task = {
  readonly scenario: string
  readonly client: Readonly<Record<string, unknown>>
  readonly call: string
  readonly args: Readonly<Record<string, unknown>>
}

/** The result or the error of a call, with all that could be printed of it. */
export type Described = { readonly kind: string; readonly texts?: string[]; readonly [name: string]: unknown }

export type Runner = {
  readonly run: (task: Task) => Promise<Described>
  readonly stop: () => Promise<void>
}

type Client = {
  readonly name: string
  readonly missing: string | undefined
  readonly command: Command
  /** Whether the client itself sends requests, and ends what takes too long or is too large. */
  readonly hasLimits: boolean
}

const RUNNERS = import.meta.dirname
const GUZZLE = '/usr/share/php/GuzzleHttp/autoload.php'

const python = whyMissing('python3')

export const CLIENTS: readonly Client[] = [
  {
    name: '@tabbat/client',
    missing: undefined,
    command: [process.execPath, `${RUNNERS}/runner.ts`],
    hasLimits: true,
  },
  {
    name: 'PHP, cURL',
    missing: whyMissingPhp(),
    // As in the php.ini of some servers: requests must not depend on it.
    command: ['php', '-d', 'arg_separator.output=&amp;', `${RUNNERS}/runner.php`],
    hasLimits: true,
  },
  {
    name: 'PHP, PSR-18',
    missing: whyMissingPhp() ?? (existsSync(GUZZLE) ? undefined : 'not installed: Guzzle'),
    command: ['php', `${RUNNERS}/runner.php`, GUZZLE],
    hasLimits: false,
  },
  {
    name: 'Python',
    missing: python,
    command: ['python3', `${RUNNERS}/runner.py`],
    hasLimits: true,
  },
  {
    name: 'Python, asyncio',
    missing: python,
    command: ['python3', `${RUNNERS}/runner.py`, 'async'],
    hasLimits: true,
  },
]

/** A proxy that is not there. Clients do not send keys and people to whatever the environment names. */
const PROXIES = Object.fromEntries(
  ['http_proxy', 'https_proxy', 'all_proxy', 'HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY'].map((name) => [
    name,
    'http://127.0.0.1:9',
  ]),
)

/** Starts the program of a client, which makes one call after the other. */
export function startRunner({ command: [program, ...args], hasLimits }: Client): Runner {
  const env = { ...ENVIRONMENT, ...(hasLimits && PROXIES) }
  const child = spawn(program, args, { env, stdio: ['pipe', 'pipe', 'inherit'] })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return {
    run: async (task) => {
      child.stdin.write(`${JSON.stringify(task)}\n`)
      const { done, value } = await lines.next()
      if (done) throw new Error(`The runner ended: ${program} ${args.join(' ')}`)
      return JSON.parse(value)
    },
    stop: async () => {
      const ended = once(child, 'close')
      child.stdin.end()
      await ended
    },
  }
}
