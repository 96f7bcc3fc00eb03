import { useEffect, useState } from 'preact/hooks'
import type { FieldGroup, Preview as PreviewShape } from '../../../src/admin/shapes/keys.ts'
import type { Static } from '../../../src/contract/schema.ts'
import type { ApiError } from '../api-client.ts'
import { useAppContext, useHasRole } from '../app-context.ts'
import { toLabel } from '../format.ts'
import { Checkbox, Segments } from './field.tsx'
import { LoadError } from './states.tsx'
import { ScrollBox } from './table.tsx'

export type Policy = { readonly hide: readonly string[]; readonly reveal: readonly string[] }

type Group = Static<typeof FieldGroup>

const KINDS = [
  { value: 'nin', text: 'NIN' },
  { value: 'bvn', text: 'BVN' },
] as const

type FieldPolicyProps = {
  readonly groups: readonly Group[]
  readonly policy: Policy
  readonly onPolicy: (policy: Policy) => void
}

/** A ticked field is in the answers. What is usually hidden can be ticked by owners only. */
export function FieldPolicy({ groups, policy, onPolicy }: FieldPolicyProps) {
  const isOwner = useHasRole('owner')
  return (
    <details class="policy">
      <summary>Fields in the answers{toSummary(policy)}</summary>
      <p class="dim">
        Ticked fields are shown, all others come as <code>****</code>.{' '}
        {isOwner ? 'What is usually hidden is marked.' : 'What is usually hidden only an owner can tick.'}
      </p>
      <div class="halves">
        <div>
          {groups.map(({ group, fields }) => (
            <fieldset key={group}>
              <legend>{toLabel(group)}</legend>
              {fields.map(({ name, hidden_by_default }) => (
                <Checkbox
                  key={name}
                  label={
                    <>
                      {toLabel(name.split('.').at(-1) ?? name)}
                      {hidden_by_default && <small class="dim"> usually hidden</small>}
                    </>
                  }
                  isOn={hidden_by_default ? policy.reveal.includes(name) : !policy.hide.includes(name)}
                  isDisabled={hidden_by_default && !isOwner}
                  onChange={(isOn) => onPolicy(turn(policy, name, hidden_by_default, isOn))}
                />
              ))}
            </fieldset>
          ))}
        </div>
        <PolicyPreview policy={policy} />
      </div>
    </details>
  )
}

function toSummary({ hide, reveal }: Policy): string {
  const parts = [
    hide.length > 0 && `${hide.length} more hidden`,
    reveal.length > 0 && `${reveal.length} usually hidden shown`,
  ].filter(Boolean)
  return parts.length === 0 ? '' : `: ${parts.join(', ')}`
}

function turn(policy: Policy, name: string, isUsuallyHidden: boolean, isOn: boolean): Policy {
  const list = isUsuallyHidden ? 'reveal' : 'hide'
  const without = policy[list].filter((one) => one !== name)
  const isListed = isUsuallyHidden ? isOn : !isOn
  return { ...policy, [list]: isListed ? [...without, name] : without }
}

const PAUSE_MS = 250

function PolicyPreview({ policy }: { policy: Policy }) {
  const { api } = useAppContext()
  const [kind, setKind] = useState<'nin' | 'bvn'>('nin')
  const [answer, setAnswer] = useState<string>()
  const [error, setError] = useState<ApiError>()
  useEffect(() => {
    let isLatest = true
    const timer = setTimeout(() => {
      api.post<Static<typeof PreviewShape>>('/admin/keys/preview', { kind, ...policy }).then(
        (preview) => {
          if (!isLatest) return
          setAnswer(JSON.stringify(preview.answer, null, 2))
          setError(undefined)
        },
        (thrown: ApiError) => isLatest && setError(thrown),
      )
    }, PAUSE_MS)
    return () => {
      isLatest = false
      clearTimeout(timer)
    }
  }, [api, kind, policy])
  return (
    <div class="preview">
      <div class="bar">
        <b>Preview</b>
        <Segments legend="Preview of" value={kind} options={KINDS} onValue={setKind} />
      </div>
      {error && <LoadError error={error} />}
      <ScrollBox label="An answer to this key, about somebody who does not exist">
        <pre>
          <code>{answer ?? 'Loading…'}</code>
        </pre>
      </ScrollBox>
    </div>
  )
}
