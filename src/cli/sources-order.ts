import { Argument, type Command } from 'commander'
import { readCallOrders } from '../context/source-control.ts'
import { UserError } from '../errors.ts'
import { say } from '../server/terminal.ts'
import { changeOrder, type OrderKind } from '../sources/source-order.ts'
import { withCommandContext, withStore } from './command-context.ts'
import { addHelp, EXIT_CODES } from './help.ts'

export function addSourcesOrderCommand(sources: Command): void {
  const command = sources
    .command('order')
    .description('show or change the order in which the sources are called, on all nodes')
    .addArgument(new Argument('<kind>', 'the kind of number').choices(['nin', 'bvn']))
    .argument('[names]', 'the configured sources in the new order, separated by commas')
    .option('--reset', 'use the order of the settings again')
    .action(runOrder)
  addHelp(command, {
    details:
      'The order replaces that of TABBAT_NIN_SOURCES or TABBAT_BVN_SOURCES until it is reset. Running servers follow within 5 seconds. A source that is added to the setting later is called last.',
    usesDatabase: true,
    settings: ['TABBAT_NIN_SOURCES', 'TABBAT_BVN_SOURCES'],
    exitCodes: EXIT_CODES,
    examples: {
      'sources order nin': 'the present order',
      'sources order nin registry,prembly,dojah': 'call Prembly before Dojah',
      'sources order nin --reset': 'the order of the setting',
    },
  })
}

async function runOrder(
  kind: OrderKind,
  names: string | undefined,
  { reset }: { reset?: true },
): Promise<void> {
  if (!names && !reset) {
    await withStore(async ({ store, config }) =>
      say((await readCallOrders(store, config))[kind].names.join(',')),
    )
    return
  }
  if (names && reset) throw new UserError('Give either an order or --reset.')
  await withCommandContext(async ({ store, audit, config }) => {
    const order = names?.split(',').map((name) => name.trim())
    await changeOrder({ table: store.sourceOrders, audit }, kind, config[`${kind}Sources`], order)
    const { names: now } = (await readCallOrders(store, config))[kind]
    say(`${kind.toUpperCase()}: ${now.join(', ')}. Servers follow within 5 seconds.`)
  })
}
