import { useState } from 'preact/hooks'
import type { CatalogueDiff, CatalogueOutcome, CatalogueView } from '../../../src/admin/shapes/catalogue.ts'
import type { Static } from '../../../src/contract/schema.ts'
import { useDesk, useMay } from '../desk.ts'
import { useAnswer } from '../use-answer.ts'
import { useDeed } from '../use-deed.ts'
import { Changes } from './catalogue-changes.tsx'
import { DeedButton, Dialog } from './dialog.tsx'
import { Panel, When } from './pieces.tsx'
import { Shown, Trouble } from './states.tsx'

type Review = CatalogueView['reviews'][number]
type ReviewsProps = { readonly view: CatalogueView; readonly onChange: () => void }

/** Lists of vendors that look like a mistake: a person decides. */
export function CatalogueReviews({ view: { reviews }, onChange }: ReviewsProps) {
  const [open, setOpen] = useState<Review>()
  const may = useMay('operator')
  if (reviews.length === 0) return null
  return (
    <Panel title="Waiting for review">
      {reviews.map((review) => (
        <div class="note warn" key={review.id}>
          <p>
            <b>{review.source}</b> sent lists that look like a mistake (<When at={review.at} />
            ). The lists in force stay as they are until you decide.
          </p>
          <Doubts doubts={review.doubts} />
          <button
            type="button"
            class="small"
            aria-label={`Review the lists of ${review.source}`}
            onClick={() => setOpen(review)}
          >
            {may ? 'Review' : 'Look'}
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
  const { ask } = useDesk()
  const may = useMay('operator')
  const answer = useAnswer<Static<typeof CatalogueDiff>>(`/admin/catalogue/review?id=${id}`)
  const send = async (decision: 'accept' | 'reject') => {
    await ask.post<CatalogueOutcome>('/admin/catalogue/review', { id, decision })
    onDone()
  }
  const accept = useDeed(() => send('accept'))
  const reject = useDeed(() => send('reject'))
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
        <Shown answer={answer}>{({ changes }) => <Changes changes={changes} />}</Shown>
        <Trouble error={accept.error ?? reject.error} />
        <footer>
          <button type="button" class="plain" onClick={onClose}>
            {may ? 'Decide later' : 'Close'}
          </button>
          {may && (
            <button type="button" disabled={isBusy} onClick={() => reject.run()}>
              Reject
            </button>
          )}
          {may && (
            <DeedButton isBusy={isBusy} isDanger>
              Put in force all the same
            </DeedButton>
          )}
        </footer>
      </form>
    </Dialog>
  )
}
