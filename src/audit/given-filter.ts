import type { AuditFilter } from './audit-filter.ts'
import { toComparable } from './reverse-scan.ts'

/** A filter as people write it, in the console and on the command line. Empty texts do not filter. */
export type GivenFilter = {
  readonly reference?: string | undefined
  /** The id of a key, or a name that one or several keys have. */
  readonly key?: string | undefined
  readonly outcome?: string | undefined
  readonly phase?: string | undefined
  readonly operation?: string | undefined
  readonly source?: string | undefined
  readonly consent_reference?: string | undefined
  /** Times that `Date.parse` reads. */
  readonly from?: string | undefined
  readonly to?: string | undefined
  /** The keyed hash of a number. */
  readonly person?: string | undefined
}

/** `keyNames` are the names of keys by their id. */
export function toAuditFilter(given: GivenFilter, keyNames: ReadonlyMap<string, string>): AuditFilter {
  const { reference, key, outcome, phase, operation, source, consent_reference, from, to, person } =
    toShownFilter(given)
  return dropAbsent({
    request_reference: reference,
    key_ids: key === undefined ? undefined : findKeyIds(key, keyNames),
    outcome,
    phase,
    operation,
    source,
    consent_reference,
    from: from && toComparable(Date.parse(from)),
    to: to && toComparable(Date.parse(to)),
    subject: person,
  })
}

/** What was given, without empty texts and spaces around them. */
export const toShownFilter = (given: GivenFilter): Readonly<Partial<Record<keyof GivenFilter, string>>> =>
  dropAbsent(
    Object.fromEntries(
      Object.entries(given).map(([name, text]) => [name, text?.trim() === '' ? undefined : text?.trim()]),
    ),
  )

const findKeyIds = (key: string, names: ReadonlyMap<string, string>): string[] => [
  key,
  ...[...names].flatMap(([id, name]) => (name === key ? [id] : [])),
]

const dropAbsent = <T extends object>(fields: T) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [Name in keyof T]?: Exclude<T[Name], undefined>
  }
