import { parseEnv } from 'node:util'
import { UserError } from '../errors.ts'
import type { Setting } from './setting.ts'

/** A setting for a .env file: its description as a comment, and its value. Without a value, the default, commented out. */
export const toEnvBlock = ({ env, fallback, help }: Setting<unknown>, value?: string): string =>
  `# ${help}\n${value === undefined ? `#${env}=${fallback ?? ''}` : toEnvLine(env, value)}\n`

/** Quotes that `parseEnv` removes again. It knows no escapes, so a text with all of them cannot be written. */
const QUOTES = ['', "'", '"', '`']

function toEnvLine(env: string, value: string): string {
  const line = QUOTES.map((quote) => `${env}=${quote}${value}${quote}`).find(
    (each) => parseEnv(each)[env] === value && !/[\r\n]/.test(each),
  )
  if (line !== undefined) return line
  throw new UserError(`The value of ${env} has quotes or line breaks that a .env file cannot hold.`)
}
