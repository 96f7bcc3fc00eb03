import cluster from 'node:cluster'
import { type Command, Option } from 'commander'
import { failWith } from '../app/terminal.ts'
import { loadConfig } from '../config/config.ts'
import { refuseStrayDatabase } from './database.ts'

export function addServeCommand(program: Command): void {
  program
    .command('serve')
    .description('start the server; settings are environment variables, see docs/configuration.md')
    // Loaded when wanted: the other commands need none of it, and start several times faster.
    .addOption(new Option('--worker <place>', 'given by the process that starts the workers').hideHelp())
    .action(async ({ worker }: { worker?: string }) => {
      const config = loadConfig()
      if (cluster.isPrimary) await refuseStrayDatabase(config)
      if (config.workers > 1 && cluster.isPrimary) (await import('../app/workers.ts')).runWorkers(config)
      else await runHere(Number(worker ?? 1))
    })
}

/** A worker that cannot start must end by itself: the line to the process that started it would keep it. */
async function runHere(place: number): Promise<void> {
  try {
    await (await import('../app/serve.ts')).run(place)
  } catch (error) {
    failWith(error)
    if (cluster.isWorker) process.exit()
  }
}
