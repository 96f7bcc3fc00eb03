import { dirname, resolve } from 'node:path'
import { Argument, type Command, InvalidArgumentError } from 'commander'
import { UserError } from '../errors.ts'
import { dim, say, strong } from '../server/terminal.ts'
import type { VendorScript } from '../simulator/stand-in.ts'
import { type Ability, SHIPPED_VENDORS } from '../sources/vendors.ts'
import { addHelp } from './help.ts'
import { requireVendorFile } from './known-vendors.ts'

export function addSimulateCommand(program: Command): void {
  const command = program
    .command('simulate')
    .description('run a simulated vendor on this machine, to try Tabbat without an account')
    .addArgument(
      new Argument('<vendor>', 'the vendor, or a vendor file')
        .choices([...SHIPPED_VENDORS.keys()])
        .argParser((text: string) => text),
    )
    .option('--port <port>', 'port on 127.0.0.1', readPort, 9101)
    .option('--fault <fault>', 'fail in this way from the start; an unknown name lists the faults')
    .action(runSimulate)
  addHelp(command, {
    details:
      'It speaks the documented format of the vendor, and prints the settings that make Tabbat use it. Every number is a synthetic person whose phone is 0803 and the last seven digits of the number; for numbers that begin with 99 there is no record. Ctrl-C stops it.\n\nA vendor file is simulated as it says: each request is compared with the file, and refused if it differs. That shows whether the file works with Tabbat, and nothing about the real vendor.\n\nTo change the fault while it runs, post its name (or null for none):\n\n  curl -X POST http://127.0.0.1:9101/stand-in/fault -d \'{"fault":"slow_headers"}\'',
    exitCodes: { 0: 'stopped by a signal', 1: 'could not start; the reason is on standard error' },
    examples: {
      'simulate dojah': 'a working vendor on port 9101',
      'simulate vendors.d/acme.json': 'a vendor of your own, by its file',
      'simulate prembly --port 9102 --fault slow_headers': 'a vendor that is too slow',
    },
  })
}

const SETTING_OF = {
  nin: 'TABBAT_NIN_SOURCES',
  bvn: 'TABBAT_BVN_SOURCES',
  catalogue: 'TABBAT_CATALOGUE_SOURCES',
} as const satisfies Record<Ability, string>

/** The settings that put the vendor in the lists of sources. */
const toListSettings = (name: string): Record<string, string> =>
  Object.fromEntries(
    (SHIPPED_VENDORS.get(name)?.abilities ?? []).map((ability) => [SETTING_OF[ability], name]),
  )

function readPort(text: string): number {
  const port = Number(text)
  if (/^\d+$/.test(text) && port <= 65_535) return port
  throw new InvalidArgumentError('It must be a number from 0 to 65535.')
}

type SimulateOptions = { port: number; fault?: string }

async function runSimulate(nameOrFile: string, { port, fault }: SimulateOptions): Promise<void> {
  const { FAULTS, isFault, openStandIn } = await import('../simulator/vendors.ts')
  const { script, settings, isFromFile } = await findScript(nameOrFile)
  const faults = [...FAULTS, ...Object.keys(script.replies ?? {})]
  if (fault !== undefined && !faults.includes(fault))
    throw new UserError(`There is no such fault. Choose one of ${faults.join(', ')}.`)
  const standIn = await openStandIn(script, port).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'EADDRINUSE')
      throw new UserError(`Port ${port} is in use. Choose another with --port.`)
    throw error
  })
  if (isFault(fault)) standIn.fail(fault)
  else if (fault !== undefined) standIn.answerWith(script.replies?.[fault])
  const { name } = script
  say(`A simulated ${name} listens on ${standIn.url}. To use it, run these lines in another terminal:\n`)
  for (const [variable, value] of Object.entries({ ...standIn.settings, ...settings }))
    say(`export ${variable}=${toWord(value)}`)
  if (isFromFile)
    say(`\n${strong('It answers as the file says, so it proves nothing about the real vendor.')}`)
  say(dim(`\nThen run: tabbat sources check ${name}. Start the server in that terminal too.`))
  say(dim(`Faults: ${faults.join(', ')}`))
  say(dim('Stop it with Ctrl-C.'))
  const stop = () => void standIn.close()
  process.once('SIGINT', stop).once('SIGTERM', stop)
}

/** For a shell. */
const toWord = (value: string) =>
  /^[\w./:,@-]+$/.test(value) ? value : `'${value.replaceAll("'", `'\\''`)}'`

type Simulated = {
  readonly script: VendorScript
  /** What must be set besides the settings of the vendor. */
  readonly settings: Readonly<Record<string, string>>
  readonly isFromFile: boolean
}

/** A vendor that comes with the program was written from its documents; any other follows from its file. */
async function findScript(nameOrFile: string): Promise<Simulated> {
  const { STAND_INS, createFileVendor } = await import('../simulator/vendors.ts')
  const script = STAND_INS.find(({ name }) => name === nameOrFile)
  if (script) return { script, settings: toListSettings(script.name), isFromFile: false }
  const { name, file, path } = requireVendorFile(nameOrFile)
  const onRefusal = (reason: string) => say(`A request was refused: ${reason}.`)
  const abilities = (['nin', 'bvn'] as const).filter((kind) => file.operations[kind])
  const lists = Object.fromEntries(abilities.map((ability) => [SETTING_OF[ability], name]))
  const folder = path === undefined ? {} : { TABBAT_VENDORS_DIR: dirname(resolve(path)) }
  return {
    script: createFileVendor(name, file, { onRefusal }),
    settings: { ...folder, ...lists },
    isFromFile: true,
  }
}
