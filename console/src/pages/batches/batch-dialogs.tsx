import type { ListedBatch } from '../../../../src/admin/batches.ts'
import { useAppContext } from '../../app-context.ts'
import { ApiKeyField, type ApiKeyProps } from '../../components/api-key-field.tsx'
import { Confirm, FormDialog } from '../../components/dialog.tsx'
import { Pill, type Tone } from '../../components/pill.tsx'
import { toCount } from '../../format.ts'
import { saveFile } from '../../save-file.ts'
import { useMutation } from '../../use-mutation.ts'

export type OpenBatch = { readonly what: 'cancel' | 'download'; readonly batch: ListedBatch }

type BatchDialogsProps = {
  readonly open: OpenBatch
  readonly onClose: () => void
  readonly onDone: () => void
  readonly keys: ApiKeyProps
}

/** What can be done with a batch. */
export const BatchDialogs = ({ open: { what, batch }, onClose, onDone, keys }: BatchDialogsProps) =>
  what === 'cancel' ? (
    <CancelBatch batch={batch} onClose={onClose} onDone={onDone} />
  ) : (
    <DownloadResults batch={batch} onClose={onClose} {...keys} />
  )

export const isOpen = ({ state }: ListedBatch) => state === 'running' || state === 'stopping'

const TONES: Readonly<Record<ListedBatch['state'], Tone>> = {
  running: 'live',
  stopping: 'warn',
  completed: 'good',
  cancelled: 'dim',
}

export const BatchState = ({ state }: Pick<ListedBatch, 'state'>) => <Pill tone={TONES[state]}>{state}</Pill>

export function Done({ batch: { rows, counts } }: { batch: ListedBatch }) {
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

export function BatchActions({ batch, onOpen }: { batch: ListedBatch; onOpen: (open: OpenBatch) => void }) {
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

type CancelProps = {
  readonly batch: ListedBatch
  readonly onClose: () => void
  readonly onDone: () => void
}

function CancelBatch({ batch, onClose, onDone }: CancelProps) {
  const { api } = useAppContext()
  const cancel = useMutation(async () => {
    await api.post(`/admin/batches/${batch.id}/cancel`)
    onDone()
  })
  return (
    <Confirm title="Cancel this batch?" verb="Cancel the batch" mutation={cancel} onClose={onClose} isDanger>
      <p>
        Rows that have not begun are not verified. Rows that have begun are finished, and the results so far
        stay.
      </p>
    </Confirm>
  )
}

type DownloadProps = {
  readonly batch: ListedBatch
  readonly apiKey: string
  readonly onKey: (key: string) => void
  readonly hasSandbox: boolean
  readonly onClose: () => void
}

function DownloadResults({ batch, apiKey, onKey, hasSandbox, onClose }: DownloadProps) {
  const { api } = useAppContext()
  const download = useMutation(async () => {
    const key = apiKey.trim()
    const file = await api.download(`/admin/batches/${batch.id}/results`, key === '' ? {} : { key })
    saveFile(`${batch.id}.csv`, 'text/csv', file)
    onClose()
  })
  return (
    <FormDialog
      title="Download the results"
      verb="Download CSV"
      mutation={download}
      onSubmit={download.run}
      onClose={onClose}
    >
      <p>The file holds personal data. The download is written to the audit log with your account.</p>
      <ApiKeyField label="Key that sent the batch" apiKey={apiKey} onKey={onKey} hasSandbox={hasSandbox} />
    </FormDialog>
  )
}
