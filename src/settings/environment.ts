import { closeSync, fstatSync, lstatSync, openSync, readFileSync, type Stats } from 'node:fs'
import { enableCompileCache } from 'node:module'
import { resolve } from 'node:path'
import { parseEnv } from 'node:util'
import { refuseUntrustedPath, refuseUntrustedStats, UntrustedPath } from '../crypto/trusted-path.ts'
import type { Environment } from './read-settings.ts'

/** The environment of this process. No other file reads or changes it. */
export const readEnvironment = (): Environment => process.env

/** Sets the data folder for this process and for workers that it starts. */
export function useDataDir(folder: string): void {
  process.env.TABBAT_DATA_DIR = folder
}

/**
 * Caches compiled code for later starts; if the folder is not writable, nothing is cached. Worker threads and worker processes
 * find the folder in the environment.
 */
export function useCompileCache(folder: string): void {
  const { directory } = enableCompileCache(folder)
  if (directory !== undefined) process.env.NODE_COMPILE_CACHE ??= folder
}

/** All problems of the settings. */
export class ConfigError extends Error {
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super(problems.join('\n'))
    this.name = 'ConfigError'
    this.problems = problems
  }
}

/** Settings name commands, secrets and addresses, so nothing of a file is used that another user can change. */
export function readEnvFile(path: string): Record<string, string | undefined> {
  const stats = findFile(path)
  if (!stats) return {}
  try {
    // Before it is opened: opening a pipe waits for its writer.
    refuseUntrustedStats(resolve(path), stats)
    refuseUntrustedPath(path)
    return withoutEmpty(parseEnvText(path, readTrusted(path)))
  } catch (error) {
    if (error instanceof ConfigError) throw error
    if (error instanceof UntrustedPath) throw new ConfigError([error.message])
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return {}
    // Without its settings, the program would use another database.
    throw new ConfigError([
      code === 'EACCES'
        ? `This user (${process.getuid?.()}) may not read ${resolve(path)}. Run the program as the user of the server`
        : `${resolve(path)} cannot be read (${code}). Put a file there, or remove it`,
    ])
  }
}

/** Editors of Windows begin a file with a byte order mark, which would be a part of the first name, or write UTF-16. */
function parseEnvText(path: string, text: string) {
  if (text.includes('\0'))
    throw new ConfigError([`${resolve(path)} is not UTF-8, but perhaps UTF-16. Save it as UTF-8`])
  return parseEnv(text.replace(/^\uFEFF/, ''))
}

/** Undefined if there is none, or if it is in a folder that this user may not enter, as after `sudo -u` in /root. */
function findFile(path: string): Stats | undefined {
  try {
    return lstatSync(path)
  } catch {
    return undefined
  }
}

function readTrusted(path: string): string {
  const file = openSync(path, 'r')
  try {
    // The open file, so that the checked file is the one that is read.
    refuseUntrustedStats(resolve(path), fstatSync(file))
    return readFileSync(file, 'utf8')
  } finally {
    closeSync(file)
  }
}

/**
 * What is set: by the environment, else by the file. A secret has two forms, X and X_FILE. If the environment has one of them, the file
 * decides about neither.
 */
export function mergeGiven(fromFile: Environment, environment: Environment): Environment {
  const fromEnvironment = withoutEmpty(environment)
  const kept = Object.entries(fromFile).filter(([name]) => fromEnvironment[toOtherForm(name)] === undefined)
  return { ...Object.fromEntries(kept), ...fromEnvironment }
}

const toOtherForm = (name: string) => (name.endsWith('_FILE') ? name.slice(0, -5) : `${name}_FILE`)

/** What is set for this process, by its environment or by `.env`. */
export const readGiven = (): Environment => mergeGiven(readEnvFile('.env'), readEnvironment())

export const withoutEmpty = (environment: Environment): Record<string, string | undefined> =>
  Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== undefined && value !== ''))
