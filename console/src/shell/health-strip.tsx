import { useEffect, useState } from 'preact/hooks'
import type { Health } from '../../../src/admin/health.ts'
import { GuideText } from '../components/guide-link.tsx'
import { Pill } from '../components/pill.tsx'
import { toCount } from '../format.ts'
import { useQuery } from '../use-query.ts'

const RELOAD_MS = 5000
/** Until the checks that read the data are made for the first time. */
const FIRST_MS = 2000
/** No answer for so long: what is shown may not hold any more. */
const LATE_MS = 15_000

/** What is wrong with the server, above every page: the checks of `tabbat doctor`. */
export function HealthStrip() {
  const { value, error, reload } = useQuery<Health>('/admin/health')
  const [isLate, setLate] = useState(false)
  const pauseMs = value?.data_checked_at === null ? FIRST_MS : RELOAD_MS
  // After each answer, not by the clock: a reload would break off a request that takes longer.
  useEffect(() => {
    setLate(false)
    const timer = value || error ? setTimeout(reload, pauseMs) : undefined
    const late = setInterval(() => {
      setLate(true)
      reload()
    }, LATE_MS)
    return () => {
      clearTimeout(timer)
      clearInterval(late)
    }
  }, [value, error, reload, pauseMs])
  const failed = value?.checks.filter(({ status }) => status === 'failed') ?? []
  const isAway = error !== undefined && error.status >= 500
  if (!value && !isAway && !isLate) return null
  return (
    <section class="health" aria-label="Health of the server">
      <div role="status">
        {isLate && (
          <div class="note bad">
            <p>
              The server has not said for {LATE_MS / 1000} seconds how it is. What this page shows may be old.
            </p>
          </div>
        )}
        {isAway && (
          <div class="note bad">
            <p>
              The server answers, but its database does not: verifications get 503 until it is back. See the
              log of the server.
            </p>
          </div>
        )}
        {!isAway && failed.length > 0 && (
          <div class="note bad">
            <CheckList checks={failed} />
          </div>
        )}
      </div>
      {value && <Others health={value} />}
    </section>
  )
}

function Others({ health: { checks, data_checked_at: dataCheckedAt } }: { health: Health }) {
  const [isOpen, setOpen] = useState(false)
  const have = (wanted: Health['status'] | 'skipped') => checks.filter(({ status }) => status === wanted)
  const [warnings, fine, skipped] = [have('warning'), have('ok'), have('skipped')]
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        {warnings.length > 0
          ? `${toCount(warnings.length)} ${warnings.length === 1 ? 'warning' : 'warnings'}, `
          : dataCheckedAt !== null && 'No warnings, '}
        {`${toCount(fine.length)} ${fine.length === 1 ? 'check is' : 'checks are'} fine`}
        {skipped.length > 0 && `, ${toCount(skipped.length)} skipped`}
        {dataCheckedAt === null && ', those of the data are being made…'}
      </summary>
      {isOpen && <CheckList checks={[...warnings, ...fine, ...skipped]} />}
    </details>
  )
}

const TONES = { ok: 'good', warning: 'warn', failed: 'bad', skipped: 'dim' } as const

/** Where more is said, or where it is mended. */
const PAGES: Readonly<Record<string, readonly [page: string, title: string]>> = {
  disk: ['storage', 'Storage'],
  archives: ['storage', 'Storage'],
  backups: ['storage', 'Storage'],
  'audit log': ['requests?live=on&status=5xx', 'Requests'],
  'audit rows': ['audit', 'Audit'],
  checkpoints: ['audit', 'Audit'],
  sources: ['sources', 'Sources'],
  webhooks: ['webhooks', 'Webhooks'],
  notices: ['incidents', 'Incidents'],
  nodes: ['settings', 'Settings'],
  settings: ['settings', 'Settings'],
}

function CheckList({ checks }: { checks: Health['checks'] }) {
  return (
    <ul>
      {checks.map(({ check, status, text }) => (
        <li key={check}>
          <span>
            <Pill tone={TONES[status]}>{status}</Pill>
          </span>
          <b>{check}</b>
          <span>
            <GuideText text={text} /> <PageLink page={PAGES[check]} />
          </span>
        </li>
      ))}
    </ul>
  )
}

const PageLink = ({ page }: { page: readonly [string, string] | undefined }) =>
  page ? <a href={`#/${page[0]}`}>{page[1]}</a> : null
