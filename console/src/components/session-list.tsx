import type { OpenSession, OpenSessions } from '../../../src/admin/sessions.ts'
import type { Static } from '../../../src/contract/schema.ts'
import { useAppContext } from '../app-context.ts'
import { useMutation } from '../use-mutation.ts'
import { useQuery } from '../use-query.ts'
import { Dialog } from './dialog.tsx'
import { ErrorNote } from './error-note.tsx'
import { Panel } from './panel.tsx'
import { QueryResult } from './query-result.tsx'
import { type Column, Table } from './table.tsx'
import { When } from './when.tsx'

const METHODS = {
  password: 'password',
  code: 'password and code',
  recovery_code: 'password and recovery code',
  passkey: 'passkey',
  sso: 'single sign-on',
} as const

type Sessions = Static<typeof OpenSessions>

const COLUMNS: readonly Column<OpenSession>[] = [
  {
    title: 'Browser',
    cell: ({ browser, is_own }) => (
      <>
        <b>{browser ?? 'unknown'}</b> {is_own && <small class="dim">this one</small>}
      </>
    ),
    exported: { Browser: ({ browser }) => browser ?? 'unknown' },
  },
  { title: 'Address', cell: ({ address }) => address ?? 'unknown' },
  { title: 'Signed in with', cell: ({ method }) => METHODS[method] },
  { title: 'Opened', cell: ({ created_at }) => <When at={created_at} /> },
  { title: 'Last seen', cell: ({ seen_at }) => <When at={seen_at} /> },
]

/** The sessions of the signed-in account. */
export function OwnSessions() {
  const { api } = useAppContext()
  const query = useQuery<Sessions>('/admin/session/all')
  const end = useMutation(async (id: string) => {
    await api.post(`/admin/session/all/${id}/end`)
    query.reload()
  })
  const endOthers = useMutation(async () => {
    await api.post('/admin/session/end-others')
    query.reload()
  })
  const action: Column<OpenSession> = {
    title: '',
    cell: ({ id, browser, is_own }) =>
      !is_own && (
        <button
          type="button"
          class="small"
          aria-label={`End: ${browser ?? 'unknown'}, ${id}`}
          disabled={end.isBusy}
          onClick={() => end.run(id)}
        >
          End
        </button>
      ),
  }
  return (
    <Panel
      title="Your sessions"
      aside={
        (query.value?.sessions.length ?? 0) > 1 && (
          <button type="button" class="push" disabled={endOthers.isBusy} onClick={() => endOthers.run()}>
            End all others
          </button>
        )
      }
    >
      <ErrorNote error={end.error ?? endOthers.error} />
      <QueryResult query={query} lines={2}>
        {({ sessions }) => (
          <Table
            label="Your sessions"
            file="sessions"
            rows={sessions}
            keyOf={({ id }) => id}
            columns={[...COLUMNS, action]}
          />
        )}
      </QueryResult>
    </Panel>
  )
}

/** The sessions of another account, for owners. */
export function SessionsDialog({ name, onClose }: { name: string; onClose: () => void }) {
  const { api, recheckSession } = useAppContext()
  const path = `/admin/accounts/${encodeURIComponent(name)}`
  const query = useQuery<Sessions>(`${path}/sessions`)
  const endAll = useMutation(async () => {
    await api.post(`${path}/end-sessions`)
    query.reload()
    // Of the own account, this session ends too.
    recheckSession()
  })
  return (
    <Dialog title={`Sessions of ${name}`} onClose={onClose} isWide>
      <QueryResult query={query} lines={2}>
        {({ sessions }) =>
          sessions.length === 0 ? (
            <p class="dim">There are no open sessions.</p>
          ) : (
            <Table
              label={`Sessions of ${name}`}
              file="sessions"
              rows={sessions}
              keyOf={({ id }) => id}
              columns={COLUMNS}
            />
          )
        }
      </QueryResult>
      <ErrorNote error={endAll.error} />
      <footer>
        <button type="button" class="plain" onClick={onClose}>
          Close
        </button>
        <button
          type="button"
          class="danger"
          disabled={endAll.isBusy || query.value?.sessions.length === 0}
          aria-busy={endAll.isBusy}
          onClick={() => endAll.run()}
        >
          End all
        </button>
      </footer>
    </Dialog>
  )
}
