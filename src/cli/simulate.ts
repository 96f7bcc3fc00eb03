import { Argument, type Command, InvalidArgumentError } from 'commander'
import { dim, say } from '../app/terminal.ts'
import { UserError } from '../errors.ts'
import { VENDORS, type VendorName } from '../sources/vendors.ts'

export function addSimulateCommand(program: Command): void {
  program
    .command('simulate')
    .description('run a stand-in of a vendor on this machine, to rehearse without an account')
    .addArgument(new Argument('<vendor>', 'which vendor'))
    .option('--port <port>', 'where it listens on 127.0.0.1', readPort, 9101)
    .option('--fault <fault>', 'how it fails from the start')
    .addHelpText(
      'after',
      `
It speaks the vendor's documented format. Every number is a synthetic person whose phone is 0803 and the last seven
digits of the number; numbers that begin with 99 are nobody's. While it runs, tell it how to fail:

  curl -X POST http://127.0.0.1:9101/stand-in/fault -d '{"fault":"slow_headers"}'
  curl -X POST http://127.0.0.1:9101/stand-in/fault -d '{"fault":null}'`,
    )
    .action(runSimulate)
}

const SETTING_OF = {
  nin: 'TABBAT_NIN_SOURCES',
  bvn: 'TABBAT_BVN_SOURCES',
  catalogue: 'TABBAT_CATALOGUE_SOURCES',
} as const

/** The settings that name the vendor, without which it is never asked. */
const toUse = (name: VendorName): Record<string, string> =>
  Object.fromEntries(VENDORS[name].abilities.map((ability) => [SETTING_OF[ability], name]))

function readPort(text: string): number {
  const port = Number(text)
  if (/^\d+$/.test(text) && port <= 65_535) return port
  throw new InvalidArgumentError('It must be a number from 0 to 65535.')
}

async function runSimulate(name: string, { port, fault }: { port: number; fault?: string }): Promise<void> {
  const { STAND_INS: scripts, FAULTS, isFault, openStandIn } = await import('../simulator/vendors.ts')
  const script = scripts.find((each) => each.name === name)
  if (!script)
    throw new UserError(
      `There is no stand-in of that name. Choose one of ${scripts.map((each) => each.name).join(', ')}.`,
    )
  if (fault !== undefined && !isFault(fault))
    throw new UserError(`There is no such fault. Choose one of ${FAULTS.join(', ')}.`)
  const standIn = await openStandIn(script, port).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'EADDRINUSE') throw new UserError(`Port ${port} is taken. Choose another with --port.`)
    throw error
  })
  standIn.fail(fault)
  say(`A stand-in of ${name} listens on ${standIn.url}. These lines put it in use, in another terminal:\n`)
  for (const [variable, value] of Object.entries({ ...standIn.settings, ...toUse(name as VendorName) }))
    say(`export ${variable}=${value}`)
  say(dim(`\nTry it with: tabbat sources check ${name}. Then start the server in the same terminal.`))
  say(dim(`Faults: ${FAULTS.join(', ')}`))
  say(dim('Stop it with Ctrl-C.'))
  const stop = () => void standIn.close()
  process.once('SIGINT', stop).once('SIGTERM', stop)
}
