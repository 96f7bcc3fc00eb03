import { useEffect, useState } from 'preact/hooks'
import type { FieldGroup, Preview as PreviewShape } from '../../../../src/admin/keys.ts'
import type { Static } from '../../../../src/contract/schema.ts'
import type { ApiError } from '../../api-client.ts'
import { useAppContext, useHasRole } from '../../app-context.ts'
import { Checkbox, Segments } from '../../components/field.tsx'
import { LoadError } from '../../components/query-result.tsx'
import { ScrollBox } from '../../components/table.tsx'
import { toLabel } from '../../format.ts'
import { NUMBER_KINDS } from '../../number-kinds.ts'

export type Policy = { readonly hide: readonly string[]; readonly reveal: readonly string[] }

type Group = Static<typeof FieldGroup>

type FieldPolicyProps = {
  readonly groups: readonly Group[]
  readonly policy: Policy
  readonly onPolicy: (policy: Policy) => void
}

/** A selected field is in the responses. Only owners can select fields that are hidden by default. */
export function FieldPolicy({ groups, policy, onPolicy }: FieldPolicyProps) {
  const isOwner = useHasRole('owner')
  return (
    <details class="policy">
      <summary>{toSummary(policy)}</summary>
      <p class="dim">
        Selected fields are returned, all others as <code>****</code>.{' '}
        {isOwner
          ? 'Fields that are hidden by default are marked.'
          : 'Only an owner can select fields that are hidden by default.'}
      </p>
      <div class="halves">
        <div>
          {groups.map(({ group, fields }) => (
            <fieldset key={group}>
              <legend>{toLabel(group)}</legend>
              {fields.map((field) => (
                <PolicyField key={field.name} field={field} policy={policy} onPolicy={onPolicy} />
              ))}
            </fieldset>
          ))}
        </div>
        <PolicyPreview policy={policy} />
      </div>
    </details>
  )
}

type PolicyFieldProps = Pick<FieldPolicyProps, 'policy' | 'onPolicy'> & {
  readonly field: Group['fields'][number]
}

/** A field that is derived from a hidden one is hidden with it. */
function PolicyField({
  field: { name, hidden_by_default, derived_from },
  policy,
  onPolicy,
}: PolicyFieldProps) {
  const isOwner = useHasRole('owner')
  const isShown = hidden_by_default ? policy.reveal.includes(name) : !policy.hide.includes(name)
  const source = isShown ? derived_from.find((each) => policy.hide.includes(each)) : undefined
  const note = source ? `hidden with ${toFieldLabel(source)}` : hidden_by_default && 'hidden by default'
  return (
    <Checkbox
      label={
        <>
          {toFieldLabel(name)}
          {note && <small class="dim"> {note}</small>}
        </>
      }
      isOn={isShown && source === undefined}
      isDisabled={source !== undefined || (hidden_by_default && !isOwner)}
      onChange={(isOn) => onPolicy(toggle(policy, name, hidden_by_default, isOn))}
    />
  )
}

const toFieldLabel = (name: string) => toLabel(name.split('.').at(-1) ?? name)

function toSummary({ hide, reveal }: Policy): string {
  const parts = [
    hide.length > 0 && `${hide.length} hidden`,
    reveal.length > 0 && `${reveal.length} revealed`,
  ].filter(Boolean)
  return parts.length === 0 ? 'Fields in responses' : `Fields in responses: ${parts.join(', ')}`
}

function toggle(policy: Policy, name: string, isHiddenByDefault: boolean, isOn: boolean): Policy {
  const list = isHiddenByDefault ? 'reveal' : 'hide'
  const without = policy[list].filter((one) => one !== name)
  const isListed = isHiddenByDefault ? isOn : !isOn
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
        <Segments legend="Preview of" value={kind} options={NUMBER_KINDS} onValue={setKind} />
      </div>
      {error && <LoadError error={error} />}
      <ScrollBox label="A response to this key, about a synthetic person">
        <pre>
          <code>{answer ?? 'Loading…'}</code>
        </pre>
      </ScrollBox>
    </div>
  )
}
