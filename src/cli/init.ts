import { existsSync, realpathSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { isSea } from 'node:sea'
import { fileURLToPath } from 'node:url'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { inviteAccount } from '../accounts/accounts.ts'
import { isCheckout } from '../assets/asset.ts'
import { type Config, loadConfig, OF_CALLERS, SETTINGS } from '../context/config.ts'
import { toDatabaseText } from '../context/database-text.ts'
import { openStore } from '../context/store.ts'
import { SCOPES, type Scope } from '../contract/scope.ts'
import { createSecretFile } from '../crypto/secret-file.ts'
import { toWord } from '../crypto/trusted-path.ts'
import { OlderSchema } from '../database/migrate.ts'
import { SQLITE_FILE } from '../database/open-database.ts'
import { hasDatabase } from '../database/sqlite-user-error.ts'
import { UserError } from '../errors.ts'
import { toListenerUrl } from '../http/address.ts'
import { createKey, type NewKey } from '../keys/manage.ts'
import { hasPublicSandboxKey, toSandboxCall } from '../keys/sandbox-key.ts'
import { dim, failWith, say, sayJson, strong, warn } from '../server/terminal.ts'
import { toEnvBlock } from '../settings/env-file.ts'
import { mergeGiven, readEnvironment, withoutEmpty } from '../settings/environment.ts'
import { type InvalidSetting, type Setting, wholeNumber } from '../settings/setting.ts'
import { readVendors } from '../sources/vendor-reader.ts'
import type { Vendor } from '../sources/vendors.ts'
import { VERSION } from '../version.ts'
import { toAccountDeps, toConsoleUrl, toInvitationLink } from './admin.ts'
import { type CommandContext, withCommandContext } from './command-context.ts'
import { addHelp } from './help.ts'
import {
  type Answers,
  ask,
  ENV_FILE,
  INIT_MODES,
  type InitOptions,
  MissingAnswer,
  readAnswers,
  refuseContradiction,
} from './init-answers.ts'
import { readKnownVendors } from './known-vendors.ts'
import { writeError } from './output-path.ts'

const KEY_NAME = 'app'

export function addInitCommand(program: Command): void {
  const command = program
    .command('init')
    .description(
      'set up a new installation in this folder: settings, root key, database, first key, invitation',
    )
    .addOption(
      new Option('--mode <mode>', 'what answers: synthetic people, your own records, or a vendor').choices(
        Object.keys(INIT_MODES),
      ),
    )
    .option('--vendor <name>', 'the vendor, as "tabbat vendors list" shows it; implies --mode vendor')
    .option('--port <port>', 'port of the API (default: 8080)', readPort)
    .option('--admin-port <port>', 'port of the console (default: 8081)', readPort)
    .option('--yes', 'ask nothing: what is not given has its default; required without a terminal')
    .option('--json', 'print a JSON object')
    .action(async (_options: object, self: Command) => {
      try {
        await runInit(self.optsWithGlobals<InitOptions>())
      } catch (error) {
        failWith(error)
        if (error instanceof MissingAnswer) process.exitCode = 2
      }
    })
  addHelp(command, {
    details:
      'It writes the file .env with a comment for each setting, creates the data folder with the root key and the database, all of them readable by this user only, creates a first API key and a link for the first account of the console, and prints what to do next.\n\nCredentials of a vendor are asked without showing them, and may be left empty: fill them in later, "tabbat doctor" says which are missing. They are no options, because other users of this machine can read command lines. With --yes they stay empty; the environment may have them.\n\nNothing that exists is overwritten. If a file .env exists, its settings are used as they are. A database with a key or an account is set up: the command changes nothing and says so. After an error or a crash, run the same command again.',
    usesDatabase: true,
    settings: [
      'TABBAT_PORT',
      'TABBAT_ADMIN_PORT',
      'TABBAT_NIN_SOURCES',
      'TABBAT_BVN_SOURCES',
      'TABBAT_SANDBOX',
    ],
    exitCodes: {
      0: 'done',
      1: 'not done; the reason is on standard error',
      2: 'there is no terminal to ask on, and --yes or an answer is missing',
    },
    examples: {
      init: 'ask, then set up this folder',
      'init --yes': 'a trial, without questions',
      'init --yes --mode records --data-dir /srv/tabbat --port 9000 --json': 'for a script',
      'init --mode vendor --vendor dojah': 'ask for the credentials of the vendor only',
    },
  })
}

function readPort(text: string): string {
  try {
    return String(wholeNumber(1, 65_535)(text))
  } catch (error) {
    throw new InvalidArgumentError(`It ${(error as InvalidSetting).message}.`)
  }
}

async function runInit(options: InitOptions): Promise<void> {
  // Whatever is created here is for this user only.
  process.umask(0o077)
  refuseContradiction(options)
  const isNew = !existsSync(ENV_FILE)
  const answers = isNew ? await ask(options) : readAnswers(options)
  const config = loadSetupConfig(answers)
  await refuseSetUp(config)
  if (isNew) writeEnvFile(answers)
  else process.stderr.write(`${resolve(ENV_FILE)} exists. It is not changed, and its settings are used.\n`)
  try {
    await withCommandContext((context) => finish(context, answers, options.json), { config })
  } catch (error) {
    process.stderr.write(`The settings are in ${resolve(ENV_FILE)}. Run "tabbat init" again to go on.\n`)
    throw error
  }
}

/** The settings without sources: the credentials of a vendor may still be missing. */
function loadSetupConfig({ values }: Answers): Config {
  const given = mergeGiven(Object.fromEntries(values), readEnvironment())
  const { ninSources, bvnSources, catalogueSources, catalogueSync } = SETTINGS
  const left = new Set([ninSources, bvnSources, catalogueSources, catalogueSync].map(({ env }) => env))
  for (const { settings } of readKnownVendors().vendors.values())
    for (const { env } of Object.values(settings)) left.add(env).add(`${env}_FILE`)
  return loadConfig(Object.fromEntries(Object.entries(given).filter(([env]) => !left.has(env))), '')
}

/** Only a database without keys and accounts is set up further. It is not changed before that is known. */
async function refuseSetUp(config: Config): Promise<void> {
  const { dataDir, databaseUrl } = config
  if (databaseUrl === undefined && !hasDatabase(join(dataDir, SQLITE_FILE))) return
  if (await hasKeyOrAccount(config))
    throw new UserError(
      `${toDatabaseText(config)} is set up already: it has a key or an account. Nothing was changed. Another key: tabbat keys create. Another link for the console: tabbat admin invite. A new installation needs another folder.`,
    )
}

async function hasKeyOrAccount({ dataDir, databaseUrl }: Config): Promise<boolean> {
  try {
    const store = await openStore({
      dataDir,
      databaseUrl,
      mustExist: true,
      isReading: true,
      keepsSchema: true,
    })
    try {
      return (await store.keys.list()).length > 0 || (await store.accounts.hasAny())
    } finally {
      await store.close()
    }
  } catch (error) {
    if (error instanceof OlderSchema && error.schema === 0) return false
    throw error
  }
}

function writeEnvFile({ vendor, values }: Answers): void {
  const entries: Setting<unknown>[] = [...Object.values(vendor?.settings ?? {}), ...Object.values(SETTINGS)]
  const written = [...values.keys()].flatMap((env) => entries.find((entry) => entry.env === env) ?? [])
  const text = [
    `# Settings of Tabbat, written by "tabbat init" (${VERSION}). The commands that run in this folder read them, and so does the server.\n# A variable of the environment wins. This file may hold credentials: only its owner may read it.\n`,
    ...written.map((entry) => toEnvBlock(entry, values.get(entry.env))),
    '# All other settings, with their defaults. Remove the # to change one.\n',
    ...entries.filter((entry) => !written.includes(entry)).map((entry) => toEnvBlock(entry)),
  ].join('\n')
  let isCreated: boolean
  try {
    isCreated = createSecretFile(ENV_FILE, text)
  } catch (error) {
    throw writeError(resolve(ENV_FILE), error)
  }
  if (!isCreated)
    throw new UserError(`${resolve(ENV_FILE)} was created by another program meanwhile. It was not changed.`)
}

type Done = {
  readonly key: NewKey
  readonly link: string | undefined
  readonly rootKey: string | undefined
  readonly missing: readonly string[]
  readonly next: readonly Step[]
}

/** A command to paste, and what it does. */
type Step = { readonly command: string; readonly about: string }

async function finish(context: CommandContext, answers: Answers, json: true | undefined): Promise<void> {
  const { config, rootKeys } = context
  const { mode, vendor } = answers
  const scopes = SCOPES.filter((scope) => !vendor || isAnswered(scope, vendor))
  const keyMode = mode === 'trial' ? 'test' : 'live'
  const key = await createKey(context, { name: KEY_NAME, mode: keyMode, scopes, expiresAt: undefined })
  const done = {
    key,
    link: await createLink(context),
    rootKey: rootKeys.origin === 'file' ? resolve(rootKeys.where) : undefined,
    missing: listMissing(answers, config),
    next: listSteps(answers, config, key.text),
  }
  if (json) sayJson(context, toJson(answers, config, done))
  else sayDone(context, done)
  warn('the key and the link are shown only once. The link works once, for 24 hours.')
  if (done.rootKey !== undefined)
    warn(`without ${done.rootKey} the data cannot be read. Keep a copy elsewhere.`)
  warnOfEnvironment(answers)
  if (process.getuid?.() === 0)
    warn(
      'these files belong to root. A server that runs as another user cannot read them: run this command as that user.',
    )
}

/** Without a source, every person would be "not verified". */
const isAnswered = (scope: Scope, { abilities }: Vendor) =>
  scope === 'catalogue:read' || abilities.some((ability) => scope === `kyc:${ability}`)

/** Undefined where there is no console, or nobody knows its port. */
async function createLink(context: CommandContext): Promise<string | undefined> {
  const { adminPort } = context.config
  if (adminPort === 'off' || adminPort === 0) return undefined
  return toInvitationLink(toConsoleUrl(context.config), await inviteAccount(toAccountDeps(context), 'owner'))
}

const toJson = ({ mode, vendor }: Answers, config: Config, { key, link, rootKey, missing, next }: Done) => ({
  mode,
  vendor: vendor?.name ?? null,
  env_file: resolve(ENV_FILE),
  data_dir: resolve(config.dataDir),
  root_key_file: rootKey ?? null,
  key: key.text,
  key_id: key.row.id,
  link: link ?? null,
  missing,
  next,
})

function sayDone({ config, rootKeys }: CommandContext, { key, link, rootKey, missing, next }: Done): void {
  const facts = [
    ['settings', resolve(ENV_FILE)],
    ['data', toDatabaseText(config)],
    ['root key', rootKey ?? rootKeys.where],
    [`${key.row.mode} key`, key.text],
    ...(link === undefined ? [] : [['console', link]]),
  ]
  say(`\n${strong('Tabbat is set up.')}\n`)
  for (const [name = '', value = ''] of facts) say(`  ${dim(name.padEnd(9))} ${value}`)
  if (missing.length > 0) say(`\nThe server cannot start before these are filled in: ${missing.join(', ')}.`)
  say('\nNext, in this folder:\n')
  for (const { command, about } of next) say(`  # ${about}\n  ${command}\n`)
}

/** The same check as at the start of the server: it may need one of several settings. */
function listMissing({ vendor, values }: Answers, config: Config): string[] {
  if (!vendor) return []
  const given = withoutEmpty(mergeGiven(Object.fromEntries(values), readEnvironment()))
  const problems: string[] = []
  readVendors(new Map([[vendor.name, vendor]]), new Set([vendor.name]), given, config, problems)
  return problems.flatMap((problem) => /^(\w+) is required to use /.exec(problem)?.[1] ?? [])
}

/** The server has another environment, most often. */
function warnOfEnvironment({ values }: Answers): void {
  const names = Object.keys(withoutEmpty(readEnvironment())).filter(
    (env) => env.startsWith('TABBAT_') && !OF_CALLERS.includes(env) && !values.get(env),
  )
  if (names.length > 0)
    warn(`only the environment has ${names.join(', ')}, and not the file. The server needs the same.`)
}

function listSteps({ mode, vendor }: Answers, config: Config, key: string): Step[] {
  const tabbat = toProgramWord()
  const serve = { command: `${tabbat} serve`, about: 'start the server; Ctrl-C stops it' }
  const doctor = { command: `${tabbat} doctor`, about: 'check the installation' }
  if (mode === 'records')
    return [
      {
        command: `${tabbat} import nin people.ndjson`,
        about: 'import your records, NDJSON or CSV, here from people.ndjson; also: import bvn',
      },
      serve,
      doctor,
    ]
  if (vendor)
    return [
      doctor,
      ...(vendor.loaded
        ? [
            {
              command: `${tabbat} vendors try ${vendor.name} --answer saved.json`,
              about: 'read an answer of the vendor that you have saved; nothing is sent',
            },
          ]
        : []),
      {
        command: `${tabbat} sources check ${vendor.name}`,
        about: 'call the vendor once with its test number; it may bill the call',
      },
      serve,
    ]
  const url = toListenerUrl(config, config)
  const call = hasPublicSandboxKey(config)
    ? toSandboxCall(url)
    : toSandboxCall(url, `'Authorization: Bearer ${key}'`)
  return [serve, { command: call, about: 'in another terminal: verify a synthetic person' }, doctor]
}

/** What to type to run this program again: its name if the shell finds it, else its path. */
function toProgramWord(): string {
  const script = fileURLToPath(new URL(isCheckout ? '../../bin/tabbat' : '../bin/tabbat', import.meta.url))
  const own = isSea() ? process.execPath : script
  // npx adds its own folders for this one run.
  const folders = (readEnvironment().PATH ?? '')
    .split(':')
    .filter((folder) => !folder.endsWith('node_modules/.bin'))
  const found = folders.map((folder) => join(folder || '.', 'tabbat')).find((path) => existsSync(path))
  return found !== undefined && realpathSync(found) === realpathSync(own) ? 'tabbat' : toWord(own)
}
