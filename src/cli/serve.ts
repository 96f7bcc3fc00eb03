import cluster from 'node:cluster'
import { type Command, Option } from 'commander'
import { type Config, loadConfig } from '../context/config.ts'
import { failWith } from '../server/terminal.ts'
import { storeError } from './command-context.ts'
import { refuseStrayDatabase } from './database.ts'
import { addHelp } from './help.ts'

type ServeOptions = { readonly worker?: string; readonly mustExist?: boolean }

export function addServeCommand(program: Command): void {
  const serve = program
    .command('serve')
    .description('start the server; settings are environment variables')
    .addOption(new Option('--worker <number>', 'set by the process that starts the workers').hideHelp())
    .addOption(new Option('--must-exist', 'set by the same process').hideHelp())
    .action(async ({ worker, mustExist = false }: ServeOptions) => {
      const config = loadConfig()
      if (cluster.isPrimary) await refuseStrayDatabase(config)
      // Loaded here: the other commands need neither, and start several times faster.
      if (config.workers > 1 && cluster.isPrimary) (await import('../server/workers.ts')).runWorkers(config)
      else await runServer(config, Number(worker ?? 1), mustExist)
    })
  addHelp(serve, {
    details:
      'It prints where it listens, which database it uses, and a warning for each default that is unsafe in production. The log goes to standard error, as JSON lines.\n\nSIGTERM stops it: it is no longer ready but still answers for TABBAT_SHUTDOWN_DELAY, then it accepts no more requests, finishes those under way within 20 seconds, and exits. Ctrl-C does the same without the delay. A second signal ends the delay, and one after that ends the server at once. The same signal twice within half a second counts once.',
    settings: [
      'TABBAT_HOST',
      'TABBAT_PORT',
      'TABBAT_ADMIN_PORT',
      'TABBAT_TLS_CERT',
      'TABBAT_TLS_KEY',
      'TABBAT_DATA_DIR',
      'TABBAT_DATABASE_URL',
      'TABBAT_ROOT_KEY',
      'TABBAT_ROOT_KEY_COMMAND',
      'TABBAT_NIN_SOURCES',
      'TABBAT_BVN_SOURCES',
      'TABBAT_WORKERS',
      'TABBAT_SHUTDOWN_DELAY',
    ],
    exitCodes: {
      0: 'stopped by a signal; every accepted request was answered',
      1: 'could not start, had to give up on requests, or lost its database',
    },
    examples: {
      serve: 'listen on http://127.0.0.1:8080, data in ./data',
      'serve --data-dir /srv/tabbat': 'use another data folder',
    },
  })
}

/** Connections and timers of what had been opened would keep a process alive for seconds that serves nothing. */
async function runServer(config: Config, workerNumber: number, mustExist: boolean): Promise<void> {
  try {
    await (await import('../server/serve.ts')).serve(workerNumber, mustExist)
  } catch (error) {
    failWith(storeError(config, error))
    process.exit()
  }
}
