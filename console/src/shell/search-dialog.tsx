import { useState } from 'preact/hooks'
import type { Keys } from '../../../src/admin/keys.ts'
import { useAppContext } from '../app-context.ts'
import { Dialog } from '../components/dialog.tsx'
import { TextField } from '../components/field.tsx'
import { groupsFor } from '../navigation.ts'
import { useQuery } from '../use-query.ts'
import { findResults } from './find-results.ts'

/** Finds pages, keys, requests and verifications. Nothing that is typed is sent. */
export function SearchDialog({ onClose }: { onClose: () => void }) {
  const { session } = useAppContext()
  const [text, setText] = useState('')
  const { value } = useQuery<Keys>('/admin/keys')
  const pages = groupsFor(session.role).flatMap((group) => group.pages)
  const results = findResults(text, { pages, keys: value?.keys ?? [] })
  const open = (href: string) => {
    onClose()
    location.hash = href
  }
  return (
    <Dialog title="Search" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          const [first] = results
          if (first) open(first.href)
        }}
      >
        <TextField
          label="A page, key, request id or reference"
          help="What you type stays in the browser. Enter opens the first result."
          type="search"
          autocomplete="off"
          value={text}
          onValue={setText}
        />
      </form>
      {results.length > 0 && (
        <ul class="results" aria-label="Results">
          {results.map(({ title, note, href }) => (
            <li key={`${href} ${title}`}>
              <a href={href} onClick={onClose}>
                <span class="breaks">{title}</span> <small class="dim">{note}</small>
              </a>
            </li>
          ))}
        </ul>
      )}
      <p class="dim" role="status">
        {text.trim() !== '' &&
          results.length === 0 &&
          'Nothing was found. References begin with ver_; keys are found by name or id.'}
      </p>
    </Dialog>
  )
}
