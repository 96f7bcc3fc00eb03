import { useState } from 'preact/hooks'
import type {
  CatalogueOutcome,
  CatalogueView,
  CatalogueDiff as DiffShape,
} from '../../../../src/admin/catalogue.ts'
import type { Static } from '../../../../src/contract/schema.ts'
import { useAppContext, useHasRole } from '../../app-context.ts'
import { Dialog, SubmitButton } from '../../components/dialog.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { Panel } from '../../components/panel.tsx'
import { QueryResult } from '../../components/query-result.tsx'
import { When } from '../../components/when.tsx'
import { useMutation } from '../../use-mutation.ts'
import { useQuery } from '../../use-query.ts'
import { CatalogueDiff } from './catalogue-diff.tsx'

type Review = CatalogueView['reviews'][number]
type ReviewsProps = { readonly view: CatalogueView; readonly onChange: () => void }

/** Lists of vendors that failed the plausibility check and need a decision. */
export function CatalogueReviews({ view: { reviews }, onChange }: ReviewsProps) {
  const [open, setOpen] = useState<Review>()
  const isOperator = useHasRole('operator')
  if (reviews.length === 0) return null
  return (
    <Panel title="Waiting for review">
      {reviews.map((review) => (
        <div class="note warn" key={review.id}>
          <p>
            <b>{review.source}</b> sent lists that failed the plausibility check (<When at={review.at} />
            ). The active lists do not change until you decide.
          </p>
          <Doubts doubts={review.doubts} />
          <button
            type="button"
            class="small"
            aria-label={`Review the lists of ${review.source}`}
            onClick={() => setOpen(review)}
          >
            {isOperator ? 'Review' : 'Show'}
          </button>
        </div>
      ))}
      {open && (
        <ReviewDialog
          review={open}
          onClose={() => setOpen(undefined)}
          onDone={() => {
            setOpen(undefined)
            onChange()
          }}
        />
      )}
    </Panel>
  )
}

const Doubts = ({ doubts }: { doubts: readonly string[] }) => (
  <ul>
    {doubts.map((doubt) => (
      <li key={doubt}>{doubt}</li>
    ))}
  </ul>
)

type DialogProps = { readonly review: Review; readonly onClose: () => void; readonly onDone: () => void }

function ReviewDialog({ review: { id, source, doubts }, onClose, onDone }: DialogProps) {
  const { api } = useAppContext()
  const isOperator = useHasRole('operator')
  const query = useQuery<Static<typeof DiffShape>>(`/admin/catalogue/review?id=${id}`)
  const send = async (decision: 'accept' | 'reject') => {
    await api.post<CatalogueOutcome>('/admin/catalogue/review', { id, decision })
    onDone()
  }
  const accept = useMutation(() => send('accept'))
  const reject = useMutation(() => send('reject'))
  const isBusy = accept.isBusy || reject.isBusy
  return (
    <Dialog title={`Lists of ${source}`} onClose={onClose} isWide>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          accept.run()
        }}
      >
        <Doubts doubts={doubts} />
        <QueryResult query={query}>{({ changes }) => <CatalogueDiff changes={changes} />}</QueryResult>
        <ErrorNote error={accept.error ?? reject.error} />
        <footer>
          <button type="button" class="plain" onClick={onClose}>
            {isOperator ? 'Decide later' : 'Close'}
          </button>
          {isOperator && (
            <button type="button" disabled={isBusy} onClick={() => reject.run()}>
              Reject
            </button>
          )}
          {isOperator && (
            <SubmitButton isBusy={isBusy} isDanger>
              Activate anyway
            </SubmitButton>
          )}
        </footer>
      </form>
    </Dialog>
  )
}
