import type { Command } from 'commander'

export function addServeCommand(program: Command): void {
  program
    .command('serve')
    .description('start the server; settings are environment variables, see docs/configuration.md')
    // Loaded when wanted: the other commands need none of it, and start several times faster.
    .action(async () => (await import('../run.ts')).run())
}
