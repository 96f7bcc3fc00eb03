import { execFile, execFileSync } from 'node:child_process'
import { cpSync, existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { findProgram, whyMissing } from '../cluster/programs.ts'

export type Command = readonly [program: string, ...args: string[]]

type Language = {
  readonly name: string
  /** Why it cannot run on this machine. */
  readonly missing: string | undefined
  /** Builds it into an empty folder, and returns the command that runs it. */
  readonly prepare: (folder: string) => Command | Promise<Command>
  readonly env?: Readonly<Record<string, string>>
  /** It uses a client of packages/, which retries by itself: it prints no attempts, and makes five. */
  readonly hasClient?: true
}

const run = promisify(execFile)
const example = (name: string) => resolve('examples', name)

/** Compilers keep caches in the home folder. */
export const ENVIRONMENT = {
  PATH: process.env.PATH ?? '',
  HOME: homedir(),
  DOTNET_CLI_TELEMETRY_OPTOUT: '1',
  DOTNET_NOLOGO: '1',
  ...(process.env.DOTNET_ROOT !== undefined && { DOTNET_ROOT: process.env.DOTNET_ROOT }),
}

export const succeeds = (program: string, ...args: string[]) => {
  try {
    execFileSync(program, args, { stdio: 'ignore', env: ENVIRONMENT })
    return true
  } catch {
    return false
  }
}

/** Where Debian and Ubuntu install the packages of Java and PHP. */
const JARS = ['databind', 'core', 'annotations'].map((name) => `/usr/share/java/jackson-${name}.jar`)
export const LARAVEL = '/usr/share/php/Illuminate/autoload.php'

const whyMissingPackages = (name: string, files: readonly string[]) =>
  files.every((file) => existsSync(file)) ? undefined : `not installed: ${name}`

/** What the client for PHP needs. */
export const whyMissingPhp = () =>
  whyMissing('php') ??
  (['curl', 'mbstring'].every((name) => succeeds('php', '-r', `exit((int) !extension_loaded("${name}"));`))
    ? undefined
    : 'not installed: php-curl or php-mbstring')

const whyMissingJava = () =>
  whyMissing('java', 'javac') ??
  (succeeds('javac', '--release', '17', '--help') ? undefined : 'Java is older than 17') ??
  whyMissingPackages('Jackson', JARS)

export const LANGUAGES: readonly Language[] = [
  ...['verify.py', 'verify_async.py'].map((file) => ({
    name: `Python, ${file}`,
    missing: whyMissing('python3'),
    prepare: (): Command => ['python3', example(`python/${file}`)],
    env: { PYTHONPATH: resolve('packages/python/src') },
    hasClient: true as const,
  })),
  {
    name: 'PHP',
    missing: whyMissingPhp(),
    prepare: () => ['php', example('php/verify.php')],
    hasClient: true,
  },
  {
    name: 'PHP, Laravel',
    missing: whyMissingPhp() ?? whyMissingPackages('php-laravel-framework', [LARAVEL]),
    prepare: () => ['php', example('php/laravel/run.php')],
    env: { COMPOSER_AUTOLOAD: LARAVEL },
    hasClient: true,
  },
  {
    name: 'Go',
    missing: whyMissing('go'),
    prepare: async (folder) => {
      await run('go', ['build', '-o', join(folder, 'verify'), '.'], { cwd: example('go'), env: ENVIRONMENT })
      return [join(folder, 'verify')]
    },
  },
  {
    name: 'Java',
    missing: whyMissingJava(),
    prepare: async (folder) => {
      const jars = JARS.join(':')
      await run('javac', [
        '--release',
        '17',
        '-Xlint:all',
        '-cp',
        jars,
        '-d',
        folder,
        example('java/Verify.java'),
      ])
      // It runs for a moment: better code and threads for the garbage collector cost more than they save.
      const quick = ['-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC']
      return ['java', ...quick, '-cp', `${folder}:${jars}`, 'Verify']
    },
  },
  {
    name: 'C#',
    missing: whyMissing('dotnet'),
    prepare: async (folder) => {
      cpSync(example('csharp'), folder, { recursive: true })
      // It needs no packages, so none are looked for.
      const args = ['build', '--source', folder, '-o', join(folder, 'out')]
      await run(findProgram('dotnet') ?? '', args, { cwd: folder, env: ENVIRONMENT })
      return ['dotnet', join(folder, 'out', 'Verify.dll')]
    },
  },
]
