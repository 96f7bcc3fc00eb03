import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import type { AuditSearch, AuditSearchResult, VerificationSearchResult } from '../../../../src/admin/audit.ts'
import type { ApiError } from '../../api-client.ts'
import { useAppContext } from '../../app-context.ts'

export type AuditPage = VerificationSearchResult | AuditSearchResult

/** A person to search for, as it was typed. */
export type TypedNumber = NonNullable<AuditSearch['subject']>

type Found = { readonly name: string; readonly pages: readonly AuditPage[] }

const PATHS: Readonly<Record<AuditView, string>> = {
  verifications: '/admin/audit/verifications/search',
  rows: '/admin/audit/search',
}

/** A search reads a limited number of rows. If it found too little, it is continued so often without being asked. */
const MAX_CONTINUED = 10
const ENOUGH = 50

export const countOf = (page: AuditPage) => ('rows' in page ? page.rows : page.verifications).length

/** The next pages, until enough is found. A search that read its limit of rows without a full page is continued. */
async function* readPages(
  ask: (before: string | undefined) => Promise<AuditPage>,
  after: string | undefined,
): AsyncIterable<AuditPage> {
  let before = after
  let count = 0
  for (let turns = 0; turns < MAX_CONTINUED; turns += 1) {
    const page = await ask(before)
    yield page
    count += countOf(page)
    if (count >= ENOUGH || page.searched_back_to === null || page.next === null) return
    before = page.next
  }
}

/** The results for the filters in the address, page after page. */
export function useAuditSearch(view: AuditView, filters: AuditFilters) {
  const { api } = useAppContext()
  const [found, setFound] = useState<Found>()
  const [error, setError] = useState<ApiError>()
  const [isBusy, setBusy] = useState(false)
  const latest = useRef(0)
  const name = toName(view, filters)

  /** What another search found must not stand under the filters of this one. A typed number is in no filter yet. */
  const dropOthers = (own: string) => {
    if (own !== '') setFound((old) => (old?.name === own ? old : undefined))
  }
  /** Returns the first page, or undefined when it failed or another search has begun. */
  const load = useCallback(
    async (filter: AuditSearch, own: string, after?: string): Promise<AuditPage | undefined> => {
      latest.current += 1
      const turn = latest.current
      const isCurrent = () => turn === latest.current
      const ask = (before: string | undefined) =>
        api.post<AuditPage>(PATHS[view], { ...filter, ...(before && { before }) })
      let first: AuditPage | undefined
      setBusy(true)
      try {
        for await (const page of readPages(ask, after)) {
          if (!isCurrent()) return undefined
          const isNew = after === undefined && !first
          setFound((old) => ({ name: own, pages: isNew ? [page] : [...(old?.pages ?? []), page] }))
          setError(undefined)
          first ??= page
        }
      } catch (thrown) {
        if (isCurrent()) {
          setError(thrown as ApiError)
          dropOthers(own)
        }
      }
      if (isCurrent()) setBusy(false)
      return first
    },
    [api, view],
  )
  // The results of a typed number are there before its hash is in the address.
  const shown = useRef('')
  useEffect(() => {
    if (shown.current === name) return
    shown.current = name
    load(filters, name)
  }, [load, name])

  const searchNumber = async (others: AuditFilters, subject: TypedNumber): Promise<string | undefined> => {
    const page = await load({ ...others, subject }, '')
    const person = page?.person ?? undefined
    if (person === undefined) return undefined
    const next = toName(view, { ...others, person })
    shown.current = next
    setFound((old) => old && { ...old, name: next })
    return person
  }
  const stop = () => {
    latest.current += 1
    setBusy(false)
    if (found?.name !== '') dropOthers(name)
  }
  return {
    pages: found?.pages,
    isFiltered: Object.keys(filters).length > 0,
    error,
    isBusy,
    stop,
    searchNumber,
    reload: () => load(filters, name),
    loadMore: (before: string) => load(filters, name, before),
  }
}

const toName = (view: AuditView, filters: AuditFilters) =>
  JSON.stringify([view, Object.entries(filters).sort(([one], [other]) => (one < other ? -1 : 1))])

export type AuditView = 'verifications' | 'rows'

/** The filters of the page Audit that are in its address. `person` is a keyed hash, never a number. */
export const AUDIT_FILTERS = [
  'reference',
  'key',
  'outcome',
  'operation',
  'source',
  'consent_reference',
  'purpose',
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
