import { Command } from 'commander'
import { failWith } from '../app/terminal.ts'
import { useDataDir } from '../config/config.ts'
import { VERSION } from '../version.ts'

const program = new Command('tabbat')
  .description('A self-hosted gateway for Nigerian identity checks and bundle look-ups.')
  .version(VERSION, '-v, --version', 'print the version')
  .helpOption('-h, --help', 'print this help')
  .helpCommand('help [command]', 'print help for a command')
  .option('--data-dir <folder>', 'folder of the database and of the root key file; wins over TABBAT_DATA_DIR')
  .configureHelp({ showGlobalOptions: true })
  .hook('preAction', (_program, command) => {
    const { dataDir } = command.optsWithGlobals<{ dataDir?: string }>()
    if (dataDir !== undefined) useDataDir(dataDir)
  })
  .showHelpAfterError('Run with --help to see what is possible.')
  // A number given by mistake is not repeated on the screen.
  .configureOutput({ outputError: (text, write) => write(text.replace(/\d{10,}/g, '[number]')) })
  .addHelpText(
    'after',
    `
Settings are environment variables (TABBAT_…) or a file .env; see docs/configuration.md. Every command that uses the
database says which one on standard error.

Examples:
  tabbat serve                                    start the server
  tabbat keys create --name shop --mode live      make a key for live requests
  tabbat keys list                                see the keys there are`,
  )

/** In the order of the help. Only the command that is asked for is loaded: a server starts sooner without the others. */
const COMMANDS: Readonly<Record<string, () => Promise<(program: Command) => void>>> = {
  serve: async () => (await import('./serve.ts')).addServeCommand,
  keys: async () => (await import('./keys.ts')).addKeysCommand,
  import: async () => (await import('./import.ts')).addImportCommand,
  registry: async () => (await import('./registry.ts')).addRegistryCommand,
  sources: async () => (await import('./sources.ts')).addSourcesCommand,
  simulate: async () => (await import('./simulate.ts')).addSimulateCommand,
  catalogue: async () => (await import('./catalogue.ts')).addCatalogueCommand,
  admin: async () => (await import('./admin.ts')).addAdminCommand,
  audit: async () => (await import('./audit.ts')).addAuditCommand,
  backup: async () => (await import('./backup.ts')).addBackupCommand,
  restore: async () => (await import('./restore.ts')).addRestoreCommand,
  completion: async () => (await import('./completion.ts')).createAddCompletionCommand(loadOthers),
  generate: async () => (await import('./generate.ts')).addGenerateCommand,
}

/** All commands but the one that was loaded because it was named. */
async function loadOthers(loaded: Command): Promise<void> {
  const known = new Set(loaded.commands.map((command) => command.name()))
  for (const [name, load] of Object.entries(COMMANDS)) if (!known.has(name)) (await load())(loaded)
}

export async function runProgram(): Promise<void> {
  const first = process.argv[2] ?? ''
  const named = Object.hasOwn(COMMANDS, first) ? COMMANDS[first] : undefined
  for (const load of named ? [named] : Object.values(COMMANDS)) (await load())(program)
  await program.parseAsync().catch(failWith)
}
