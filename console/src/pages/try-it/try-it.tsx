import type { ComponentChildren } from 'preact'
import { useRef, useState } from 'preact/hooks'
import type { TryForm, TryForms, TryResult } from '../../../../src/admin/try.ts'
import { useAppContext, useHasRole } from '../../app-context.ts'
import { ApiKeyField } from '../../components/api-key-field.tsx'
import { CodeBlock } from '../../components/copy.tsx'
import { SubmitButton } from '../../components/dialog.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { Segments, SelectField, TextField } from '../../components/field.tsx'
import { Panel } from '../../components/panel.tsx'
import { Empty, QueryResult } from '../../components/query-result.tsx'
import { toOperation } from '../../format.ts'
import { useFilters } from '../../route.ts'
import { useMutation } from '../../use-mutation.ts'
import { useQuery } from '../../use-query.ts'
import { type Call, toCurl, toPhp, toPython, toTypeScript } from './examples.ts'
import { AgainNote, type Known, SentAgain } from './send-again.tsx'
import { TryResponse } from './try-response.tsx'

/** The address names the operation, and the request that is sent again. */
export function TryIt() {
  const query = useQuery<TryForms>('/admin/try')
  const [address] = useFilters()
  const request = address.get('request') ?? ''
  return (
    <QueryResult query={query}>
      {(forms) =>
        request === '' ? (
          <Operations forms={forms} />
        ) : (
          <SentAgain key={request} id={request}>
            {(known) => <Operations forms={forms} known={known} />}
          </SentAgain>
        )
      }
    </QueryResult>
  )
}

type OperationsProps = { readonly forms: TryForms; readonly known?: Known | undefined }

function Operations({ forms, known }: OperationsProps) {
  const [address, change] = useFilters()
  const [key, setKey] = useState('')
  const name = known?.request.operation ?? address.get('operation') ?? forms.operations[0]?.operation
  const form = forms.operations.find(({ operation }) => operation === name) ?? forms.operations[0]
  if (!form) return <Empty>There are no operations.</Empty>
  return (
    <>
      <fieldset class="tabs">
        <legend class="visually-hidden">Operation</legend>
        {forms.operations.map(({ operation }) => (
          <button
            key={operation}
            type="button"
            class="plain"
            aria-pressed={operation === form.operation}
            onClick={() => change({ operation, request: undefined })}
          >
            {toOperation(operation)}
          </button>
        ))}
      </fieldset>
      <OperationForm
        key={form.operation}
        form={form}
        forms={forms}
        known={known}
        apiKey={key}
        onKey={setKey}
      />
    </>
  )
}

type OperationFormProps = {
  readonly form: TryForm
  readonly forms: TryForms
  /** Of the request that is sent again. */
  readonly known: Known | undefined
  readonly apiKey: string
  readonly onKey: (key: string) => void
}

type Input = Readonly<Record<string, string>>

function OperationForm({ form, forms, known, apiKey, onKey }: OperationFormProps) {
  const { api } = useAppContext()
  const [input, setInput] = useState<Input>(known?.input ?? form.scenarios[0]?.input ?? {})
  const [headers, setHeaders] = useState<Input>(known?.headers ?? {})
  const [result, setResult] = useState<TryResult>()
  const responseBox = useRef<HTMLDivElement>(null)
  const hasSandbox = forms.sandbox_key !== null
  const send = useMutation(async () => {
    const key = apiKey.trim()
    setResult(undefined)
    // On a phone the response is below the form.
    responseBox.current?.scrollIntoView({ block: 'nearest' })
    const body = { operation: form.operation, input, headers, ...(key !== '' && { key }) }
    setResult(await api.post<TryResult>('/admin/try', body))
  })
  const { fields: errors = {} } = send.error ?? {}
  return (
    <div class="trial">
      <div>
        <Panel title={form.summary}>
          {known && <AgainNote known={known} form={form} forms={forms} />}
          <p class="dim">{toInlineCode(form.description)}</p>
          <Scenarios form={form} input={input} onInput={setInput} />
          <form
            onSubmit={(event) => {
              event.preventDefault()
              send.run()
            }}
          >
            <Fields fields={form.fields} group="input" {...{ values: input, onValues: setInput, errors }} />
            {form.headers.length > 0 && (
              <details open={Object.keys(headers).length > 0}>
                <summary>Headers: consent, purpose, Idempotency-Key, Prefer</summary>
                <Fields
                  fields={form.headers}
                  group="headers"
                  {...{ values: headers, onValues: setHeaders, errors }}
                />
              </details>
            )}
            <ApiKeyField label="API key" apiKey={apiKey} onKey={onKey} hasSandbox={hasSandbox} />
            <ErrorNote error={send.error} />
            <SendButton isBusy={send.isBusy} isReady={hasSandbox || apiKey.trim() !== ''} />
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
          <TryExamples
            call={{ form, input, headers, baseUrl: forms.base_url }}
            publicKey={apiKey.trim() === '' ? forms.sandbox_key : null}
          />
        </Panel>
      </div>
    </div>
  )
}

type ScenariosProps = {
  readonly form: TryForm
  readonly input: Input
  readonly onInput: (input: Input) => void
}

type Scenario = TryForm['scenarios'][number]

function Scenarios({ form, input, onInput }: ScenariosProps) {
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

type FieldsProps = {
  readonly fields: TryForm['fields']
  /** The part of the request that has them, as errors name it. */
  readonly group: 'input' | 'headers'
  readonly values: Input
  readonly onValues: (values: Input) => void
  readonly errors: Readonly<Record<string, string>>
}

function Fields({ fields, group, values, onValues, errors }: FieldsProps) {
  return (
    <>
      {fields.map(({ name, description, example, required, choices }) => {
        const common = {
          label: required ? name : `${name} (optional)`,
          help: toInlineCode(description),
          value: values[name] ?? '',
          onValue: (value: string) => onValues({ ...values, [name]: value }),
          error: errors[`${group}.${name}`],
        }
        if (choices === null)
          return <TextField key={name} {...common} placeholder={example} autocomplete="off" maxLength={200} />
        const none = { value: '', text: required ? 'Choose…' : 'None' }
        const options = choices.map((choice) => ({ value: choice, text: choice }))
        return <SelectField key={name} {...common} options={[none, ...options]} />
      })}
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

const LANGUAGES = [
  { value: 'curl', text: 'curl', toText: toCurl },
  { value: 'typescript', text: 'TypeScript', toText: toTypeScript },
  { value: 'php', text: 'PHP', toText: toPhp },
  { value: 'python', text: 'Python', toText: toPython },
] as const
type Language = (typeof LANGUAGES)[number]['value']

/** No example has a key. The public one is shown beside them, where it works. */
function TryExamples({ call, publicKey }: { call: Call; publicKey: string | null }) {
  const [language, setLanguage] = useState<Language>('curl')
  const { text, toText } = LANGUAGES.find(({ value }) => value === language) ?? LANGUAGES[0]
  return (
    <>
      <Segments legend="Language" value={language} options={LANGUAGES} onValue={setLanguage} />
      <p class="dim">
        The example reads the key from the environment variable <code>TABBAT_KEY</code>.
        {publicKey === null ? ' The key you entered is not shown.' : ' For the public sandbox key:'}
      </p>
      {publicKey !== null && (
        <CodeBlock text={`export TABBAT_KEY=${publicKey}`} what="the public sandbox key as a variable" />
      )}
      <CodeBlock text={toText(call)} what={`the call in ${text}`} />
    </>
  )
}

/** Words between backticks, as in the descriptions of the API, become code. */
const toInlineCode = (text: string): ComponentChildren =>
  text.split('`').map((piece, index) => (index % 2 === 0 ? piece : <code key={piece}>{piece}</code>))
