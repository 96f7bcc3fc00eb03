import { useEffect, useState } from 'preact/hooks'
import type { BatchList, ListedBatch } from '../../../../src/admin/batches.ts'
import { useHasRole } from '../../app-context.ts'
import { Panel } from '../../components/panel.tsx'
import { Pill, type Tone } from '../../components/pill.tsx'
import { Empty, QueryResult } from '../../components/query-result.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { When } from '../../components/when.tsx'
import { toCount } from '../../format.ts'
import { useQuery } from '../../use-query.ts'
import { CancelBatch, DownloadResults } from './batch-dialogs.tsx'
import { BatchUpload } from './batch-upload.tsx'

type Open = { readonly what: 'cancel' | 'download'; readonly batch: ListedBatch }

const RELOAD_MS = 2000

export function Batches() {
  const query = useQuery<BatchList>('/admin/batches')
  const isOperator = useHasRole('operator')
  const [open, setOpen] = useState<Open>()
  const [key, setKey] = useState('')
  const isRunning = query.value?.batches.some(isOpen) ?? false
  const { reload } = query
  useEffect(() => {
    if (!isRunning) return
    const timer = setInterval(reload, RELOAD_MS)
    return () => clearInterval(timer)
  }, [isRunning, reload])
  const close = () => setOpen(undefined)
  const done = () => {
    close()
    reload()
  }
  return (
    <QueryResult query={query}>
      {({ batches, has_sandbox_key: hasSandbox }) => (
        <>
          {isOperator ? (
            <BatchUpload apiKey={key} onKey={setKey} hasSandbox={hasSandbox} onDone={reload} />
          ) : (
            <p class="dim">Your role shows only the counts. Sending a file needs the role operator.</p>
          )}
          <Panel title="Latest batches">
            {batches.length === 0 ? (
              <Empty>
                <p>There are no batches.</p>
              </Empty>
            ) : (
              <Table
                label="Latest batches"
                columns={toColumns(isOperator, setOpen)}
                rows={batches}
                keyOf={({ id }) => id}
              />
            )}
          </Panel>
          {open?.what === 'cancel' && <CancelBatch batch={open.batch} onClose={close} onDone={done} />}
          {open?.what === 'download' && (
            <DownloadResults
              batch={open.batch}
              apiKey={key}
              onKey={setKey}
              hasSandbox={hasSandbox}
              onClose={close}
            />
          )}
        </>
      )}
    </QueryResult>
  )
}

const isOpen = ({ state }: ListedBatch) => state === 'running' || state === 'stopping'

const TONES: Readonly<Record<ListedBatch['state'], Tone>> = {
  running: 'live',
  stopping: 'warn',
  completed: 'good',
  cancelled: 'dim',
}

const toColumns = (isOperator: boolean, onOpen: (open: Open) => void): Column<ListedBatch>[] => [
  { title: 'Sent', cell: ({ accepted_at }) => <When at={accepted_at} to="second" /> },
  { title: 'Key', cell: ({ key_id, mode }) => `${key_id} (${mode})` },
  { title: 'State', cell: ({ state }) => <Pill tone={TONES[state]}>{state}</Pill> },
  { title: 'Done', cell: (batch) => <Done batch={batch} /> },
  { title: 'Verified', isNumber: true, cell: ({ counts }) => toCount(counts.verified) },
  { title: 'Not verified', isNumber: true, cell: ({ counts }) => toCount(counts.not_verified) },
  {
    title: 'Other',
    isNumber: true,
    cell: ({ counts: { failed, expired, cancelled, refused } }) =>
      toCount(failed + expired + cancelled + refused),
  },
  { title: 'End', cell: ({ ended_at, estimated_end }) => <When at={ended_at ?? estimated_end} /> },
  ...(isOperator ? [{ title: '', cell: (batch: ListedBatch) => <Actions {...{ batch, onOpen }} /> }] : []),
]

function Done({ batch: { rows, counts } }: { batch: ListedBatch }) {
  const done = rows - counts.waiting
  return (
    <>
      <progress value={done} max={rows} aria-label={`${done} of ${rows} rows are done`} />{' '}
      <span class="nowrap">
        {toCount(done)} of {toCount(rows)}
      </span>
    </>
  )
}

function Actions({ batch, onOpen }: { batch: ListedBatch; onOpen: (open: Open) => void }) {
  return (
    <div class="actions">
      <button type="button" class="small" onClick={() => onOpen({ what: 'download', batch })}>
        Results
      </button>
      {isOpen(batch) && (
        <button type="button" class="plain small" onClick={() => onOpen({ what: 'cancel', batch })}>
          Cancel
        </button>
      )}
    </div>
  )
}
