import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Loading } from '../components/query-result.tsx'
import type { Page } from '../navigation.ts'

type Loaded = { readonly page: Page; readonly Body?: ComponentType<{ rest: string }> }

/** Loads the code of a page and shows it. Loading fails if the server is down or has another version of the page. */
export function LazyPage({ page, rest }: { page: Page; rest: string }) {
  const [loaded, setLoaded] = useState<Loaded>()
  useEffect(() => {
    let isCurrent = true
    const show = (found: Loaded) => {
      if (isCurrent) setLoaded(found)
    }
    page.load().then(
      (Body) => show({ page, Body }),
      () => show({ page }),
    )
    return () => {
      isCurrent = false
    }
  }, [page])
  if (loaded?.page !== page) return <Loading />
  const { Body } = loaded
  return Body ? <Body key={page.name} rest={rest} /> : <LoadFailed />
}

function LoadFailed() {
  return (
    <div class="note bad" role="alert">
      <p>This page could not be loaded. If the server was updated, reload the console.</p>
      <button type="button" class="small" onClick={() => location.reload()}>
        Reload
      </button>
    </div>
  )
}
