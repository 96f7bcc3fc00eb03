import { Command } from 'commander'
import { VERSION } from '../version.ts'
import { addGenerateCommand } from './generate.ts'
import { addKeysCommand } from './keys.ts'
import { addServeCommand } from './serve.ts'
import { failWith } from './terminal.ts'

const program = new Command('tabbat')
  .description('A self-hosted gateway for Nigerian identity checks and bundle look-ups.')
  .version(VERSION, '-v, --version', 'print the version')
  .helpOption('-h, --help', 'print this help')
  .helpCommand('help [command]', 'print help for a command')
  .showHelpAfterError('Run with --help to see what is possible.')
  .addHelpText(
    'after',
    `
Settings are environment variables (TABBAT_…) or a file .env; see docs/configuration.md.

Examples:
  tabbat serve                                    start the server
  tabbat keys create --name shop --mode live      make a key for live requests
  tabbat keys list                                see the keys there are`,
  )

addServeCommand(program)
addKeysCommand(program)
addGenerateCommand(program)

await program.parseAsync().catch(failWith)
