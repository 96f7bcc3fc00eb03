import { useRef, useState } from 'preact/hooks'
import type { TryForm, TryForms, TryResult } from '../../../src/admin/shapes/try.ts'
import { useAppContext, useHasRole } from '../app-context.ts'
import { SubmitButton } from '../components/dialog.tsx'
import { SecretField, SelectField, TextField } from '../components/field.tsx'
import { Panel } from '../components/pieces.tsx'
import { Empty, ErrorNote, QueryResult } from '../components/states.tsx'
import { TryExamples } from '../components/try-examples.tsx'
import { TryResponse } from '../components/try-response.tsx'
import { toOperation } from '../format.ts'
import { useMutation } from '../use-mutation.ts'
import { useQuery } from '../use-query.ts'

export function TryIt() {
  const answer = useQuery<TryForms>('/admin/try')
  return <QueryResult answer={answer}>{(forms) => <Operations forms={forms} />}</QueryResult>
}

function Operations({ forms }: { forms: TryForms }) {
  const [name, setName] = useState(forms.operations[0]?.operation ?? '')
  const [key, setKey] = useState('')
  const form = forms.operations.find(({ operation }) => operation === name)
  if (!form) return <Empty>This server offers no operation.</Empty>
  return (
    <>
      <fieldset class="tabs">
        <legend class="unseen">Operation</legend>
        {forms.operations.map(({ operation }) => (
          <button
            key={operation}
            type="button"
            class="plain"
            aria-pressed={operation === name}
            onClick={() => setName(operation)}
          >
            {toOperation(operation)}
          </button>
        ))}
      </fieldset>
      <Trial key={name} form={form} forms={forms} apiKey={key} onKey={setKey} />
    </>
  )
}

type TrialProps = {
  readonly form: TryForm
  readonly forms: TryForms
  readonly apiKey: string
  readonly onKey: (key: string) => void
}

type Input = Readonly<Record<string, string>>

function Trial({ form, forms, apiKey, onKey }: TrialProps) {
  const { api } = useAppContext()
  const [input, setInput] = useState<Input>(form.scenarios[0]?.input ?? {})
  const [tried, setTried] = useState<TryResult>()
  const place = useRef<HTMLDivElement>(null)
  const send = useMutation(async (wish: Input) => {
    const key = apiKey.trim()
    setTried(undefined)
    // On a phone it stands below the form.
    place.current?.scrollIntoView({ block: 'nearest' })
    setTried(
      await api.post<TryResult>('/admin/try', {
        operation: form.operation,
        input: wish,
        ...(key === '' ? {} : { key }),
      }),
    )
  })
  return (
    <div class="trial">
      <div>
        <Panel title={form.summary}>
          <p class="dim">{form.description}</p>
          <Scenarios form={form} input={input} onInput={setInput} />
          <form
            onSubmit={(event) => {
              event.preventDefault()
              send.run(input)
            }}
          >
            <Fields form={form} input={input} onInput={setInput} errors={send.error?.fields ?? {}} />
            <KeyField apiKey={apiKey} onKey={onKey} hasSandbox={forms.sandbox_key !== null} />
            <ErrorNote error={send.error} />
            <SendButton isBusy={send.isBusy} isReady={forms.sandbox_key !== null || apiKey.trim() !== ''} />
          </form>
        </Panel>
      </div>
      <div ref={place}>
        <Panel title="Answer">
          {send.isBusy && <progress aria-label="Waiting for the answer" />}
          {tried && <TryResponse tried={tried} />}
          {!tried && !send.isBusy && <Empty>Send the form, and the answer stands here.</Empty>}
        </Panel>
      </div>
      <div>
        <Panel title="The same call from your code">
          <TryExamples form={form} input={input} baseUrl={forms.base_url} {...toExampleKey(forms, apiKey)} />
        </Panel>
      </div>
    </div>
  )
}

/** Only the key that everybody knows is written into an example. */
const toExampleKey = ({ sandbox_key }: TryForms, entered: string) =>
  sandbox_key !== null && (entered.trim() === '' || entered.trim() === sandbox_key)
    ? { publicKey: sandbox_key }
    : {}

type FormProps = {
  readonly form: TryForm
  readonly input: Input
  readonly onInput: (input: Input) => void
}

function Scenarios({ form, input, onInput }: FormProps) {
  if (form.scenarios.length === 0) return null
  const isChosen = (wish: Input) =>
    form.fields.every(({ name }) => (wish[name] ?? '') === (input[name] ?? ''))
  return (
    <fieldset class="chips">
      <legend class="unseen">Scenarios of the sandbox</legend>
      {form.scenarios.map((scenario) => (
        <button
          key={scenario.title}
          type="button"
          class="chip"
          title={scenario.title}
          aria-pressed={isChosen(scenario.input)}
          onClick={() => onInput(scenario.input)}
        >
          {toShort(scenario.title)}
        </button>
      ))}
    </fieldset>
  )
}

/** `Not verified: not_verified.` is explained by itself when it is sent; a chip has page for its first words. */
const toShort = (title: string) => title.replace(/:.*$|\.$/s, '')

function Fields({ form, input, onInput, errors }: FormProps & { errors: Readonly<Record<string, string>> }) {
  return (
    <>
      {form.fields.map(({ name, description, example, required, choices }) => {
        const common = {
          label: required ? name : `${name} (optional)`,
          help: description,
          value: input[name] ?? '',
          onValue: (value: string) => onInput({ ...input, [name]: value }),
          error: errors[`input.${name}`],
        }
        if (choices === null)
          return <TextField key={name} {...common} placeholder={example} autocomplete="off" maxLength={200} />
        const options = choices.map((choice) => ({ value: choice, text: choice }))
        return <SelectField key={name} {...common} options={[{ value: '', text: 'Choose…' }, ...options]} />
      })}
    </>
  )
}

type KeyFieldProps = {
  readonly apiKey: string
  readonly onKey: (key: string) => void
  readonly hasSandbox: boolean
}

function KeyField({ apiKey, onKey, hasSandbox }: KeyFieldProps) {
  const isLive = apiKey.trim().startsWith('tbt_live_')
  return (
    <>
      <SecretField
        label="API key"
        value={apiKey}
        onValue={onKey}
        placeholder={hasSandbox ? 'The public sandbox key' : 'tbt_test_…'}
        help={
          hasSandbox
            ? 'Left empty, the public sandbox key is used. What you enter is kept in this page only.'
            : 'This server has no public sandbox key: enter a test key. It is kept in this page only.'
        }
        maxLength={200}
      />
      {isLive && (
        <p class="note warn" role="alert">
          This is a live key: a real person is asked about, the call may be billed, and it is written into the
          audit.
        </p>
      )}
    </>
  )
}

function SendButton({ isBusy, isReady }: { isBusy: boolean; isReady: boolean }) {
  const may = useHasRole('operator')
  if (!may) return <p class="dim">Your role may look at the forms, but not send them.</p>
  return (
    <SubmitButton isBusy={isBusy} isDisabled={!isReady}>
      Send
    </SubmitButton>
  )
}
