import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { DEMO_NOTICE } from '../contract/demo.ts'
import { makeFolderSync, toFolderProblem } from '../crypto/make-folder.ts'
import type { LiveDemo } from '../demo/demo-server.ts'
import type { Filled } from '../demo/fill.ts'
import { requireFreePorts } from '../demo/ports.ts'
import { UserError } from '../errors.ts'
import { toOwnCommand } from '../rehearsal/program.ts'
import type { Receiver } from '../rehearsal/receiver.ts'
import { dim, failWith, say, strong, toCount } from '../server/terminal.ts'
import { readEnvironment, readGiven } from '../settings/environment.ts'
import { addHelp } from './help.ts'

type Options = {
  seed: number
  days: number
  port: number
  adminPort: number
  keep?: true
  /** False: --no-serve. */
  serve: boolean
  json?: true
  /** Set in the process that fills the folder: where webhooks go. */
  fill?: readonly [url: string, brokenUrl: string]
  dataDir?: string
}

export function addDemoCommand(program: Command): void {
  const command = program
    .command('demo')
    .description('show a filled console: a month of synthetic traffic in a folder that is deleted at the end')
    .option(
      '--seed <number>',
      'the same seed plans the same month; a few outcomes may differ',
      readNumber(0, 2 ** 32 - 1),
      1,
    )
    .option('--days <number>', 'how many days', readNumber(1, 31), 30)
    .option('--port <port>', 'port of the API on 127.0.0.1; 0: any that is free', readNumber(0, 65_535), 0)
    .option('--admin-port <port>', 'port of the console on 127.0.0.1; 0: any', readNumber(0, 65_535), 0)
    .option('--keep', 'do not delete the folder at the end')
    .option('--no-serve', 'only make the data, and keep it')
    .option('--json', 'print a JSON object')
    .addOption(new Option('--fill <urls...>', 'set for the process that makes the data').hideHelp())
    .action((_options: Options, self: Command) => runDemo(self.optsWithGlobals<Options>()))
  addHelp(command, {
    details: `It makes the data with the product itself: keys, vendors by simulators, an incident, refusals, pending verifications, batches, webhooks, an erasure, backups. Then it starts a server on this machine, prints a link to its console, and lets a customer come every second or so, until Ctrl-C.\n\nWith --data-dir it uses that folder, which must be new or empty, and keeps it. It uses no setting and connects to no other machine. Every page, report and response says that it is a demonstration, also from a copy or a backup of the data. See docs/console.md.`,
    exitCodes: {
      0: 'ended by Ctrl-C, or the data is made (--no-serve)',
      1: 'it could not be run; the reason is on standard error',
      130: 'interrupted while the data was made; nothing is left',
    },
    examples: {
      demo: 'a month, deleted after Ctrl-C',
      'demo --no-serve --data-dir /tmp/tabbat-demo --json': 'only make the data, for a server of your own',
    },
  })
}

const readNumber = (least: number, most: number) => (given: string) => {
  const number = Number(given)
  if (/^\d+$/.test(given) && number >= least && number <= most) return number
  throw new InvalidArgumentError(`It must be a number from ${least} to ${most}.`)
}

async function runDemo(options: Options): Promise<void> {
  if (options.fill) return fillFolder(options, options.fill)
  refuseRealSettings()
  if (options.serve) await requireFreePorts([options.port, options.adminPort])
  const folder = openFolder(options)
  const interrupt = onInterrupt(folder)
  try {
    const { openReceiver } = await import('../rehearsal/receiver.ts')
    const receiver = await openReceiver()
    interrupt.onEnd(receiver.close)
    const startedAt = performance.now()
    if (!options.json)
      tell(`Synthetic traffic of ${toCount(options.days, 'day')} is being made. This takes a minute or more.`)
    const filled = await startFill(options, folder.path, receiver, interrupt)
    interrupt.onFilled()
    const facts = { ...toFacts(filled, options), tookMs: Math.round(performance.now() - startedAt) }
    if (!options.serve) {
      await interrupt.end()
      return report(options, folder, facts)
    }
    const { openLiveDemo } = await import('../demo/demo-server.ts')
    const live = await openLiveDemo({ ...options, dataDir: folder.path, keys: filled.keys })
    interrupt.onServed(live.close)
    report(options, folder, facts, live)
  } catch (error) {
    // What was started is being ended, and fails for that reason.
    if (interrupt.isEnding()) return
    await interrupt.end()
    if (!interrupt.isToBeKept()) folder.delete()
    else tell(`The data is complete, and kept. Look at it with: tabbat serve --data-dir ${folder.path}`)
    throw error
  }
}

/** No setting is used. This one would be mistaken for the place of the demonstration. */
function refuseRealSettings(): void {
  const given = readGiven()
  if (given.TABBAT_DATABASE_URL !== undefined)
    throw new UserError(
      'TABBAT_DATABASE_URL is set. A demonstration is never made in PostgreSQL. Run this without the setting.',
    )
  if (Object.keys(given).some((name) => /^(TABBAT|OTEL)_/.test(name) && name !== 'TABBAT_DATA_DIR'))
    tell('The settings of the environment and of .env are not used.')
}

type Folder = { readonly path: string; readonly isKept: boolean; readonly delete: () => void }

/** Only a folder that is made here is deleted. */
function openFolder({ dataDir, keep, serve }: Options): Folder {
  const path =
    dataDir === undefined ? mkdtempSync(join(tmpdir(), 'tabbat-demo-')) : openEmpty(resolve(dataDir))
  const isKept = dataDir !== undefined || keep === true || !serve
  const empty = () => {
    for (const name of readdirSync(path)) rmSync(join(path, name), { recursive: true, force: true })
  }
  return {
    path,
    isKept,
    // Of a folder that the user named, what was put into it.
    delete: () => (dataDir === undefined ? rmSync(path, { recursive: true, force: true }) : empty()),
  }
}

function openEmpty(path: string): string {
  try {
    makeFolderSync(path)
    if (readdirSync(path).length === 0) return path
  } catch (error) {
    throw new UserError(`${toFolderProblem(path, error)} Name another folder.`)
  }
  throw new UserError(`${path} is not empty. A demonstration is made in a new or empty folder only.`)
}

/** Makes the data in another process, whose clock runs through the month. */
async function startFill(
  { seed, days }: Options,
  dataDir: string,
  receiver: Receiver,
  interrupt: Interrupt,
): Promise<Filled> {
  // Every connection to this address is closed without an answer.
  receiver.setDown(true)
  const [file = '', ...own] = toOwnCommand()
  const args = ['--seed', String(seed), '--days', String(days), '--data-dir', dataDir]
  const child = spawn(file, [...own, 'demo', ...args, '--fill', receiver.copiedUrl, receiver.url], {
    env: Object.fromEntries(
      Object.entries(readEnvironment()).filter(([name]) => !/^(TABBAT|OTEL)_/.test(name)),
    ),
    // It ends when its standard input does, as when this process is killed.
    stdio: ['pipe', 'pipe', 'inherit'],
    // Ctrl-C does not reach it before us.
    detached: true,
  })
  const ended = once(child, 'close')
  interrupt.onEnd(async () => {
    child.kill('SIGKILL')
    await ended
  })
  const printed = await text(child.stdout)
  const [code] = await ended
  if (code !== 0) throw new UserError('The data could not be made.')
  return JSON.parse(printed) as Filled
}

async function fillFolder({ seed, days, dataDir }: Options, fill: readonly string[]): Promise<void> {
  const [url = '', brokenUrl = ''] = fill
  if (dataDir === undefined) throw new UserError('Give --data-dir.')
  process.stdin.on('end', () => process.exit(1)).resume()
  const { fill: fillIt } = await import('../demo/fill.ts')
  const isLive = process.stderr.isTTY === true
  const onDay = (day: number) => void process.stderr.write(isLive ? `\r… day ${day + 1} of ${days}` : '')
  const filled = await fillIt({
    dataDir: openEmpty(dataDir),
    seed,
    days,
    receiver: { url, brokenUrl },
    onDay,
  })
  if (isLive) process.stderr.write('\r\u001b[2K')
  process.stdin.removeAllListeners('end').pause()
  say(JSON.stringify(filled))
}

const toFacts = ({ keys: _, ...filled }: Filled, { seed, days }: Options) => ({ ...filled, seed, days })

type Facts = ReturnType<typeof toFacts> & { readonly tookMs: number }

function report({ json }: Options, { path, isKept }: Folder, facts: Facts, live?: LiveDemo): void {
  const { from, until, requests, verifications, person, seed, days, tookMs } = facts
  const addresses = live && {
    api: live.api,
    console: `${live.admin}/console`,
    link: live.link,
    metrics: `${live.admin}/metrics`,
  }
  if (json) {
    const made = { seed, days, from, until, requests, verifications, person, took_ms: tookMs }
    say(JSON.stringify({ demonstration: true, data_dir: path, is_kept: isKept, ...made, ...addresses }))
    return
  }
  const rows = [
    ...(addresses
      ? [
          ['console', addresses.link],
          ['reference', `${addresses.api}/docs`],
          ['metrics', addresses.metrics],
        ]
      : []),
    ['person', `NIN ${person}, synthetic: several keys asked about it (page People)`],
    ['data', `${path} (${isKept ? 'kept' : 'deleted at the end'})`],
  ]
  const made = `${verifications} verifications in ${toCount(days, 'day')}, made in ${Math.round(tookMs / 1000)} s, seed ${seed}`
  say(['', strong(DEMO_NOTICE), ''].join('\n'))
  for (const [name = '', value] of rows) say(`  ${dim(name.padEnd(13))} ${value}`)
  say(`\n  ${made}.`)
  if (live)
    say(`  The link to the console works once. Ctrl-C ends it${isKept ? '' : ' and deletes the data'}.\n`)
  else say(`  Look at it with: tabbat serve --data-dir ${path}\n`)
}

const tell = (line: string) => void process.stderr.write(`${line}\n`)

type Interrupt = {
  /** To be done at the end, the last first. */
  readonly onEnd: (close: () => Promise<void>) => void
  /** The data is complete: from now on, it is deleted only if it is not to be kept. */
  readonly onFilled: () => void
  readonly isToBeKept: () => boolean
  /** The server answers: from now on, a signal is the ordinary end. */
  readonly onServed: (close: () => Promise<void>) => void
  readonly end: () => Promise<void>
  /** A signal came. */
  readonly isEnding: () => boolean
}

/** Ends with a signal only after everything that was started is ended, and deleted unless it is kept. */
function onInterrupt(folder: Folder): Interrupt {
  const closing: (() => Promise<void>)[] = []
  let isFilled = false
  let isServed = false
  let isEnding = false
  const end = async () => {
    for (const close of closing.splice(0).toReversed()) await close()
  }
  const isToBeKept = () => isFilled && folder.isKept
  const stop = (signal: 'SIGINT' | 'SIGTERM') => {
    if (isEnding) return
    isEnding = true
    void end()
      .catch(failWith)
      .then(() => {
        if (!isToBeKept()) folder.delete()
        if (!isServed) process.exit(signal === 'SIGINT' ? 130 : 143)
        process.exit()
      })
  }
  process.on('SIGINT', stop).on('SIGTERM', stop)
  // A terminal that is gone must not end the process before it has cleaned up.
  process.on('SIGHUP', () => stop('SIGTERM'))
  return {
    onEnd: (close) => void closing.push(close),
    onFilled: () => {
      isFilled = true
    },
    isToBeKept,
    onServed: (close) => {
      closing.push(close)
      isServed = true
    },
    end,
    isEnding: () => isEnding,
  }
}
