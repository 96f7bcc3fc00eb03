import { existsSync } from 'node:fs'
import { Command } from 'commander'
import { UserError } from '../errors.ts'
import { failWith, print, say, toHarmless } from '../server/terminal.ts'
import { useDataDir } from '../settings/environment.ts'
import { VERSION } from '../version.ts'
import { addHelp } from './help.ts'

export async function runProgram(): Promise<void> {
  // What is said besides the result is not worth the result.
  process.stderr.on('error', () => {})
  const first = process.argv[2] ?? ''
  const named = Object.hasOwn(COMMANDS, first) ? COMMANDS[first] : undefined
  const isVersion = first === '-v' || first === '--version'
  const program = named || isVersion ? createProgram() : await createFullProgram()
  if (named) (await named())(program)
  await program.parseAsync().catch(failWith)
}

/** The program with every command loaded. */
export async function createFullProgram(): Promise<Command> {
  const program = createProgram()
  for (const load of Object.values(COMMANDS)) (await load())(program)
  return program
}

/** In the order of the help. Only the named command is loaded, so that a server starts sooner. */
const COMMANDS: Readonly<Record<string, () => Promise<(program: Command) => void>>> = {
  serve: async () => (await import('./serve.ts')).addServeCommand,
  init: async () => (await import('./init.ts')).addInitCommand,
  demo: async () => (await import('./demo.ts')).addDemoCommand,
  keys: async () => (await import('./keys.ts')).addKeysCommand,
  'verify-file': async () => (await import('./verify-file.ts')).addVerifyFileCommand,
  import: async () => (await import('./import.ts')).addImportCommand,
  registry: async () => (await import('./registry.ts')).addRegistryCommand,
  person: async () => (await import('./person.ts')).addPersonCommand,
  consents: async () => (await import('./consents.ts')).addConsentsCommand,
  unlock: async () => (await import('./unlock.ts')).addUnlockCommand,
  sources: async () => (await import('./sources.ts')).addSourcesCommand,
  vendors: async () => (await import('./vendors.ts')).addVendorsCommand,
  notices: async () => (await import('./notices.ts')).addNoticesCommand,
  webhooks: async () => (await import('./webhooks.ts')).addWebhooksCommand,
  simulate: async () => (await import('./simulate.ts')).addSimulateCommand,
  catalogue: async () => (await import('./catalogue.ts')).addCatalogueCommand,
  admin: async () => (await import('./admin.ts')).addAdminCommand,
  tokens: async () => (await import('./tokens.ts')).addTokensCommand,
  audit: async () => (await import('./audit.ts')).addAuditCommand,
  backup: async () => (await import('./backup.ts')).addBackupCommand,
  restore: async () => (await import('./restore.ts')).addRestoreCommand,
  requests: async () => (await import('./requests.ts')).addRequestsCommand,
  nodes: async () => (await import('./nodes.ts')).addNodesCommand,
  rehearse: async () => (await import('./rehearse.ts')).addRehearseCommand,
  doctor: async () => (await import('./doctor.ts')).addDoctorCommand,
  completion: async () => (await import('./completion.ts')).createAddCompletionCommand(createFullProgram),
  help: async () => (await import('./help-command.ts')).createAddHelpCommand(createFullProgram),
  generate: async () => addGenerateCommand,
}

function createProgram(): Command {
  const program = new Command('tabbat')
    .description('A self-hosted gateway for Nigerian identity checks and bundle look-ups.')
    .version(VERSION, '-v, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .helpCommand(false)
    .option('--data-dir <folder>', 'folder of the database and the root key; overrides TABBAT_DATA_DIR')
    .configureHelp({ showGlobalOptions: true })
    .hook('preAction', (_program, command) => {
      const { dataDir } = command.optsWithGlobals<{ dataDir?: string }>()
      if (dataDir !== undefined) useDataDir(dataDir)
    })
    .showHelpAfterError('Run the command with --help to see its arguments and options.')
    .configureOutput({
      writeOut: print,
      outputError: (text, write) => write(toHarmless(text)),
    })
  return addHelp(program, {
    details:
      'Settings are environment variables (TABBAT_…) or lines of a file .env in the current folder. docs/configuration.md lists them.\n\nEvery command that opens the database prints which one on standard error. A command whose standard output cannot be written, as on a full disk, ends with exit code 2; one whose reader goes away (| head) ends without a word.',
    examples: {
      serve: 'start the server',
      'keys create --name shop --mode live': 'create a key for live requests',
      'help keys create': 'print all about one command',
    },
  })
}

function addGenerateCommand(program: Command): void {
  program
    .command('generate', { hidden: true })
    .description('write the generated files of this checkout: OpenAPI, docs/configuration.md, .env.example')
    .action(async () => {
      if (!existsSync('src/main.ts')) throw new UserError('This folder is not a checkout of Tabbat.')
      const { generate } = await import('../server/generate.ts')
      const { toCommandsPage } = await import('./commands-page.ts')
      const commands = toCommandsPage(await createFullProgram())
      for (const name of await generate('.', { 'docs/commands.md': commands })) say(`wrote ${name}`)
    })
}
