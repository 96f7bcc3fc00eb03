import { dirname, resolve } from 'node:path'
import { toDatabasePlace } from '../settings/database-url.ts'
import {
  baseUrl,
  credential,
  databaseUrl,
  InvalidSetting,
  type Setting,
  setting,
} from '../settings/setting.ts'

const witnessAddress = (text: string) => {
  if (/^sqlite:\//.test(text)) return text
  if (/^postgres(ql)?:/.test(text)) return databaseUrl(text)
  if (/^https?:/.test(text)) return baseUrl(text)
  throw new InvalidSetting(
    'must be https://witness.example.com/checkpoints, postgres://user:password@host/database or sqlite:/folder/file.db',
  )
}

/** The settings of the witness, which keeps the checkpoints of the audit log outside. */
export const WITNESS_SETTINGS = {
  witness: setting(
    'TABBAT_WITNESS',
    undefined,
    witnessAddress,
    'A place outside this server that gets every checkpoint of the audit log: a webhook (https://…), a second PostgreSQL database (postgres://…) or a SQLite file on another machine (sqlite:/mnt/…). tabbat audit verify --witness compares with it. See docs/audit-format.md.',
    true,
  ),
  witnessToken: setting(
    'TABBAT_WITNESS_TOKEN',
    undefined,
    credential,
    'Sent to the webhook of TABBAT_WITNESS as Authorization: Bearer.',
    true,
  ),
} satisfies Record<string, Setting<unknown>>

type Values = {
  readonly witness: string | undefined
  readonly witnessToken: string | undefined
  readonly webhooksPrivate: 'on' | 'off'
  readonly databaseUrl: string | undefined
  readonly dataDir: string
}

export function listWitnessProblems(values: Values): string[] {
  const { witness, witnessToken, webhooksPrivate, dataDir } = values
  const problems: string[] = []
  if (witnessToken !== undefined && !/^https?:/.test(witness ?? ''))
    problems.push('TABBAT_WITNESS_TOKEN needs a webhook (https://…) in TABBAT_WITNESS')
  if (witness?.startsWith('http:') && webhooksPrivate === 'off')
    problems.push('TABBAT_WITNESS must be an https address. Plain http needs TABBAT_WEBHOOKS_PRIVATE=on')
  if (isOwnDatabase(values)) problems.push('TABBAT_WITNESS must be another database than TABBAT_DATABASE_URL')
  if (witness?.startsWith('sqlite:') && dirname(witness.slice('sqlite:'.length)) === resolve(dataDir))
    problems.push('TABBAT_WITNESS must be outside the data folder, best on another machine')
  return problems
}

const isOwnDatabase = ({ witness, databaseUrl: own }: Values) =>
  own !== undefined &&
  witness !== undefined &&
  /^postgres/.test(witness) &&
  toDatabasePlace(witness) === toDatabasePlace(own)
