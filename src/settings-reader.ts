import { readFileSync } from 'node:fs'
import { Misfit, type Setting, type Settings } from './settings.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** The values of these settings. What does not fit is undefined, and a sentence about it is added to the problems. */
export const readSettings = (settings: Settings, given: Environment, problems: string[]) =>
  Object.fromEntries(
    Object.entries(settings).map(([name, entry]) => [name, readSetting(entry, given, problems)]),
  )

/** Whether it was set at all, in one way or the other. */
export const isGiven = ({ env, secret }: Setting<unknown>, given: Environment) =>
  given[env] !== undefined || (secret === true && given[`${env}_FILE`] !== undefined)

function readSetting(entry: Setting<unknown>, given: Environment, problems: string[]): unknown {
  try {
    const text = given[entry.env] ?? readSecretFile(entry, given) ?? entry.fallback
    return text === undefined ? undefined : entry.read(text.trim())
  } catch (error) {
    if (!(error instanceof Misfit)) throw error
    problems.push(`${entry.env} ${error.message}`)
    return undefined
  }
}

function readSecretFile(entry: Setting<unknown>, given: Environment): string | undefined {
  const path = entry.secret ? given[`${entry.env}_FILE`] : undefined
  if (path === undefined) return undefined
  try {
    return readFileSync(path, 'utf8').trim()
  } catch {
    throw new Misfit(
      'cannot be read from the file named by its _FILE variable: check the path and its permissions',
    )
  }
}
