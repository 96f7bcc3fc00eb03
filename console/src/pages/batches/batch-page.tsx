import { useState } from 'preact/hooks'
import type { ListedBatch, OneBatch } from '../../../../src/admin/batches.ts'
import { useHasRole } from '../../app-context.ts'
import { Facts } from '../../components/facts.tsx'
import { KeyLink, ObjectPage } from '../../components/object-page.tsx'
import { Panel } from '../../components/panel.tsx'
import { When } from '../../components/when.tsx'
import { toCount } from '../../format.ts'
import { useQuery, useReloads } from '../../use-query.ts'
import { BatchActions, BatchDialogs, BatchState, Done, isOpen, type OpenBatch } from './batch-dialogs.tsx'

const RELOAD_MS = 2000

/** One batch: how far it is, and how its rows ended. */
export function BatchPage({ id }: { id: string }) {
  const query = useQuery<OneBatch>(`/admin/batches/${encodeURIComponent(id)}`)
  const isOperator = useHasRole('operator')
  const [open, setOpen] = useState<OpenBatch>()
  const [key, setKey] = useState('')
  const { value, reload } = query
  const isRunning = value !== undefined && isOpen(value.batch)
  useReloads(query, RELOAD_MS, isRunning)
  const close = () => setOpen(undefined)
  const done = () => {
    close()
    reload()
  }
  return (
    <>
      <ObjectPage
        list="batches"
        listTitle="batches"
        name={id}
        query={query}
        missing={<p>There is no batch with this id, or it is no longer kept.</p>}
      >
        {({ batch }) => (
          <Panel
            title={<BatchState state={batch.state} />}
            aside={
              isOperator && (
                <div class="push">
                  <BatchActions batch={batch} onOpen={setOpen} />
                </div>
              )
            }
          >
            <Facts facts={toFacts(batch)} />
          </Panel>
        )}
      </ObjectPage>
      {open && (
        <BatchDialogs
          open={open}
          onClose={close}
          onDone={done}
          keys={{ apiKey: key, onKey: setKey, hasSandbox: value?.has_sandbox_key ?? false }}
        />
      )}
    </>
  )
}

const toFacts = (batch: ListedBatch): Parameters<typeof Facts>[0]['facts'] => [
  ['Key', <KeyLink key="key" id={batch.key_id} />],
  ['Mode', batch.mode],
  ['Done', <Done key="done" batch={batch} />],
  ['Verified', toCount(batch.counts.verified)],
  ['Not verified', toCount(batch.counts.not_verified)],
  ['Failed', toCount(batch.counts.failed)],
  ['Expired', toCount(batch.counts.expired)],
  ['Cancelled', toCount(batch.counts.cancelled)],
  ['Refused', toCount(batch.counts.refused)],
  ['Sent', <When key="sent" at={batch.accepted_at} to="exact" />],
  ['Ended', <When key="ended" at={batch.ended_at} to="exact" otherwise="not yet" />],
  ['Probable end', <When key="end" at={batch.estimated_end} />],
  ['Kept until', <When key="kept" at={batch.kept_until} otherwise="a time after its end" />],
]
