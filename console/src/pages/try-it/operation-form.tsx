import { useRef, useState } from 'preact/hooks'
import type { TryForm, TryForms, TryResult } from '../../../../src/admin/try.ts'
import { useAppContext, useHasRole } from '../../app-context.ts'
import { SubmitButton } from '../../components/dialog.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { SecretField, SelectField, TextField } from '../../components/field.tsx'
import { Panel } from '../../components/panel.tsx'
import { Empty } from '../../components/query-result.tsx'
import { useMutation } from '../../use-mutation.ts'
import { toInlineCode } from './inline-code.tsx'
import { TryExamples } from './try-examples.tsx'
import { TryResponse } from './try-response.tsx'

type OperationFormProps = {
  readonly form: TryForm
  readonly forms: TryForms
  readonly apiKey: string
  readonly onKey: (key: string) => void
}

type Input = Readonly<Record<string, string>>

export function OperationForm({ form, forms, apiKey, onKey }: OperationFormProps) {
  const { api } = useAppContext()
  const [input, setInput] = useState<Input>(form.scenarios[0]?.input ?? {})
  const [result, setResult] = useState<TryResult>()
  const responseBox = useRef<HTMLDivElement>(null)
  const send = useMutation(async (values: Input) => {
    const key = apiKey.trim()
    setResult(undefined)
    // On a phone the response is below the form.
    responseBox.current?.scrollIntoView({ block: 'nearest' })
    setResult(
      await api.post<TryResult>('/admin/try', {
        operation: form.operation,
        input: values,
        ...(key === '' ? {} : { key }),
      }),
    )
  })
  return (
    <div class="trial">
      <div>
        <Panel title={form.summary}>
          <p class="dim">{toInlineCode(form.description)}</p>
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
      <div ref={responseBox}>
        <Panel title="Response">
          {send.isBusy && <progress aria-label="Waiting for the response" />}
          {result && <TryResponse result={result} />}
          {!result && !send.isBusy && <Empty>The response appears here.</Empty>}
        </Panel>
      </div>
      <div>
        <Panel title="Code examples">
          <TryExamples form={form} input={input} baseUrl={forms.base_url} {...toExampleKey(forms, apiKey)} />
        </Panel>
      </div>
    </div>
  )
}

/** Examples contain only the public sandbox key. */
const toExampleKey = ({ sandbox_key }: TryForms, entered: string) =>
  sandbox_key !== null && (entered.trim() === '' || entered.trim() === sandbox_key)
    ? { publicKey: sandbox_key }
    : {}

type FormProps = {
  readonly form: TryForm
  readonly input: Input
  readonly onInput: (input: Input) => void
}

type Scenario = TryForm['scenarios'][number]

function Scenarios({ form, input, onInput }: FormProps) {
  if (form.scenarios.length === 0) return null
  const isChosen = (values: Input) =>
    form.fields.every(({ name }) => (values[name] ?? '') === (input[name] ?? ''))
  return (
    <fieldset class="chips">
      <legend class="visually-hidden">Sandbox scenarios</legend>
      {form.scenarios.map((scenario) => (
        <button
          key={scenario.title}
          type="button"
          class="chip"
          title={scenario.title}
          aria-pressed={isChosen(scenario.input)}
          onClick={() => onInput(scenario.input)}
        >
          {toChipText(scenario, form.scenarios)}
        </button>
      ))}
    </fieldset>
  )
}

/** `Not verified: not_verified.` becomes `Not verified`; the tooltip has the whole title. */
const toShort = (title: string) => title.replace(/:.*$|\.$/s, '')

/** The short title, or what follows the code if two have the same: `Pending. Verified after 5 seconds`. */
function toChipText({ title }: Scenario, all: readonly Scenario[]): string {
  const short = toShort(title)
  const isUnique = all.every((other) => other.title === title || toShort(other.title) !== short)
  return isUnique ? short : title.replace(/:[^.]*/, '').replace(/\.$/, '')
}

function Fields({ form, input, onInput, errors }: FormProps & { errors: Readonly<Record<string, string>> }) {
  return (
    <>
      {form.fields.map(({ name, description, example, required, choices }) => {
        const common = {
          label: required ? name : `${name} (optional)`,
          help: toInlineCode(description),
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
            ? 'If empty, the public sandbox key is used. A key that you enter stays in this page.'
            : 'This server does not accept the public sandbox key. Enter a test key. It stays in this page.'
        }
        maxLength={200}
      />
      {isLive && (
        <p class="note warn" role="alert">
          This is a live key. The call is about a real person, may be billed, and is written to the audit log.
        </p>
      )}
    </>
  )
}

function SendButton({ isBusy, isReady }: { isBusy: boolean; isReady: boolean }) {
  const isOperator = useHasRole('operator')
  if (!isOperator) return <p class="dim">Your role shows the forms only. Sending needs the role operator.</p>
  return (
    <SubmitButton isBusy={isBusy} isDisabled={!isReady}>
      Send
    </SubmitButton>
  )
}
