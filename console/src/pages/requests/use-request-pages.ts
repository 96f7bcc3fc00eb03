import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import type { RequestList } from '../../../../src/admin/requests.ts'
import type { ApiError } from '../../api-client.ts'
import { useAppContext } from '../../app-context.ts'

export type RequestPages = {
  readonly value: readonly RequestList[] | undefined
  readonly error: ApiError | undefined
  readonly isBusy: boolean
  /** The page before a cursor, or the first one. */
  readonly load: (before: string | undefined) => void
}

/** Collects pages of the request log; another query starts over. */
export function useRequestPages(query: string): RequestPages {
  const { api, reconnects } = useAppContext()
  const [value, setValue] = useState<readonly RequestList[]>()
  const [error, setError] = useState<ApiError>()
  const [isBusy, setBusy] = useState(false)
  const latest = useRef(0)
  const load = useCallback(
    async (before: string | undefined) => {
      latest.current += 1
      const own = latest.current
      setBusy(true)
      setError(undefined)
      const cursor = before === undefined ? '' : `&before=${encodeURIComponent(before)}`
      try {
        const page = await api.get<RequestList>(`/admin/requests?${query}${cursor}`)
        if (own !== latest.current) return
        setValue((old = []) => (before === undefined ? [page] : [...old, page]))
      } catch (thrown) {
        if (own === latest.current) setError(thrown as ApiError)
      } finally {
        if (own === latest.current) setBusy(false)
      }
    },
    [api, query],
  )
  useEffect(() => {
    load(undefined)
  }, [load, reconnects])
  return { value, error, isBusy, load }
}
