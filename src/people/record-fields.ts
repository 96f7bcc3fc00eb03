import type { PersonReport } from '../contract/person-report.ts'
import { HIDDEN } from '../contract/record.ts'

export type ReportFields = NonNullable<PersonReport['held']['record']>['fields']

/** The values of a record by their dotted names. Links to pictures are left out: a link works without signing in. */
export const toReportFields = (record: object, group = ''): ReportFields =>
  Object.entries(record).flatMap(([name, value]: [string, unknown]) => {
    if (name === 'image_url' || value === undefined) return []
    if (typeof value === 'object' && value !== null) return toReportFields(value, `${group}${name}.`)
    return [{ name: `${group}${name}`, value: value === null ? '' : String(value) }]
  })

export const hideValue = (value: string) => (value === '' ? '' : HIDDEN)

export const hideFields = (fields: ReportFields): ReportFields =>
  fields.map(({ name, value }) => ({ name, value: hideValue(value) }))
