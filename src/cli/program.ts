import { Command } from 'commander'
import { VERSION } from '../version.ts'
import { addAuditCommand } from './audit.ts'
import { addBackupCommand } from './backup.ts'
import { addCatalogueCommand } from './catalogue.ts'
import { addGenerateCommand } from './generate.ts'
import { addImportCommand } from './import.ts'
import { addKeysCommand } from './keys.ts'
import { addRegistryCommand } from './registry.ts'
import { addRestoreCommand } from './restore.ts'
import { addServeCommand } from './serve.ts'
import { addSimulateCommand } from './simulate.ts'
import { addSourcesCommand } from './sources.ts'
import { failWith } from './terminal.ts'

const program = new Command('tabbat')
  .description('A self-hosted gateway for Nigerian identity checks and bundle look-ups.')
  .version(VERSION, '-v, --version', 'print the version')
  .helpOption('-h, --help', 'print this help')
  .helpCommand('help [command]', 'print help for a command')
  .showHelpAfterError('Run with --help to see what is possible.')
  // A number given by mistake is not repeated on the screen.
  .configureOutput({ outputError: (text, write) => write(text.replace(/\d{10,}/g, '[number]')) })
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
addImportCommand(program)
addRegistryCommand(program)
addSourcesCommand(program)
addSimulateCommand(program)
addCatalogueCommand(program)
addAuditCommand(program)
addBackupCommand(program)
addRestoreCommand(program)
addGenerateCommand(program)

await program.parseAsync().catch(failWith)
