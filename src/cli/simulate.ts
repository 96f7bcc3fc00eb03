import { Argument, type Command, InvalidArgumentError } from 'commander'
import { UserError } from '../errors.ts'
import { dim, say } from '../server/terminal.ts'
import { type Ability, SHIPPED_VENDORS } from '../sources/vendors.ts'
import { addHelp } from './help.ts'

export function addSimulateCommand(program: Command): void {
  const command = program
    .command('simulate')
    .description('run a simulated vendor on this machine, to try Tabbat without an account')
    .addArgument(new Argument('<vendor>', 'the vendor').choices([...SHIPPED_VENDORS.keys()]))
    .option('--port <port>', 'port on 127.0.0.1', readPort, 9101)
    .option('--fault <fault>', 'fail in this way from the start; an unknown name lists the faults')
    .action(runSimulate)
  addHelp(command, {
    details:
      'It speaks the documented format of the vendor, and prints the settings that make Tabbat use it. Every number is a synthetic person whose phone is 0803 and the last seven digits of the number; for numbers that begin with 99 there is no record. Ctrl-C stops it.\n\nTo change the fault while it runs, post its name (or null for none):\n\n  curl -X POST http://127.0.0.1:9101/stand-in/fault -d \'{"fault":"slow_headers"}\'',
    exitCodes: { 0: 'stopped by a signal', 1: 'could not start; the reason is on standard error' },
    examples: {
      'simulate dojah': 'a working vendor on port 9101',
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

async function runSimulate(name: string, { port, fault }: { port: number; fault?: string }): Promise<void> {
  const { STAND_INS: scripts, FAULTS, isFault, openStandIn } = await import('../simulator/vendors.ts')
  const script = scripts.find((each) => each.name === name)
  if (!script) throw new UserError(`There is no simulated ${name}.`)
  if (fault !== undefined && !isFault(fault))
    throw new UserError(`There is no such fault. Choose one of ${FAULTS.join(', ')}.`)
  const standIn = await openStandIn(script, port).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'EADDRINUSE')
      throw new UserError(`Port ${port} is in use. Choose another with --port.`)
    throw error
  })
  standIn.fail(fault)
  say(`A simulated ${name} listens on ${standIn.url}. To use it, run these lines in another terminal:\n`)
  for (const [variable, value] of Object.entries({
    ...standIn.settings,
    ...toListSettings(name),
  }))
    say(`export ${variable}=${value}`)
  say(dim(`\nThen run: tabbat sources check ${name}. Start the server in that terminal too.`))
  say(dim(`Faults: ${FAULTS.join(', ')}`))
  say(dim('Stop it with Ctrl-C.'))
  const stop = () => void standIn.close()
  process.once('SIGINT', stop).once('SIGTERM', stop)
}
