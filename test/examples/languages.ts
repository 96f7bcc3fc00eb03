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

const succeeds = (program: string, ...args: string[]) => {
  try {
    execFileSync(program, args, { stdio: 'ignore', env: ENVIRONMENT })
    return true
  } catch {
    return false
  }
}

/** Where Debian and Ubuntu install the packages of Java and PHP. */
const JARS = ['databind', 'core', 'annotations'].map((name) => `/usr/share/java/jackson-${name}.jar`)
const AUTOLOADS = ['Illuminate/Http', 'Illuminate/Container', 'GuzzleHttp'].map(
  (name) => `/usr/share/php/${name}/autoload.php`,
)

const whyMissingPackages = (name: string, files: readonly string[]) =>
  files.every((file) => existsSync(file)) ? undefined : `not installed: ${name}`

const whyMissingPhp = () =>
  whyMissing('php') ??
  (succeeds('php', '-r', 'exit(extension_loaded("curl") ? 0 : 1);') ? undefined : 'not installed: php-curl')

const whyMissingJava = () =>
  whyMissing('java', 'javac') ??
  (succeeds('javac', '--release', '17', '--help') ? undefined : 'Java is older than 17') ??
  whyMissingPackages('Jackson', JARS)

export const LANGUAGES: readonly Language[] = [
  {
    name: 'Python, requests',
    missing:
      whyMissing('python3') ??
      (succeeds('python3', '-c', 'import requests') ? undefined : 'not installed: python3-requests'),
    prepare: () => ['python3', example('python/verify_requests.py')],
  },
  {
    name: 'Python, standard library',
    missing: whyMissing('python3'),
    prepare: () => ['python3', example('python/verify_stdlib.py')],
  },
  {
    name: 'PHP, cURL',
    missing: whyMissingPhp(),
    prepare: () => ['php', example('php/verify.php')],
  },
  {
    name: 'PHP, HTTP client of Laravel',
    missing: whyMissingPhp() ?? whyMissingPackages('illuminate/http and Guzzle', AUTOLOADS),
    prepare: () => ['php', example('php/laravel/run.php')],
    env: { COMPOSER_AUTOLOAD: AUTOLOADS.join(':') },
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
      return ['java', '-cp', `${folder}:${jars}`, 'Verify']
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
