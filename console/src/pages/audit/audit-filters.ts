export type AuditView = 'verifications' | 'rows'

/** The filters of the page Audit that are in its address. `person` is a keyed hash, never a number. */
export const AUDIT_FILTERS = [
  'reference',
  'key',
  'outcome',
  'operation',
  'source',
  'consent_reference',
  'phase',
  'from',
  'to',
  'person',
] as const

type AuditFilterName = (typeof AUDIT_FILTERS)[number]
export type AuditFilters = Readonly<Partial<Record<AuditFilterName, string>>>

export const readView = (filters: URLSearchParams): AuditView =>
  filters.get('view') === 'rows' ? 'rows' : 'verifications'

/** A phase is a property of single rows. */
export function readAuditFilters(filters: URLSearchParams): AuditFilters {
  const names = AUDIT_FILTERS.filter((name) => name !== 'phase' || readView(filters) === 'rows')
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = filters.get(name)
      return value ? [[name, value]] : []
    }),
  )
}

/** The address of an export of what is listed. */
export function toExtractUrl(view: AuditView, filters: AuditFilters, format: 'csv' | 'ndjson'): string {
  const query = new URLSearchParams({ ...filters, ...(view === 'rows' && { view }) })
  return `/admin/audit/extract.${format}${query.size > 0 ? `?${query}` : ''}`
}

/** Times are UTC in the address, and in the time zone of the browser in the inputs. */
export function toLocalInput(utc: string | undefined): string {
  const date = new Date(utc ?? '')
  if (Number.isNaN(date.getTime())) return ''
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}

export const fromLocalInput = (local: string): string =>
  local === '' || Number.isNaN(Date.parse(local)) ? '' : new Date(local).toISOString()
